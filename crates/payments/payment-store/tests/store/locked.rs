//! Pessimistic locking: commands under the intent's lock.

use std::time::Duration;

use idempotency::Fingerprint;
use payment_intents::{Outcome, PaymentIntent, PaymentIntentId, StateName};
use payment_store::{CommandResult, Decision, DecisionInput, Locking, RequestKey, StoredIntent};

use crate::world::{World, amount, charged_as, tables};

fn request(key: &str) -> RequestKey {
    RequestKey { key: key.to_owned(), fingerprint: Fingerprint::of("x") }
}

fn admit(found: Option<StoredIntent>) -> Result<StoredIntent, &'static str> {
    found.ok_or("not found")
}

fn respond(found: &StoredIntent) -> String {
    format!("\"{}\"", found.intent.state().name())
}

#[allow(clippy::needless_pass_by_value)] // The signature of a decision.
fn request_charge(input: DecisionInput<'_, StoredIntent>) -> Decision<&'static str> {
    match input.found.intent.request_charge(input.now) {
        Ok(change) => Decision::Change(Box::new(change)),
        Err(_) => Decision::Record("\"refused\"".to_owned()),
    }
}

async fn held(world: &World) -> usize {
    world.scan(&tables().locks).await.iter().filter(|lock| lock.contains_key("owner")).count()
}

/// The commands under locks, without waiting for a held lock.
fn locking(world: &World) -> Locking {
    world.store.locking(Duration::ZERO)
}

async fn not_called(_: &PaymentIntent) -> Option<Outcome> {
    panic!("the gateway is not called")
}

#[tokio::test]
async fn a_charge_is_requested_and_settled_under_one_lock() {
    let world = World::create().await;
    let id = world.created("99").await.intent.id();
    let charge = async |_: &PaymentIntent| Some(charged_as("ch_1"));
    let charged = locking(&world).charge(id, &request("k"), admit, request_charge, charge, respond).await.unwrap();
    assert_eq!(charged, CommandResult::Now("\"CHARGED\"".to_owned()));
    assert_eq!((held(&world).await, world.scan(&tables().outbox).await.len()), (0, 2));
}

#[tokio::test]
async fn a_change_releases_the_lock_and_other_responses_do_not_need_it() {
    let world = World::create().await;
    let id = world.created("99").await.intent.id();
    let change = |input: DecisionInput<'_, StoredIntent>| {
        Decision::<&str>::Change(Box::new(input.found.intent.change_amount(amount(1), input.now).unwrap()))
    };
    let result = locking(&world).change(id, &request("a"), admit, change, respond).await.unwrap();
    assert_eq!((result, held(&world).await), (CommandResult::Now("\"CREATED\"".to_owned()), 0));
    let _held = world.lock(id).await;
    // The repetition gets the recorded response.
    let result = locking(&world).change(id, &request("a"), admit, change, respond).await.unwrap();
    assert_eq!(result, CommandResult::Replayed("\"CREATED\"".to_owned()));
    let reply = |_: DecisionInput<'_, StoredIntent>| Decision::Reply("no");
    let result = locking(&world).change(id, &request("b"), admit, reply, respond).await.unwrap();
    assert_eq!(result, CommandResult::Unrecorded("no"));
    let record = |_: DecisionInput<'_, StoredIntent>| Decision::<&str>::Record("\"no\"".to_owned());
    let result = locking(&world).change(id, &request("c"), admit, record, respond).await.unwrap();
    assert_eq!(result, CommandResult::Now("\"no\"".to_owned()));
}

#[tokio::test]
async fn an_unknown_intent_is_neither_locked_nor_created() {
    let world = World::create().await;
    let id = PaymentIntentId::random();
    let result = locking(&world).charge(id, &request("k"), admit, request_charge, not_called, respond).await.unwrap();
    assert_eq!(result, CommandResult::Unrecorded("not found"));
    for table in [tables().payments, tables().locks, tables().idempotency] {
        assert!(world.scan(&table).await.is_empty(), "{table}");
    }
}

#[tokio::test]
async fn a_charge_is_refused_while_another_process_holds_the_lock() {
    let world = World::create().await;
    let id = world.created("99").await.intent.id();
    let _held = world.lock(id).await;
    let refused = locking(&world).charge(id, &request("k"), admit, request_charge, not_called, respond).await.unwrap();
    assert!(matches!(refused, CommandResult::Held { until: Some(_) }), "{refused:?}");
    assert_eq!(held(&world).await, 1);
}

#[tokio::test]
async fn a_process_that_loses_the_lock_during_the_gateway_call_stores_nothing_even_if_the_intent_is_unchanged() {
    let world = World::create().await;
    let id = world.created("99").await.intent.id();
    let charge = async |_: &PaymentIntent| {
        world.set_clock(60_000);
        let _successor = world.lock(id).await;
        Some(charged_as("ch_1"))
    };
    let refused = locking(&world).charge(id, &request("k"), admit, request_charge, charge, respond).await;
    assert!(matches!(refused, Err(payment_store::Error::Lock(dynamodb_locks::Error::Lost))), "{refused:?}");
    let found = world.find(id).await.unwrap();
    assert_eq!((found.intent.state().name(), found.intent.version()), (StateName::ChargeRequested, 2));
    assert_eq!((held(&world).await, world.scan(&tables().outbox).await.len()), (1, 1));
}
