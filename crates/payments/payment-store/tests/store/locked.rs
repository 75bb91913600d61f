//! The pessimistic repository: an intent under its lock.

use std::time::Duration;

use idempotency::Fingerprint;
use payment_intents::ChargeKey;
use payment_store::{Answered, Decision, Found, Locking, RequestKey, Seen};

use crate::world::{World, amount, charged_as, tables};

fn request(key: &str) -> RequestKey {
    RequestKey { key: key.to_owned(), fingerprint: Fingerprint::of("x") }
}

fn admit(found: Option<Found>) -> Result<Found, &'static str> {
    found.ok_or("not found")
}

fn answer(found: &Found) -> String {
    format!("\"{}\"", found.intent.state().name())
}

#[allow(clippy::needless_pass_by_value)] // The signature of a decision.
fn request_charge(seen: Seen<'_, Found>) -> Decision<&'static str> {
    match seen.found.intent.request_charge(ChargeKey::random(), seen.now) {
        Ok(change) => Decision::Change(Box::new(change)),
        Err(_) => Decision::Record("\"refused\"".to_owned()),
    }
}

async fn held(world: &World) -> usize {
    world.scan(&tables().locks).await.iter().filter(|lock| lock.contains_key("owner")).count()
}

async fn lock(world: &World, found: &Found) -> Box<payment_store::LockedIntent> {
    match world.store.locked(found.intent.id(), Duration::ZERO).await.unwrap() {
        Locking::Granted(locked) => locked,
        Locking::Held { .. } => panic!("somebody holds it"),
    }
}

#[tokio::test]
async fn the_charge_is_requested_and_decided_under_one_lock() {
    let world = World::create().await;
    let created = world.created("99").await;
    let charged = lock(&world, &created)
        .await
        .charge(&request("k"), admit, request_charge, async |_| Some(charged_as("ch_1")), answer)
        .await
        .unwrap();
    assert_eq!(charged, Answered::Now("\"CHARGED\"".to_owned()));
    assert_eq!((held(&world).await, world.scan(&tables().outbox).await.len()), (0, 2));
}

#[tokio::test]
async fn the_lock_is_released_whatever_is_decided() {
    let world = World::create().await;
    let created = world.created("99").await;
    let change = |seen: Seen<'_, Found>| {
        Decision::<&str>::Change(Box::new(seen.found.intent.change_amount(amount(1), seen.now).unwrap()))
    };
    let answered = lock(&world, &created).await.change(&request("a"), admit, change, answer).await.unwrap();
    assert_eq!((answered, held(&world).await), (Answered::Now("\"CREATED\"".to_owned()), 0));
    // The same again: it is answered by its record.
    let answered = lock(&world, &created).await.change(&request("a"), admit, change, answer).await.unwrap();
    assert_eq!((answered, held(&world).await), (Answered::Before("\"CREATED\"".to_owned()), 0));
    let reply = |_: Seen<'_, Found>| Decision::Reply("no");
    let answered = lock(&world, &created).await.change(&request("b"), admit, reply, answer).await.unwrap();
    assert_eq!((answered, held(&world).await), (Answered::Unrecorded("no"), 0));
    let record = |_: Seen<'_, Found>| Decision::<&str>::Record("\"no\"".to_owned());
    let answered = lock(&world, &created).await.change(&request("c"), admit, record, answer).await.unwrap();
    assert_eq!((answered, held(&world).await), (Answered::Now("\"no\"".to_owned()), 0));
}

#[tokio::test]
async fn what_is_not_there_is_locked_and_released_and_not_made() {
    let world = World::create().await;
    let elsewhere = World::create().await.created("99").await;
    let answered = lock(&world, &elsewhere)
        .await
        .charge(&request("k"), admit, request_charge, async |_| panic!("the gateway is not called"), answer)
        .await
        .unwrap();
    assert_eq!(answered, Answered::Unrecorded("not found"));
    assert!(world.scan(&tables().payments).await.is_empty());
    assert_eq!(held(&world).await, 0);
}

#[tokio::test]
async fn who_lost_the_lock_writes_nothing_and_leaves_the_successor_alone() {
    let world = World::create().await;
    let created = world.created("99").await;
    let zombie = lock(&world, &created).await;
    world.set_clock(60_000);
    let _successor = lock(&world, &created).await;
    let refused = zombie
        .charge(&request("k"), admit, request_charge, async |_| panic!("the gateway is not called"), answer)
        .await;
    assert!(matches!(refused, Err(payment_store::Error::Lock(dynamodb_locks::Error::Lost))), "{refused:?}");
    assert_eq!(world.find(created.intent.id()).await, Some(created));
    assert_eq!((held(&world).await, world.scan(&tables().outbox).await.len()), (1, 0));
}

#[tokio::test]
async fn a_lock_that_is_held_is_refused() {
    let world = World::create().await;
    let created = world.created("99").await;
    let _held = lock(&world, &created).await;
    let refused = world.store.locked(created.intent.id(), Duration::ZERO).await.unwrap();
    assert!(matches!(refused, Locking::Held { until: Some(_) }));
}
