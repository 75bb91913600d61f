//! The metrics hook.

use std::sync::{Arc, Mutex};

use idempotency::Observation::{Expired, InProgress, New, Replayed};

use crate::world::{IN_PROGRESS_FOR, RETENTION, World, is_completed, is_in_progress, is_new, payload};

#[tokio::test]
async fn the_observer_sees_how_each_claim_was_answered() {
    let world = World::start().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observed = Arc::clone(&seen);
    let store = world
        .builder(world.engine.client())
        .observer(move |observation| observed.lock().expect("a list").push(observation))
        .cache(10)
        .build();

    let _abandoned = is_new(store.claim("key", &payload()).await);
    is_in_progress(store.claim("key", &payload()).await);
    world.clock.advance(IN_PROGRESS_FOR * 2);
    let claim = is_new(store.claim("key", &payload()).await);
    store.complete(claim, None).await.expect("completed");
    is_completed(store.claim("key", &payload()).await);
    world.clock.advance(RETENTION * 2);
    let _claim = is_new(store.claim("key", &payload()).await);

    let expected = [New, InProgress, Expired, Replayed, Expired];
    assert_eq!(*seen.lock().expect("a list"), expected);
}
