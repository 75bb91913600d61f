//! A storm of payments: all faults of the gateway, duplicate and conflicting commands, while functions are killed.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join;
use futures_util::{StreamExt, stream};
use order_events::{EventType, OrderId};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::local::{DataDir, Local, command, start_with};
use crate::order::{Order, consumer};
use crate::payments::Command;
use crate::storm::{Random, kill_functions};
use crate::system::{System, eventually, within};

/// The longest wait until all work is finished.
const LONGEST: Duration = Duration::from_mins(15);

/// The number of concurrent clients.
const CLIENTS: usize = 8;

/// The size, the mode and the seed of a storm.
#[derive(Debug, Clone)]
pub struct PaymentStorm {
    /// The number of payment intents, one for each order.
    pub intents: usize,
    /// The value of `CHARGE_MODE`: `saga` or `locked`.
    pub charge_mode: &'static str,
    /// The seed of the random numbers: the same seed gives the same storm.
    pub seed: u64,
}

/// One order, and how its consumer pays.
struct Payer {
    order: Order,
    amount: i64,
    /// The new amount, and whether it is sent at the same time as the charge.
    change: Option<(i64, bool)>,
    /// Whether each command is sent twice at the same time.
    is_doubled: bool,
}

/// The final state of a payment intent.
struct Outcome {
    order_id: OrderId,
    consumer_id: String,
    intent: Value,
}

/// Runs a storm on a new system, and checks all charges.
pub async fn run_payment_storm(storm: &PaymentStorm) {
    let mut random = Random(storm.seed);
    let mut payers: Vec<_> = (0..storm.intents).map(|_| Payer::new(&mut random)).collect();
    // Even the smallest storm has one declined charge and one that succeeds.
    for (payer, amount) in payers.iter_mut().zip([10_002, 10_050]) {
        (payer.amount, payer.change) = (amount, None);
    }
    let data = DataDir::new();
    let mut command = command(data.path());
    command.env("DEMO", "0").env("VISIBILITY_TIMEOUT", "10").env("CHARGE_MODE", storm.charge_mode);
    let system = start_with(command, data).await;
    let began = Instant::now();
    println!("payment storm {}: {} intents, {}", storm.seed, payers.len(), storm.charge_mode);
    let created: Vec<_> = payers.iter().map(|payer| payer.order.event(EventType::OrderCreated).clone()).collect();
    let paying = async {
        system.publish(&created).await;
        let mut outcomes = Vec::new();
        let mut paid = stream::iter(&payers).map(|payer| payer.pay(&system)).buffer_unordered(CLIENTS);
        while let Some(outcome) = paid.next().await {
            outcomes.push(outcome);
            if outcomes.len().is_multiple_of(200) {
                println!("{:4} s: {} charges requested", began.elapsed().as_secs(), outcomes.len());
            }
        }
        let requested: Vec<_> = outcomes;
        let settled = stream::iter(&requested).map(|intent| settled(&system, intent));
        let outcomes: Vec<_> = settled.buffer_unordered(CLIENTS).collect().await;
        await_idle(&system, began).await;
        outcomes
    };
    let mut killed = 0;
    let outcomes = tokio::select! {
        outcomes = paying => outcomes,
        () = kill_functions(&system, &mut random, &mut killed) => unreachable!("kill_functions never ends"),
    };
    println!("{:4} s: all work is finished, {killed} functions were killed", began.elapsed().as_secs());
    assert!(killed > 0, "no function was killed");
    assert_charges_are_correct(&system, &outcomes).await;
    println!("{:4} s: the gateway, the payment intents and the order histories agree", began.elapsed().as_secs());
    eventually("everything to be archived", async || (system.unarchived().await == 0).then_some(())).await;
    system.assert_rebuilt_equals_live("ftgo-order-history-after-the-storm", false).await;
    println!(
        "{:4} s: the table that was rebuilt from the archive equals the live table, item by item",
        began.elapsed().as_secs()
    );
}

impl Payer {
    fn new(random: &mut Random) -> Self {
        // The last two digits choose the gateway's fault.
        let faults = [2, 3, 5, 9];
        let mut amount = || {
            let fault = usize::try_from(random.below(8)).unwrap();
            let cents = faults.get(fault).copied().unwrap_or(50);
            (1 + i64::try_from(random.below(500)).unwrap()) * 100 + cents
        };
        let (amount, other) = (amount(), amount());
        let change = match random.below(10) {
            0..3 => Some((other, true)),
            3..5 => Some((other, false)),
            _ => None,
        };
        Self { order: Order::new(&consumer(), 5), amount, change, is_doubled: random.below(4) == 0 }
    }

    /// Pays, and returns the ids of the order, the consumer and the payment intent.
    async fn pay(&self, system: &System<Local>) -> (OrderId, String, String) {
        let (order_id, consumer_id) = (self.order.id.clone(), self.order.consumer_id.clone());
        let token = system.consumer_token(&consumer_id);
        let created = self.send(system, &token, &Command::create(&order_id, self.amount)).await;
        let intent = created["paymentIntentId"].as_str().unwrap_or_else(|| panic!("not created: {created}")).to_owned();
        let charge = Command::charge(&intent);
        match self.change {
            Some((amount, true)) => {
                let change = Command::change_amount(&intent, amount);
                join(self.send(system, &token, &change), self.send(system, &token, &charge)).await;
            }
            Some((amount, false)) => {
                self.send(system, &token, &Command::change_amount(&intent, amount)).await;
                self.send(system, &token, &charge).await;
            }
            None => {
                self.send(system, &token, &charge).await;
            }
        }
        (order_id, consumer_id, intent)
    }

    async fn send(&self, system: &System<Local>, token: &str, command: &Command) -> Value {
        if !self.is_doubled {
            return system.command(token, command).await.body;
        }
        let (one, other) = join(system.command(token, command), system.command(token, command)).await;
        assert_eq!((one.status, &one.body), (other.status, &other.body), "the same key must get the same response");
        one.body
    }
}

async fn settled(system: &System<Local>, requested: &(OrderId, String, String)) -> Outcome {
    let (order_id, consumer_id, intent) = requested;
    let token = system.consumer_token(consumer_id);
    let intent = within(LONGEST, &format!("payment intent {intent} to be final"), async || {
        let found = system.payment_intent(&token, intent).await?.body;
        ["CHARGED", "CHARGE_FAILED"].contains(&found["state"].as_str()?).then_some(found)
    })
    .await;
    Outcome { order_id: order_id.clone(), consumer_id: consumer_id.clone(), intent }
}

/// Waits until the queues and the outbox are empty and no lock is held.
async fn await_idle(system: &System<Local>, began: Instant) {
    within(LONGEST, "all work to be finished", async || {
        let (queued, charges) = (system.waiting_in_all().await, system.charges_waiting().await);
        let (rows, locks) = (system.outbox_rows().await, system.locks_held().await);
        let left = queued + charges + rows + locks;
        if left > 0 {
            let seconds = began.elapsed().as_secs();
            println!("{seconds:4} s: {queued} events, {charges} charges, {rows} rows, {locks} locks left");
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        (left == 0).then_some(())
    })
    .await;
}

async fn assert_charges_are_correct(system: &System<Local>, outcomes: &[Outcome]) {
    let amount = |value: &Value| value["amount"].as_i64().unwrap_or_else(|| panic!("no amount: {value}"));
    let charged: Vec<_> = outcomes.iter().filter(|outcome| outcome.intent["state"] == "CHARGED").collect();
    let charges = system.charges().await;
    let mut by_intent = BTreeMap::<&str, Vec<&Value>>::new();
    for charge in &charges {
        by_intent.entry(charge["paymentIntentId"].as_str().unwrap()).or_default().push(charge);
    }
    for Outcome { intent, .. } in outcomes {
        let made = by_intent.remove(intent["paymentIntentId"].as_str().unwrap()).unwrap_or_default();
        let expected = usize::from(intent["state"] == "CHARGED");
        assert_eq!(made.len(), expected, "{intent}: {made:?}");
        assert!(made.iter().all(|charge| amount(charge) == amount(intent)), "{intent}: {made:?}");
    }
    assert!(by_intent.is_empty(), "charges without a payment intent: {by_intent:?}");

    let token = system.reader_token();
    let shown = outcomes.iter().map(|outcome| {
        let (token, path) = (&token, format!("/orders/{}", outcome.order_id));
        async move { (outcome, system.get_as(token, &path).await.body["payment"].clone()) }
    });
    let shown: Vec<_> = stream::iter(shown).buffer_unordered(CLIENTS).collect().await;
    let mut histories = 0;
    for (Outcome { intent, consumer_id, .. }, payment) in shown {
        let expected = (&intent["state"], &intent["paymentIntentId"], &intent["amount"]);
        assert_eq!((&payment["status"], &payment["paymentIntentId"], &payment["amount"]), expected, "{consumer_id}");
        histories += if payment["status"] == json!("CHARGED") { amount(&payment) } else { 0 };
    }
    let gateway: i64 = charges.iter().map(amount).sum();
    let intents: i64 = charged.iter().map(|outcome| amount(&outcome.intent)).sum();
    println!(
        "       charged: {gateway} at the gateway in {} charges, {intents} in {} payment intents, {histories} in the histories; {} failed",
        charges.len(),
        charged.len(),
        outcomes.len() - charged.len()
    );
    assert_eq!((gateway, intents), (intents, histories));
    let (both, failed) = (charged.len(), outcomes.len() - charged.len());
    assert!(both > 0 && failed > 0, "a storm must have charged and failed payments");
}
