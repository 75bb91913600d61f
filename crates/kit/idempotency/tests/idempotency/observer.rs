//! The metrics hook.

use std::sync::{Arc, Mutex};

use idempotency::Observation::{Completed, InProgress, New};

use crate::world::{
    IN_PROGRESS_FOR, RETENTION, World, expect_completed, expect_in_progress, expect_new, payload, timed,
};

#[tokio::test]
async fn the_observer_sees_the_outcome_of_each_claim() {
    let world = World::start().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observed = Arc::clone(&seen);
    let builder = world
        .builder(world.engine.client())
        .observer(move |observation| observed.lock().expect("a list").push(observation))
        .cache(10);
    let store = timed(builder);

    let _abandoned = expect_new(store.claim("key", &payload()).await);
    expect_in_progress(store.claim("key", &payload()).await);
    world.clock.advance(IN_PROGRESS_FOR * 2);
    let claim = expect_new(store.claim("key", &payload()).await);
    store.complete(claim, None).await.expect("completed");
    expect_completed(store.claim("key", &payload()).await);
    world.clock.advance(RETENTION * 2);
    let _claim = expect_new(store.claim("key", &payload()).await);
    // A claim that nobody has completed, but its whole record has expired: it says nothing any more.
    world.clock.advance(RETENTION * 2);
    let _claim = expect_new(store.claim("key", &payload()).await);

    let new = |taken_over| New { taken_over };
    let expected = [new(false), InProgress, new(true), Completed, new(false), new(false)];
    assert_eq!(*seen.lock().expect("a list"), expected);
}

#[tokio::test]
async fn a_store_shows_its_settings_and_no_credentials() {
    let world = World::start().await;
    let builder = world.builder(world.engine.client()).key_prefix("charge").sort_key("sk", "idempotency#charge");
    let shown = format!("{builder:?}");
    for setting in ["\"records\"", "\"charge\"", "100s", "\"sk\"", "\"idempotency#charge\"", "\"expiration\""] {
        assert!(shown.contains(setting), "{setting} is not in {shown}");
    }
    let store = timed(builder);
    assert_eq!(format!("{:?}", *store), format!("IdempotencyStore {{ settings: {shown} }}"));
    let shown = format!("{store:?}");
    assert!(shown.contains("10s"), "the time limit is not in {shown}");
    assert!(!shown.contains("redential"), "{shown}");
}
