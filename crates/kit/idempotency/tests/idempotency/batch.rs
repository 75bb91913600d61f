//! Completing many claims at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use embedded_dynamodb::{Disturbance, Wire};
use idempotency::{Claim, Error, TimedStore};

use crate::world::{Forged, IN_PROGRESS_FOR, TABLE, World, expect_completed, expect_new, payload, timed};

async fn claims(store: &TimedStore, count: usize) -> Vec<Claim> {
    let mut claims = Vec::new();
    for number in 0..count {
        claims.push(expect_new(store.claim(&number.to_string(), &payload()).await));
    }
    claims
}

#[tokio::test]
async fn up_to_seventy_five_claims_are_completed_in_three_requests() {
    for count in [60, 75] {
        let world = World::start().await;
        let wire = Wire::watched();
        let store = world.store_over(&wire);
        let claims = claims(&store, count).await;
        store.complete_all(claims).await.expect("completed");
        assert_eq!(wire.count("BatchWriteItem"), 3);
        assert_eq!(wire.count("UpdateItem"), 0);
        for number in 0..count {
            let claimed = store.claim(&number.to_string(), &payload()).await;
            assert_eq!(expect_completed(claimed), None);
        }
    }
}

#[tokio::test]
async fn no_claims_are_completed_without_a_request() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = world.store_over(&wire);
    store.complete_all(Vec::new()).await.expect("completed");
    assert_eq!(wire.requests().len(), 0);
}

#[tokio::test]
async fn a_batch_leaves_the_same_record_as_a_completion() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim("key", &payload()).await);
    store.complete(claim.clone(), None).await.expect("completed");
    let completed = world.record("key").await;
    store.complete_all(vec![claim]).await.expect("completed");
    assert_eq!(world.record("key").await, completed);
}

#[tokio::test]
async fn two_claims_of_one_key_are_one_record() {
    let world = World::start().await;
    let store = world.store();
    let first = expect_new(store.claim("key", &payload()).await);
    world.clock.advance(IN_PROGRESS_FOR * 2);
    let second = expect_new(store.claim("key", &payload()).await);
    let completed = store.complete_all(vec![first, second]).await;
    completed.expect("completed");
    expect_completed(store.claim("key", &payload()).await);
}

#[tokio::test]
async fn done_is_done_although_another_caller_took_over_and_that_caller_is_told() {
    let world = World::start().await;
    let store = world.store();
    let first = expect_new(store.claim("key", &payload()).await);
    world.clock.advance(IN_PROGRESS_FOR * 2);
    let second = expect_new(store.claim("key", &payload()).await);
    store.complete_all(vec![first]).await.expect("completed");
    expect_completed(store.claim("key", &payload()).await);
    let lost = store.complete(second, None).await;
    assert!(matches!(lost, Err(Error::ClaimLost)), "{lost:?}");
}

/// A store whose first `times` batches are answered with one record left unprocessed.
fn leaving_one(world: &World, wire: &Wire, times: usize) -> TimedStore {
    let asked = AtomicUsize::new(0);
    let client = world.client_with_responses(wire, move |request| {
        let batch = request.operation == "BatchWriteItem";
        let left = batch && asked.fetch_add(1, Ordering::SeqCst) < times;
        left.then(|| Forged {
            status: 200,
            body: format!(
                r#"{{"UnprocessedItems":{{"{TABLE}":[{{"PutRequest":{{"Item":
                {{"id":{{"S":"left"}},"status":{{"S":"COMPLETED"}}}}}}}}]}}}}"#
            ),
        })
    });
    timed(world.builder(client))
}

#[tokio::test]
async fn what_dynamodb_leaves_is_written_again() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = leaving_one(&world, &wire, 2);
    let claims = claims(&store, 3).await;
    store.complete_all(claims).await.expect("completed");
    assert_eq!(wire.count("BatchWriteItem"), 3);
    assert_eq!(world.status("left").await.as_deref(), Some("COMPLETED"));
}

#[tokio::test]
async fn what_dynamodb_keeps_leaving_is_counted_in_the_error() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = leaving_one(&world, &wire, usize::MAX);
    let claims = claims(&store, 30).await;
    let start = Instant::now();
    let error = store.complete_all(claims).await.expect_err("left");
    assert!(start.elapsed() >= 2 * Duration::from_millis(25 + 50 + 100 + 200), "each batch pauses between its tries");
    // One of each of the two batches.
    assert!(matches!(error, Error::Unprocessed { remaining: 2 }), "{error:?}");
    assert!(error.is_retryable());
    assert_eq!(wire.count("BatchWriteItem"), 10);
}

#[tokio::test]
async fn a_batch_that_fails_does_not_keep_the_others_from_being_written() {
    let world = World::start().await;
    let asked = AtomicUsize::new(0);
    let wire = Wire::disturbed(move |request| match request.operation.as_str() {
        "BatchWriteItem" if asked.fetch_add(1, Ordering::SeqCst) == 0 => Disturbance::FailBefore,
        _ => Disturbance::None,
    });
    let store = world.store_over(&wire);
    let claims = claims(&store, 75).await;
    let error = store.complete_all(claims).await.expect_err("the first batch failed");
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    assert_eq!(wire.count("BatchWriteItem"), 3);
    let mut completed = 0;
    for number in 0..75 {
        let status = world.status(&number.to_string()).await;
        completed += usize::from(status.as_deref() == Some("COMPLETED"));
    }
    assert_eq!(completed, 50);
}

#[tokio::test]
async fn of_several_batches_that_fail_the_first_one_is_told() {
    let world = World::start().await;
    let wire = Wire::watched();
    let asked = AtomicUsize::new(0);
    let client = world.client_with_responses(&wire, move |request| {
        let batch = request.operation == "BatchWriteItem";
        batch.then(|| Forged {
            status: 400,
            body: match asked.fetch_add(1, Ordering::SeqCst) {
                0 => r#"{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException"}"#.to_owned(),
                _ => r#"{"__type":"com.amazonaws.dynamodb.v20120810#AccessDeniedException"}"#.to_owned(),
            },
        })
    });
    let store = timed(world.builder(client));
    let claims = claims(&store, 30).await;
    let error = store.complete_all(claims).await.expect_err("both batches failed");
    assert!(matches!(error, Error::Throttled(_)), "{error:?}");
    assert_eq!(wire.count("BatchWriteItem"), 2);
}
