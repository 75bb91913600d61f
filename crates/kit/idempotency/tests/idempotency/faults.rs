//! Requests that fail before their effect, or whose response is lost.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use embedded_dynamodb::{Disturbance, Wire};
use idempotency::{IdempotentError, Outcome, TimedStore, idempotent};

use crate::world::{IN_PROGRESS_FOR, World, expect_completed, expect_in_progress, expect_new, payload, timed};

#[tokio::test]
async fn a_lost_response_that_the_sdk_retries_changes_nothing() {
    // Requests of the happy path: 1 is the claim, 2 its completion; each is repeated by the SDK when disturbed.
    for hidden in [false, true] {
        for lost in 1..=2 {
            let world = World::start().await;
            let wire = Wire::disturbed(move |request| match request.number {
                number if number == lost => Disturbance::LoseResponse,
                _ if hidden => Disturbance::HideOldItem,
                _ => Disturbance::None,
            });
            let store = timed(world.builder(world.retrying_client_over(&wire)));
            let done = AtomicUsize::new(0);
            let outcome = effect(&store, &done).await.expect("an outcome");
            assert_eq!(outcome, Outcome::New(1), "response {lost} lost");
            assert_eq!(done.load(Ordering::SeqCst), 1);
            let reads = usize::from(hidden && lost == 1);
            assert_eq!(wire.requests().len(), 3 + reads, "the SDK has retried");
            assert_eq!(world.status("key").await.as_deref(), Some("COMPLETED"));
        }
    }
}

#[tokio::test]
async fn a_release_whose_response_is_lost_is_still_a_release() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| match request.number {
        2 => Disturbance::LoseResponse,
        _ => Disturbance::None,
    });
    let store = timed(world.builder(world.retrying_client_over(&wire)));
    let claim = expect_new(store.claim("key", &payload()).await);
    store.release(claim).await.expect("released");
    assert_eq!(wire.count("DeleteItem"), 2);
    assert_eq!(world.record("key").await, None);
}

#[tokio::test]
async fn a_batch_whose_response_is_lost_is_still_completed() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| match request.number {
        2 => Disturbance::LoseResponse,
        _ => Disturbance::None,
    });
    let store = timed(world.builder(world.retrying_client_over(&wire)));
    let claim = expect_new(store.claim("key", &payload()).await);
    store.complete_all(vec![claim]).await.expect("completed");
    assert_eq!(wire.count("BatchWriteItem"), 2);
    expect_completed(store.claim("key", &payload()).await);
}

#[tokio::test]
async fn whichever_request_fails_work_is_recorded_only_if_done_and_is_done_in_the_end() {
    use Disturbance::{FailBefore, LoseResponse};
    let (claim, completion) = (1, 2);
    check(claim, FailBefore, (0, None), 1).await;
    check(claim, LoseResponse, (0, Some("INPROGRESS")), 1).await;
    // Nobody can tell any more that the work was done, so it is done again: at least once.
    check(completion, FailBefore, (1, Some("INPROGRESS")), 2).await;
    check(completion, LoseResponse, (1, Some("COMPLETED")), 1).await;
}

/// Disturbs one request, without retries, then calls again when the claim has expired. Counts how often the work is
/// done: `after` the first call, together with the record's status, and `in_the_end`.
async fn check(disturbed: usize, disturbance: Disturbance, after: (usize, Option<&str>), in_the_end: usize) {
    let world = World::start().await;
    let wire = Wire::disturbed(move |request| match request.number {
        number if number == disturbed => disturbance,
        _ => Disturbance::None,
    });
    let store = world.store_over(&wire);
    let done = AtomicUsize::new(0);
    let context = format!("request {disturbed}, {disturbance:?}");

    let error = effect(&store, &done).await.expect_err(&context);
    let says_done = matches!(error, IdempotentError::NotRecorded(_));
    let done_after = done.load(Ordering::SeqCst);
    assert_eq!(says_done, done_after > 0, "{context}");
    let status = world.status("key").await;
    assert_eq!((done_after, status.as_deref()), after, "{context}");

    world.clock.advance(IN_PROGRESS_FOR * 2);
    let outcome = effect(&store, &done).await.expect(&context);
    assert_eq!(outcome.into_inner(), in_the_end, "{context}");
    assert_eq!(done.load(Ordering::SeqCst), in_the_end, "{context}");
    let status = world.status("key").await;
    assert_eq!(status.as_deref(), Some("COMPLETED"), "{context}");
}

#[tokio::test]
async fn a_failed_release_does_not_hide_the_works_error_and_the_claim_expires() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| match request.operation.as_str() {
        "DeleteItem" => Disturbance::FailBefore,
        _ => Disturbance::None,
    });
    let store = world.store_over(&wire);
    let failed = idempotent(&store, "key", "payload", || async { Err::<u32, _>(io::Error::other("no card")) });
    let failed = failed.await;
    assert!(matches!(&failed, Err(IdempotentError::Work(error)) if error.to_string() == "no card"), "{failed:?}");
    assert_eq!(wire.count("DeleteItem"), 1);
    expect_in_progress(store.claim("key", &payload()).await);
    world.clock.advance(IN_PROGRESS_FOR * 2);
    let _claim = expect_new(store.claim("key", &payload()).await);
}

async fn effect(store: &TimedStore, done: &AtomicUsize) -> Result<Outcome<usize>, IdempotentError<Infallible>> {
    idempotent(store, "key", "payload", || async { Ok(done.fetch_add(1, Ordering::SeqCst) + 1) }).await
}
