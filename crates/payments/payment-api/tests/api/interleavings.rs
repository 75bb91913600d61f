//! Two concurrent commands, in every order of their requests to DynamoDB. The outcome is always one of a serial execution.

use std::sync::atomic::{AtomicUsize, Ordering};

use payment_api::Mode;
use serde_json::Value;

use crate::gate::Gate;
use crate::world::{Reply, RequestBuilder, TestApi, World, change, charge, create};

/// Every order of `one` steps of the first command and `other` steps of the second.
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

/// The result of two commands: their statuses, whether their bodies are equal, the intents, and the number of events.
type Outcome = ([u16; 2], bool, Vec<(Value, Value, Value)>, usize);

async fn outcome(world: &World, api: &TestApi, replies: [&Reply; 2]) -> Outcome {
    let mut intents = Vec::new();
    for item in world.intents().await {
        let id = item["pk"].as_s().unwrap().strip_prefix("PaymentIntent#").unwrap();
        let found = api.find(id).await;
        intents.push((found.member("state"), found.member("amount"), found.member("version")));
    }
    intents.sort_by_key(|(_, amount, _)| amount.as_i64());
    let is_same = replies[0].0.body == replies[1].0.body;
    (replies.map(Reply::status), is_same, intents, world.events().await.len())
}

/// Builds the two requests for an existing intent.
type Requests = fn(&str) -> [RequestBuilder; 2];

async fn world_with_intent(is_locked: bool) -> (World, TestApi, String) {
    let world = World::create().await;
    let api = if is_locked { world.locked() } else { world.saga() };
    let id = api.created("99", 100).await;
    (world, api, id)
}

/// Runs the two commands in every order of their first `steps` requests each. Later requests are not ordered. Returns the
/// largest number of requests that one command needed.
async fn check(is_locked: bool, steps: usize, requests: Requests) -> usize {
    let mut most = 0;
    // One after the other, in both orders.
    let mut serial = Vec::new();
    for order in [[0, 1], [1, 0]] {
        let (world, api, id) = world_with_intent(is_locked).await;
        let pair = requests(&id);
        let mut replies = [None, None];
        for place in order {
            replies[place] = Some(api.send(pair[place].clone()).await);
        }
        let [Some(one), Some(other)] = &replies else { panic!("both were sent") };
        serial.push(outcome(&world, &api, [one, other]).await);
    }
    for schedule in schedules(steps, steps) {
        let (world, api, id) = world_with_intent(is_locked).await;
        let pair = requests(&id);
        let gates = [Gate::new(), Gate::new()];
        let gated = |gate| world.gated(gate, if is_locked { world.locked_mode() } else { Mode::Saga });
        let apis = [gated(&gates[0]), gated(&gates[1])];
        let ended: [AtomicUsize; 2] = Default::default();
        let send = |place: usize| {
            let (api, request, ended) = (&apis[place], pair[place].clone(), &ended[place]);
            async move {
                let reply = api.send(request).await;
                ended.store(1, Ordering::SeqCst);
                reply
            }
        };
        let drive = async {
            for place in &schedule {
                let (gate, ended) = (&gates[*place], &ended[*place]);
                let before = gate.done();
                gate.permits.add_permits(1);
                while gate.done() == before && ended.load(Ordering::SeqCst) == 0 {
                    tokio::task::yield_now().await;
                }
            }
            for gate in &gates {
                gate.open();
            }
        };
        let (mut one, mut other, ()) = futures_util::join!(send(0), send(1), drive);
        most = gates.iter().map(Gate::done).chain([most]).max().unwrap_or_default();
        // A client retries a request that is answered as in progress.
        for (reply, request) in [(&mut one, &pair[0]), (&mut other, &pair[1])] {
            if reply.status() == 409 && reply.problem() == "idempotency-key-in-progress" {
                assert!(reply.header("retry-after").is_some());
                *reply = api.send(request.clone()).await;
            }
        }
        let actual = outcome(&world, &api, [&one, &other]).await;
        assert!(serial.contains(&actual), "{schedule:?}, locked: {is_locked}: {actual:?} is neither of {serial:?}");
        assert_eq!(world.held_locks().await, 0);
    }
    most
}

const PAIRS: [(&str, Requests); 5] = [
    ("charge and amount", |id| [charge(id).key("a"), change(id, 250).key("b")]),
    ("charge and charge", |id| [charge(id).key("a"), charge(id).key("b")]),
    ("amount and amount", |id| [change(id, 250).key("a"), change(id, 250).key("b")]),
    ("create and create", |_| [create("100", 5).key("a"), create("100", 5).key("b")]),
    ("one charge twice", |id| [charge(id).key("a"), charge(id).key("a")]),
];

/// A command needs a read and a transaction. If the transaction is refused: a second read, and a transaction or the record of a refusal.
const SAGA: usize = 4;

/// A charge under the lock needs a read, the lock and two transactions. How often the other command tries to get the lock
/// depends on time, so its requests after the fourth are not ordered.
const LOCKED: usize = 4;

#[tokio::test]
async fn every_interleaving_of_two_commands_has_the_outcome_of_a_serial_execution() {
    for (name, requests) in PAIRS {
        println!("{name}");
        let most = check(false, SAGA, requests).await;
        assert!((2..=SAGA).contains(&most), "every request was ordered: {most}");
    }
}

#[tokio::test]
async fn every_order_of_the_first_four_requests_under_the_lock_has_the_outcome_of_a_serial_execution() {
    for (name, requests) in PAIRS {
        println!("{name}");
        let most = check(true, LOCKED, requests).await;
        let expected = if name.contains("charge") { LOCKED } else { 2 };
        assert!(most >= expected, "{name}: at most {most} requests of a command were ordered");
    }
}
