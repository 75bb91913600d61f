//! Every failure has its own name, says whether to retry, and tells nobody's secrets.

use std::convert::Infallible;
use std::error::Error as _;

use embedded_dynamodb::{Disturbance, Wire};
use idempotency::{Error, Fingerprint, IdempotencyStore, IdempotentError, idempotent};

use crate::world::{Forged, World, expect_new, n, payload, s, timed};

#[tokio::test]
async fn a_missing_table_is_named_as_such() {
    let world = World::start().await;
    let store = timed(IdempotencyStore::builder(world.engine.client(), "elsewhere"));
    let error = store.claim("key", &payload()).await.expect_err("no table");
    assert!(matches!(error, Error::TableMissing(_)), "{error:?}");
    assert!(!error.is_retryable());
    assert!(error.source().is_some());
}

#[tokio::test]
async fn a_broken_connection_is_unavailable_and_retryable() {
    let world = World::start().await;
    let store = world.store_over(&Wire::disturbed(|_| Disturbance::FailBefore));
    let error = store.claim("key", &payload()).await.expect_err("no response");
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    assert!(error.is_retryable());
    assert!(error.source().is_some());
}

#[tokio::test]
async fn the_services_errors_are_told_apart() {
    let throttled = |error: &Error| matches!(error, Error::Throttled(_));
    let unavailable = |error: &Error| matches!(error, Error::Unavailable(_));
    let rejected = |error: &Error| matches!(error, Error::Rejected(_));
    check(400, "ThrottlingException", throttled, true).await;
    check(400, "ProvisionedThroughputExceededException", throttled, true).await;
    check(400, "RequestLimitExceeded", throttled, true).await;
    check(400, "TransactionConflictException", unavailable, true).await;
    check(500, "InternalServerError", unavailable, true).await;
    check(503, "SomethingNew", unavailable, true).await;
    check(400, "AccessDeniedException", rejected, false).await;
    check(400, "SomethingNew", rejected, false).await;
}

async fn check(status: u16, code: &str, expected: fn(&Error) -> bool, retryable: bool) {
    let world = World::start().await;
    let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}"}}"#);
    let client = world.client_with_responses(&Wire::watched(), move |_| {
        let body = body.clone();
        Some(Forged { status, body })
    });
    let claimed = timed(world.builder(client)).claim("key", &payload()).await;
    let error = claimed.expect_err(code);
    assert!(expected(&error), "{status} {code}: {error:?}");
    assert_eq!(error.is_retryable(), retryable, "{status} {code}");
}

#[tokio::test]
async fn a_key_has_room_for_2048_bytes_with_its_prefix() {
    let world = World::start().await;
    let store = timed(world.builder(world.engine.client()).key_prefix("charge"));
    let longest = "é".repeat((2048 - "charge#".len()) / 2) + "!";
    let _claim = expect_new(store.claim(&longest, &payload()).await);
    let error = store.claim(&format!("{longest}!"), &payload()).await.expect_err("too long");
    assert!(matches!(error, Error::Rejected(_)), "{error:?}");
    assert!(!error.is_retryable());
}

#[tokio::test]
async fn an_empty_key_is_rejected_with_and_without_a_prefix() {
    let world = World::start().await;
    let wire = Wire::watched();
    for store in [world.store_over(&wire), timed(world.builder(world.engine.client_over(&wire)).key_prefix("charge"))] {
        let error = store.claim("", &payload()).await.expect_err("empty");
        assert!(matches!(error, Error::EmptyKey), "{error:?}");
        assert!(matches!(store.claim_with("", &payload()), Err(Error::EmptyKey)));
        assert!(matches!(store.completed_with("", &payload(), None), Err(Error::EmptyKey)));
        assert!(matches!(store.record("", &payload(), None).await, Err(Error::EmptyKey)));
    }
    assert_eq!(wire.requests().len(), 0);
}

#[test]
fn whether_to_call_again_is_the_records_to_say_or_the_works() {
    let retryable = |error: &IdempotentError<u16>| error.is_retryable(|status| *status >= 500);
    assert!(retryable(&IdempotentError::Work(503)));
    assert!(!retryable(&IdempotentError::Work(404)));
    assert!(retryable(&IdempotentError::InProgress { until: None }));
    assert!(retryable(&IdempotentError::TakenOver));
    assert!(retryable(&IdempotentError::NotStarted(Error::Contended)));
    assert!(!retryable(&IdempotentError::PayloadMismatch));
    assert!(!retryable(&IdempotentError::ResultUnreadable { column: 1 }));
    assert!(retryable(&IdempotentError::NotRecorded(Error::Unavailable("no response".into()))));
    assert!(!retryable(&IdempotentError::NotRecorded(Error::ResultTooLarge)));
}

const SECRET: &str = "4111-1111-1111-1111";

#[tokio::test]
async fn no_error_tells_key_payload_or_result() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim(SECRET, &Fingerprint::of(SECRET)).await);
    let other = Fingerprint::of("another payload");
    tells_nothing(&store.claim(SECRET, &other).await.expect_err("a mismatch"));

    let result = Some(format!("{SECRET:?}"));
    store.complete(claim.clone(), result).await.expect("completed");
    let replayed = idempotent(&store, SECRET, SECRET, || async { Ok::<u32, Infallible>(1) });
    let error = replayed.await.expect_err("a text is no number");
    assert!(matches!(error, IdempotentError::ResultUnreadable { column: 21 }), "{error:?}");
    tells_nothing(&error);

    let vast = Some(SECRET.repeat(400 * 1024 / SECRET.len()));
    let error = store.complete(claim.clone(), vast).await.expect_err("vast");
    assert!(matches!(error, Error::ResultTooLarge), "{error}");
    tells_nothing(&error);

    world.put([("id", s(SECRET)), ("status", s(SECRET)), ("data", n(1))]).await;
    let error = store.claim(SECRET, &other).await.expect_err("malformed");
    assert!(matches!(error, Error::Malformed { .. }), "{error:?}");
    tells_nothing(&error);
    tells_nothing(&store.complete(claim, None).await.expect_err("lost"));
}

#[track_caller]
fn tells_nothing(error: &(dyn std::error::Error + 'static)) {
    let chain = std::iter::successors(Some(error), |&error| error.source());
    for error in chain {
        let texts = format!("{error} {error:?}");
        assert!(!texts.contains(SECRET), "{texts}");
    }
}
