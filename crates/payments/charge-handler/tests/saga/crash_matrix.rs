//! From the client's command to the final event, with a fault at every request. At the end there are one charge, one final event, no
//! held lock and an empty outbox.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use embedded_dynamodb::Stream;
use outbox::{Relay, StreamBatch, Sweeper};
use payment_gateway::Gateway;
use payment_intents::{PaymentIntentId, State, StateName};
use serde_json::{Value, json};

use crate::chaos::{Chaos, DisturbedGateway, FAULTS, Topic};
use crate::world::{World, charge, failures};

/// What recovers from a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Recovery {
    /// Stream and queue retry.
    Retries,
    /// Stream and queue deliver everything only once. Sweeper and reconciler finish the rest.
    Schedules,
}

#[tokio::test]
async fn a_fault_at_any_request_ends_with_one_charge_one_final_event_no_lock_and_an_empty_outbox() {
    let pipeline =
        ["BatchGetItem", "TransactWriteItems", "Publish", "BatchWriteItem", "UpdateItem", "GetItem", "Charge"];
    for (amount, end) in [(1_250, StateName::Charged), (1_002, StateName::ChargeFailed)] {
        let undisturbed = run(amount, end, Recovery::Retries, Chaos::new(|_| None)).await;
        let expected: Vec<_> = pipeline.iter().chain(&["TransactWriteItems", "Publish", "BatchWriteItem"]).collect();
        assert_eq!(undisturbed.iter().take(expected.len()).collect::<Vec<_>>(), expected);
        let mut tested = BTreeSet::new();
        for recovery in [Recovery::Retries, Recovery::Schedules] {
            for fault in FAULTS {
                for at in 1..=expected.len() {
                    let chaos = Chaos::new(move |number| (number == at).then_some(fault));
                    println!("{amount}, {recovery:?}: {fault:?} at request {at}, {}", expected[at - 1]);
                    let operations = run(amount, end, recovery, chaos).await;
                    tested.insert((fault, operations[at - 1].clone()));
                }
            }
        }
        for fault in FAULTS {
            for operation in pipeline {
                assert!(tested.contains(&(fault, operation.to_owned())), "{fault:?} was not tested at {operation}");
            }
        }
    }
}

/// With faults during the recovery, too: about a quarter of the first hundred requests fail, and each seed selects
/// others.
#[tokio::test]
async fn many_faults_end_with_one_charge_one_final_event_no_lock_and_an_empty_outbox() {
    for seed in 0..40_u64 {
        let chaos = Chaos::new(move |number| {
            // A hash of seed and number: the faults are the same in each run of the test.
            let mixed = (seed * 1_000 + number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
            let place = usize::try_from(mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 60).unwrap();
            FAULTS.get(place).copied().filter(|_| number <= 100)
        });
        println!("seed {seed}");
        let (amount, end) = if seed % 4 == 0 { (1_002, StateName::ChargeFailed) } else { (1_250, StateName::Charged) };
        run(amount, end, Recovery::Retries, chaos).await;
    }
}

/// Runs one intent from its creation to the end, and returns the requests that were sent.
async fn run(amount: i64, end: StateName, recovery: Recovery, chaos: Chaos) -> Vec<String> {
    let world = World::create().await;
    let id = world.created(amount).await;
    let mut system = System::new(&world, &chaos, id);
    let mut rounds = 0;
    while !system.is_idle().await {
        rounds += 1;
        assert!(rounds <= 60, "no end after {rounds} rounds: {:?}", chaos.operations());
        system.round(recovery).await;
        // Longer than a lease, and longer than sweeper and reconciler wait.
        world.advance_clock(Duration::from_mins(6));
    }
    system.assert_end(end).await;

    // Late messages change nothing.
    let (posts, found) = (world.gateway.posts(), world.find(id).await);
    let late: Vec<_> = system.requests().into_values().collect();
    let response = world.function().invoke(&late).await.unwrap();
    assert_eq!((failures(&response), world.gateway.posts()), (vec![], posts));
    assert_eq!(world.find(id).await, found);
    system.assert_end(end).await;
    chaos.operations()
}

/// The parts of the service and their connections.
struct System<'a> {
    world: &'a World,
    chaos: &'a Chaos,
    id: PaymentIntentId,
    is_acknowledged: bool,
    stream: Stream,
    /// The sequence number of the last stream record that was relayed.
    position: Option<String>,
    topic: Topic,
    /// Events that the handler has processed, or that the queue has lost.
    handled: BTreeSet<String>,
}

impl<'a> System<'a> {
    fn new(world: &'a World, chaos: &'a Chaos, id: PaymentIntentId) -> Self {
        let stream = world.engine.stream(&world.tables.outbox).unwrap();
        let (topic, handled) = (Topic::new(chaos), BTreeSet::new());
        Self { world, chaos, id, is_acknowledged: false, stream, position: None, topic, handled }
    }

    async fn is_idle(&self) -> bool {
        let is_settled = self.world.state(self.id).await.is_final();
        is_settled && self.is_acknowledged && self.queue().is_empty() && self.world.rows().await.is_empty()
    }

    /// Runs each part once, in a process that may crash. Sweeper and reconciler run last, and only if something is left.
    async fn round(&mut self, recovery: Recovery) {
        self.command().await;
        self.relay(recovery).await;
        self.handle(recovery).await;
        self.relay(recovery).await;
        self.world.advance_clock(Duration::from_mins(6));
        if !self.is_idle().await {
            self.sweep().await;
            self.reconcile().await;
        }
    }

    /// The client repeats its command until it has a response.
    async fn command(&mut self) {
        if !self.is_acknowledged {
            let store = self.world.store_over(&self.client());
            self.is_acknowledged = matches!(self.chaos.run(charge(&store, self.id)).await, Some(Ok(())));
        }
    }

    async fn relay(&mut self, recovery: Recovery) {
        let records = self.stream.records(self.position.as_deref(), 1_000).unwrap();
        let records: Vec<_> = records.into_iter().filter(|record| record["eventName"] == "INSERT").collect();
        let Some(last) = records.last() else { return };
        let last = sequence_number(last);
        let batch: StreamBatch = serde_json::from_value(json!({ "Records": records })).unwrap();
        let relay = Relay::new(self.client(), &self.world.tables.outbox, self.topic.clone());
        let relay = relay.clock(self.world.clock().as_fn());
        let relayed = self.chaos.run(relay.handle(&batch, self.world.deadline())).await;
        let is_done = relayed.is_some_and(|relayed| relayed.retry_from.is_none());
        if is_done || recovery == Recovery::Schedules {
            self.position = Some(last);
        }
    }

    async fn handle(&mut self, recovery: Recovery) {
        let (ids, bodies): (Vec<_>, Vec<_>) = self.queue().into_iter().unzip();
        if bodies.is_empty() {
            return;
        }
        let function = self.world.function_over(&self.client(), self.gateway());
        let kept = match self.chaos.run(function.invoke(&bodies)).await {
            Some(Ok(response)) => failures(&response),
            Some(Err(_)) | None => (0..bodies.len()).collect(),
        };
        let is_done = |place: usize| recovery == Recovery::Schedules || !kept.contains(&place);
        self.handled.extend(ids.into_iter().enumerate().filter(|(place, _)| is_done(*place)).map(|(_, id)| id));
    }

    async fn sweep(&self) {
        let sweeper = Sweeper::new(self.client(), &self.world.tables.outbox, self.topic.clone());
        let sweeper = sweeper.clock(self.world.clock().as_fn());
        let _ = self.chaos.run(sweeper.sweep(self.world.deadline())).await;
    }

    async fn reconcile(&self) {
        let reconciler = self.world.reconciler(&self.client(), self.gateway());
        let _ = self.chaos.run(reconciler.run("request-1", self.world.deadline())).await;
    }

    fn client(&self) -> aws_sdk_dynamodb::Client {
        self.world.engine.client_over(&self.chaos.wire())
    }

    fn gateway(&self) -> Arc<dyn Gateway> {
        Arc::new(DisturbedGateway { chaos: self.chaos.clone(), gateway: self.world.http_gateway() })
    }

    /// The messages in the charge queue, by their event ids.
    fn queue(&self) -> BTreeMap<String, String> {
        let mut requests = self.requests();
        requests.retain(|id, _| !self.handled.contains(id));
        requests
    }

    /// All published requests for a charge.
    fn requests(&self) -> BTreeMap<String, String> {
        let rows = self.topic.published().into_iter().filter(|row| row.event_type == "PaymentIntentChargeRequested");
        rows.map(|row| (row.event_id, row.message)).collect()
    }

    async fn assert_end(&self, end: StateName) {
        let world = self.world;
        let intent = world.find(self.id).await.intent;
        assert_eq!((intent.state().name(), intent.version()), (end, 3), "created, requested, settled");
        let charges = world.gateway.charges();
        match intent.state() {
            State::Charged { charge_id, .. } => {
                let [charge] = &charges[..] else { panic!("not one charge: {charges:?}") };
                assert_eq!(
                    (charge_id.as_str(), intent.amount().minor_units()),
                    (charge.charge_id.as_str(), charge.amount)
                );
            }
            State::Created | State::ChargeRequested(_) | State::ChargeFailed { .. } => assert_eq!(charges, []),
        }
        // Consumers recognize a repeated event by its id, so it counts once.
        let published = self.topic.published();
        let distinct: BTreeMap<_, _> = published.iter().map(|row| (&row.event_id, &row.event_type)).collect();
        let last = if end == StateName::Charged { "PaymentIntentCharged" } else { "PaymentIntentChargeFailed" };
        assert_eq!(distinct.into_values().collect::<Vec<_>>(), ["PaymentIntentChargeRequested", last]);
        assert_eq!(world.unpublished().await, [] as [String; 0]);
        world.assert_no_lock_is_held().await;
    }
}

fn sequence_number(record: &Value) -> String {
    record["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned()
}
