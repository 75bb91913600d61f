//! A claim that was taken over has no say any more.

use idempotency::{Claim, Error};

use crate::world::{IN_PROGRESS_FOR, World, expect_completed, expect_new, payload};

/// A claims, its claim expires, B takes over.
async fn taken_over(world: &World) -> (Claim, Claim) {
    let store = world.store();
    let a = expect_new(store.claim("key", &payload()).await);
    world.clock.advance(IN_PROGRESS_FOR * 2);
    let b = expect_new(store.claim("key", &payload()).await);
    (a, b)
}

#[tokio::test]
async fn the_first_owner_cannot_complete_the_second_ones_claim() {
    let world = World::start().await;
    let (a, b) = taken_over(&world).await;
    let before = world.record("key").await;
    let lost = world.store().complete(a, Some("\"a\"".to_owned())).await;
    assert!(matches!(lost, Err(Error::ClaimLost)), "{lost:?}");
    assert_eq!(world.record("key").await, before);
    let result = Some("\"b\"".to_owned());
    world.store().complete(b, result).await.expect("completed");
}

#[tokio::test]
async fn the_first_owner_cannot_overwrite_the_second_ones_result() {
    let world = World::start().await;
    let store = world.store();
    let (a, b) = taken_over(&world).await;
    let result = Some("\"b\"".to_owned());
    store.complete(b, result).await.expect("completed");
    let lost = store.complete(a, Some("\"a\"".to_owned())).await;
    assert!(matches!(lost, Err(Error::ClaimLost)), "{lost:?}");
    let data = expect_completed(store.claim("key", &payload()).await);
    assert_eq!(data.as_deref(), Some("\"b\""));
}

#[tokio::test]
async fn the_first_owners_release_leaves_the_second_ones_claim() {
    let world = World::start().await;
    let (a, _b) = taken_over(&world).await;
    let before = world.record("key").await;
    world.store().release(a).await.expect("nothing to release");
    assert_eq!(world.record("key").await, before);
}

#[tokio::test]
async fn a_claim_whose_record_is_gone_is_lost() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim("key", &payload()).await);
    store.release(claim.clone()).await.expect("released");
    let lost = store.complete(claim, None).await;
    assert!(matches!(lost, Err(Error::ClaimLost)), "{lost:?}");
    assert_eq!(world.record("key").await, None);
}

#[tokio::test]
async fn an_expired_claim_that_nobody_took_over_can_be_completed() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim("key", &payload()).await);
    world.clock.advance(IN_PROGRESS_FOR * 2);
    store.complete(claim, None).await.expect("completed");
    expect_completed(store.claim("key", &payload()).await);
}

#[tokio::test]
async fn completing_twice_is_completing_once_and_a_release_afterwards_changes_nothing() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim("key", &payload()).await);
    for _ in 0..2 {
        let result = Some("1".to_owned());
        let completed = store.complete(claim.clone(), result).await;
        completed.expect("completed");
    }
    store.release(claim).await.expect("nothing to release");
    let data = expect_completed(store.claim("key", &payload()).await);
    assert_eq!(data.as_deref(), Some("1"));
}
