//! Two commands at once, in every order of their requests: the outcome is that of one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use embedded_dynamodb::Wire;
use payment_api::Mode;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::world::{Ask, Reply, TestApi, World, change, charge, create};

/// A wire whose every request waits for leave.
#[derive(Clone, Debug)]
struct Gate {
    wire: Wire,
    leave: Arc<Semaphore>,
    done: Arc<AtomicUsize>,
}

impl Gate {
    fn new() -> Self {
        Self { wire: Wire::watched(), leave: Arc::new(Semaphore::new(0)), done: Arc::default() }
    }

    fn done(&self) -> usize {
        self.done.load(Ordering::SeqCst)
    }
}

impl HttpConnector for Gate {
    fn call(&self, http: HttpRequest) -> HttpConnectorFuture {
        let gate = self.clone();
        HttpConnectorFuture::new(async move {
            gate.leave.acquire().await.unwrap().forget();
            let answer = gate.wire.call(http).await;
            gate.done.fetch_add(1, Ordering::SeqCst);
            answer
        })
    }
}

impl HttpClient for Gate {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

/// Every order of so many steps of one and so many of the other.
fn schedules(one: usize, other: usize) -> Vec<Vec<usize>> {
    if one == 0 && other == 0 {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (first, rest) in [(0, (one.wrapping_sub(1), other)), (1, (one, other.wrapping_sub(1)))] {
        if (first == 0 && one > 0) || (first == 1 && other > 0) {
            for mut schedule in schedules(rest.0, rest.1) {
                schedule.insert(0, first);
                all.push(schedule);
            }
        }
    }
    all
}

/// What two commands leave behind: their statuses, and the intents.
type Outcome = ([u16; 2], Vec<(Value, Value, Value)>, usize);

async fn outcome(world: &World, api: &TestApi, replies: [&Reply; 2]) -> Outcome {
    let mut intents = Vec::new();
    for item in world.intents().await {
        let id = item["pk"].as_s().unwrap().strip_prefix("PaymentIntent#").unwrap();
        let found = api.find(id).await;
        intents.push((found.member("state"), found.member("amount"), found.member("version")));
    }
    intents.sort_by_key(|(_, amount, _)| amount.as_i64());
    (replies.map(Reply::status), intents, world.events().await.len())
}

/// Makes the two requests; the intent is there before.
type Requests = fn(&str) -> [Ask; 2];

async fn world_with_intent(is_locked: bool) -> (World, TestApi, String) {
    let world = World::create().await;
    let api = if is_locked { world.locked() } else { world.saga() };
    let id = api.created("99", 100).await;
    (world, api, id)
}

async fn check(is_locked: bool, steps: usize, requests: Requests) {
    // One after the other, in both orders.
    let mut serial = Vec::new();
    for order in [[0, 1], [1, 0]] {
        let (world, api, id) = world_with_intent(is_locked).await;
        let asks = requests(&id);
        let mut replies = [None, None];
        for place in order {
            replies[place] = Some(api.send(asks[place].clone()).await);
        }
        let [Some(one), Some(other)] = &replies else { panic!("both were sent") };
        serial.push(outcome(&world, &api, [one, other]).await);
    }
    for schedule in schedules(steps, steps) {
        let (world, api, id) = world_with_intent(is_locked).await;
        let asks = requests(&id);
        let gates = [Gate::new(), Gate::new()];
        let gated = |gate: &Gate| {
            let config = world.engine.config().http_client(gate.clone()).retry_config(RetryConfig::disabled());
            let mode = if is_locked { world.locked_mode() } else { Mode::Saga };
            world.with_client_and_mode(Client::from_conf(config.build()), mode)
        };
        let apis = [gated(&gates[0]), gated(&gates[1])];
        let ended: [AtomicUsize; 2] = Default::default();
        let send = |place: usize| {
            let (api, ask, ended) = (&apis[place], asks[place].clone(), &ended[place]);
            async move {
                let reply = api.send(ask).await;
                ended.store(1, Ordering::SeqCst);
                reply
            }
        };
        let drive = async {
            for place in &schedule {
                let (gate, ended) = (&gates[*place], &ended[*place]);
                let before = gate.done();
                gate.leave.add_permits(1);
                while gate.done() == before && ended.load(Ordering::SeqCst) == 0 {
                    tokio::task::yield_now().await;
                }
            }
            for gate in &gates {
                gate.leave.add_permits(1_000);
            }
        };
        let (one, other, ()) = futures_util::join!(send(0), send(1), drive);
        let seen = outcome(&world, &api, [&one, &other]).await;
        assert!(serial.contains(&seen), "{schedule:?}, locked: {is_locked}: {seen:?} is neither of {serial:?}");
        assert_eq!(world.held_locks().await, 0);
    }
}

/// A command is a read and a transaction; the third step is a second read, where the first transaction was refused.
const SAGA: usize = 3;

const PAIRS: [(&str, Requests); 5] = [
    ("charge and amount", |id| [charge(id).key("a"), change(id, 250).key("b")]),
    ("charge and charge", |id| [charge(id).key("a"), charge(id).key("b")]),
    ("amount and amount", |id| [change(id, 250).key("a"), change(id, 250).key("b")]),
    ("create and create", |_| [create("100", 5).key("a"), create("100", 5).key("b")]),
    ("one charge twice", |id| [charge(id).key("a"), charge(id).key("a")]),
];

#[tokio::test]
async fn every_interleaving_of_two_commands_is_one_after_the_other() {
    for (name, requests) in PAIRS {
        println!("{name}");
        check(false, SAGA, requests).await;
    }
}

#[tokio::test]
async fn the_same_under_the_lock() {
    for (name, requests) in PAIRS {
        println!("{name}");
        check(true, 3, requests).await;
    }
}
