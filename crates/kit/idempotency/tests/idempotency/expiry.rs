//! Expiry is exact, and never waits for the time to live: the engine here never deletes anything by it.

use std::time::{Duration, SystemTime};

use embedded_dynamodb::{Disturbance, Wire};
use idempotency::{Error, IdempotencyStore};

use crate::world::{
    IN_PROGRESS_FOR, RETENTION, START, TABLE, World, expect_completed, expect_in_progress, expect_new, n, payload,
    timed,
};

const A_MILLISECOND: Duration = Duration::from_millis(1);
const A_HUNDRED_YEARS: Duration = Duration::from_hours(100 * 365 * 24);

#[tokio::test]
async fn a_claim_refuses_others_to_the_very_millisecond_of_its_expiry() {
    let world = World::start().await;
    let store = world.store();
    let _claim = expect_new(store.claim("key", &payload()).await);
    world.clock.set(START + IN_PROGRESS_FOR);
    expect_in_progress(store.claim("key", &payload()).await);
    world.clock.advance(A_MILLISECOND);
    let _claim = expect_new(store.claim("key", &payload()).await);
}

#[tokio::test]
async fn a_claim_for_an_invocation_refuses_others_to_the_invocations_deadline() {
    let world = World::start().await;
    let deadline = world.clock.now() + Duration::from_secs(3);
    let store = world.store().until(deadline);
    let _claim = expect_new(store.claim("key", &payload()).await);
    world.clock.advance(Duration::from_secs(3));
    assert_eq!(expect_in_progress(world.store().claim("key", &payload()).await), Some(deadline));
    world.clock.advance(A_MILLISECOND);
    let _claim = expect_new(world.store().claim("key", &payload()).await);
}

/// Such a claim would refuse nobody, so that every caller would do the work.
#[tokio::test]
async fn nothing_is_claimed_when_the_time_limit_has_passed() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = world.store_over(&wire);
    let cargo_lambda_watch = SystemTime::UNIX_EPOCH + Duration::from_mins(10);
    for late in [store.until(world.clock.now()), store.until(cargo_lambda_watch), store.for_at_most(Duration::ZERO)] {
        assert!(matches!(late.claim("key", &payload()).await, Err(Error::OutOfTime)));
        assert!(matches!(late.claim_with("key", &payload()), Err(Error::OutOfTime)));
    }
    assert_eq!(wire.requests().len(), 0);
    let in_time = store.until(world.clock.now() + A_MILLISECOND);
    let _claim = expect_new(in_time.claim("key", &payload()).await);
}

#[tokio::test]
async fn a_claim_whose_time_limit_passes_while_it_is_written_is_an_error() {
    let world = World::start().await;
    let clock = world.clock.clone();
    let slow = Wire::disturbed(move |_| {
        clock.advance(Duration::from_secs(3));
        Disturbance::None
    });
    let store = world.store_over(&slow).until(world.clock.now() + Duration::from_secs(3));
    assert!(matches!(store.claim("key", &payload()).await, Err(Error::OutOfTime)));
    world.clock.advance(A_MILLISECOND);
    let _claim = expect_new(world.store().claim("key", &payload()).await);
}

#[tokio::test]
async fn a_completed_record_counts_to_the_very_second_of_its_expiration() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim("key", &payload()).await);
    store.complete(claim, None).await.expect("completed");

    let expiration = Duration::from_secs((START + RETENTION).as_secs());
    let last_moment = expiration + Duration::from_millis(999);
    for still_there in [START + RETENTION, last_moment] {
        world.clock.set(still_there);
        expect_completed(store.claim("key", &payload()).await);
    }
    world.clock.set(last_moment + A_MILLISECOND);
    assert_eq!(world.status("key").await.as_deref(), Some("COMPLETED"));
    let _claim = expect_new(store.claim("key", &payload()).await);
    assert_eq!(world.status("key").await.as_deref(), Some("INPROGRESS"));
}

#[tokio::test]
async fn a_taken_over_record_keeps_nothing_of_the_earlier_one() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim("key", &payload()).await);
    let result = Some("1".to_owned());
    store.complete(claim, result).await.expect("completed");
    world.clock.advance(RETENTION * 2);
    let claim = expect_new(store.claim("key", &payload()).await);
    store.complete(claim, None).await.expect("completed");
    assert_eq!(expect_completed(store.claim("key", &payload()).await), None);
}

#[tokio::test]
async fn a_retention_shorter_than_the_work_does_not_end_the_claim() {
    let world = World::start().await;
    let store = timed(world.builder(world.engine.client()).retention(Duration::ZERO));
    let _claim = expect_new(store.claim("key", &payload()).await);
    world.clock.advance(IN_PROGRESS_FOR);
    expect_in_progress(store.claim("key", &payload()).await);
}

#[tokio::test]
async fn durations_without_end_are_stored_and_read_as_such() {
    let world = World::start().await;
    let store = world.builder(world.engine.client()).retention(Duration::MAX).build().for_at_most(Duration::MAX);
    let claim = expect_new(store.claim("key", &payload()).await);
    world.clock.advance(A_HUNDRED_YEARS);
    expect_in_progress(store.claim("key", &payload()).await);
    store.complete(claim, None).await.expect("completed");
    world.clock.advance(A_HUNDRED_YEARS);
    expect_completed(store.claim("key", &payload()).await);
}

#[tokio::test]
async fn by_default_a_record_is_kept_for_28_days() {
    let world = World::start().await;
    let clock = world.clock.clone();
    let store = timed(IdempotencyStore::builder(world.engine.client(), TABLE).clock(move || clock.now()));
    let _claim = expect_new(store.claim("key", &payload()).await);
    let record = world.record("key").await.expect("a record");
    let four_weeks = Duration::from_hours(28 * 24);
    assert_eq!(record["expiration"], n((START + four_weeks).as_secs().into()));
}
