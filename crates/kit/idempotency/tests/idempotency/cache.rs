//! Completed records in memory.

use embedded_dynamodb::Wire;
use idempotency::{Error, Fingerprint, TimedStore};

use crate::world::{RETENTION, World, expect_completed, expect_in_progress, expect_new, payload, timed};

fn cached(world: &World, wire: &Wire, max_entries: usize) -> TimedStore {
    let builder = world.builder(world.engine.client_over(wire));
    timed(builder.cache(max_entries))
}

async fn complete(store: &TimedStore, key: &str) {
    let claim = expect_new(store.claim(key, &payload()).await);
    let completed = store.complete(claim, Some(format!("{key:?}"))).await;
    completed.expect("completed");
}

#[tokio::test]
async fn what_this_process_completed_is_replayed_without_a_request() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = cached(&world, &wire, 10);
    complete(&store, "key").await;
    let before = wire.requests().len();
    let invocation = store.until(world.clock.now());
    let data = expect_completed(invocation.claim("key", &payload()).await);
    assert_eq!(data.as_deref(), Some("\"key\""));
    assert_eq!(wire.requests().len(), before);
}

#[tokio::test]
async fn what_another_process_completed_is_asked_for_once() {
    let world = World::start().await;
    complete(&world.store(), "key").await;
    let wire = Wire::watched();
    let store = cached(&world, &wire, 10);
    for _ in 0..3 {
        expect_completed(store.claim("key", &payload()).await);
    }
    assert_eq!(wire.requests().len(), 1);
}

#[tokio::test]
async fn a_completed_batch_is_remembered_too() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = cached(&world, &wire, 10);
    let claim = expect_new(store.claim("key", &payload()).await);
    store.complete_all(vec![claim]).await.expect("completed");
    let before = wire.requests().len();
    expect_completed(store.claim("key", &payload()).await);
    assert_eq!(wire.requests().len(), before);
}

#[tokio::test]
async fn work_in_progress_is_never_remembered() {
    let world = World::start().await;
    let claim = expect_new(world.store().claim("key", &payload()).await);
    let store = cached(&world, &Wire::watched(), 10);
    expect_in_progress(store.claim("key", &payload()).await);
    world.store().release(claim).await.expect("released");
    let _claim = expect_new(store.claim("key", &payload()).await);
}

#[tokio::test]
async fn a_lost_completion_is_not_remembered() {
    let world = World::start().await;
    let store = cached(&world, &Wire::watched(), 10);
    let claim = expect_new(store.claim("key", &payload()).await);
    store.release(claim.clone()).await.expect("released");
    let lost = store.complete(claim, None).await;
    assert!(matches!(lost, Err(Error::ClaimLost)), "{lost:?}");
    let _claim = expect_new(store.claim("key", &payload()).await);
}

#[tokio::test]
async fn the_least_recently_used_record_makes_room() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = cached(&world, &wire, 2);
    complete(&store, "one").await;
    complete(&store, "two").await;
    expect_completed(store.claim("one", &payload()).await);
    complete(&store, "three").await;

    let before = wire.requests().len();
    expect_completed(store.claim("one", &payload()).await);
    expect_completed(store.claim("three", &payload()).await);
    assert_eq!(wire.requests().len(), before, "one and three are kept");
    expect_completed(store.claim("two", &payload()).await);
    assert_eq!(wire.requests().len(), before + 1, "two made room");
}

#[tokio::test]
async fn the_cache_forgets_a_record_when_it_expires() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = cached(&world, &wire, 10);
    complete(&store, "key").await;
    world.clock.advance(RETENTION * 2);
    let _claim = expect_new(store.claim("key", &payload()).await);
}

#[tokio::test]
async fn the_cache_compares_payloads() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = cached(&world, &wire, 10);
    complete(&store, "key").await;
    let before = wire.requests().len();
    let claimed = store.claim("key", &Fingerprint::of("another")).await;
    assert!(matches!(claimed, Err(Error::PayloadMismatch)));
    assert_eq!(wire.requests().len(), before);
}

#[tokio::test]
async fn there_is_no_cache_unless_asked_for() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = world.store_over(&wire);
    complete(&store, "key").await;
    let before = wire.requests().len();
    expect_completed(store.claim("key", &payload()).await);
    assert_eq!(wire.requests().len(), before + 1);
}
