//! `idempotent`: the whole protocol in one call.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use embedded_dynamodb::Wire;
use idempotency::{Error, Fingerprint, IdempotentError, Outcome, idempotent};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::world::{IN_PROGRESS_FOR, World, expect_completed, expect_new, payload};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Receipt {
    number: u32,
    lines: Vec<String>,
}

#[tokio::test]
async fn the_second_call_gets_the_first_ones_result_without_doing_the_work() {
    let world = World::start().await;
    let store = world.store();
    let receipt = Receipt { number: 7, lines: vec!["a “quoted” line".to_owned()] };
    let first = idempotent(&store, "key", "payload", || async { Ok::<_, Infallible>(receipt.clone()) });
    assert_eq!(first.await.expect("done"), Outcome::New(receipt.clone()));
    let second = idempotent::<Receipt, Infallible, _>(&store, "key", "payload", || async {
        panic!("the work must not be done twice")
    });
    let second = second.await.expect("replayed");
    assert_eq!(second, Outcome::Completed(receipt.clone()));
    assert_eq!(second.into_inner(), receipt);
}

#[tokio::test]
async fn new_work_costs_one_put_and_one_update() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = world.store_over(&wire);
    let done = idempotent(&store, "key", "payload", || async { Ok::<_, Infallible>(()) });
    assert_eq!(done.await.expect("done"), Outcome::New(()));
    let operations: Vec<_> = wire.requests().into_iter().map(|r| r.operation).collect();
    assert_eq!(operations, ["PutItem", "UpdateItem"]);
}

#[tokio::test]
async fn work_that_fails_can_be_tried_again_at_once() {
    let world = World::start().await;
    let store = world.store();
    let failed = idempotent(&store, "key", "payload", || async { Err::<u32, _>(io::Error::other("no card")) });
    let error = failed.await.expect_err("the work failed");
    assert!(matches!(error, IdempotentError::Work(_)), "{error:?}");
    let source = std::error::Error::source(&error).expect("a source");
    assert_eq!(source.to_string(), "no card");
    let again = idempotent(&store, "key", "payload", || async { Ok::<_, Infallible>(1) });
    assert_eq!(again.await.expect("done"), Outcome::New(1));
}

#[tokio::test]
async fn of_sixteen_callers_at_once_one_does_the_work() {
    let world = World::start().await;
    let store = world.store();
    let done = Arc::new(AtomicUsize::new(0));
    let mut callers = JoinSet::new();
    for _ in 0..16 {
        let (store, done) = (store.clone(), Arc::clone(&done));
        callers.spawn(async move {
            idempotent(&store, "key", "payload", || async {
                tokio::task::yield_now().await;
                Ok::<_, Infallible>(done.fetch_add(1, Ordering::SeqCst) + 1)
            })
            .await
        });
    }
    let mut new = 0;
    for outcome in callers.join_all().await {
        match outcome {
            Ok(Outcome::New(1)) => new += 1,
            Ok(Outcome::Completed(1)) | Err(IdempotentError::InProgress { until: Some(_) }) => {}
            other => panic!("unexpected: {other:?}"),
        }
    }
    assert_eq!((new, done.load(Ordering::SeqCst)), (1, 1));
}

#[tokio::test]
async fn work_that_was_taken_over_says_so_and_leaves_the_others_result() {
    let world = World::start().await;
    let store = world.store();
    let overtaken = idempotent(&store, "key", "payload", || async {
        world.clock.advance(IN_PROGRESS_FOR * 2);
        let other = expect_new(store.claim("key", &payload()).await);
        store.complete(other, Some("\"other\"".to_owned())).await?;
        Ok::<_, Error>("ours".to_owned())
    });
    let error = overtaken.await.expect_err("taken over");
    assert!(matches!(error, IdempotentError::TakenOver), "{error:?}");
    let data = expect_completed(store.claim("key", &payload()).await);
    assert_eq!(data.as_deref(), Some("\"other\""));
}

#[tokio::test]
async fn a_result_that_is_not_json_is_an_error_but_the_work_is_not_done_again() {
    let world = World::start().await;
    let store = world.store();
    let done = idempotent(&store, "key", "payload", || async { Ok::<_, Infallible>(HashMap::from([((1, 2), 3)])) });
    let error = done.await.expect_err("a pair is no member name in JSON");
    assert!(matches!(error, IdempotentError::NotRecorded(Error::NotSerialisable(_))), "{error:?}");
    assert_eq!(world.status("key").await.as_deref(), Some("COMPLETED"));
}

#[tokio::test]
async fn a_result_that_is_too_large_is_an_error_but_the_work_is_not_done_again() {
    let world = World::start().await;
    let store = world.store();
    let done = idempotent(&store, "key", "payload", || async { Ok::<_, Infallible>("x".repeat(400 * 1024)) });
    let error = done.await.expect_err("too large");
    assert!(matches!(error, IdempotentError::NotRecorded(Error::ResultTooLarge)), "{error}");
    assert_eq!(world.status("key").await.as_deref(), Some("COMPLETED"));
}

#[tokio::test]
async fn work_completed_without_a_result_is_replayed_as_unit() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim("key", &payload()).await);
    store.complete_all(vec![claim]).await.expect("completed");
    let replayed = idempotent(&store, "key", "payload", || async { Ok::<_, Infallible>(()) });
    assert_eq!(replayed.await.expect("replayed"), Outcome::Completed(()));
}

#[tokio::test]
async fn a_payload_is_text_or_bytes_in_any_hands() {
    let world = World::start().await;
    let store = world.store();
    let (text, bytes) = ("payload".to_owned(), b"payload".to_vec());
    let payloads: [Fingerprint; 7] = [
        "payload".into(),
        b"payload".into(),
        bytes.as_slice().into(),
        (&text).into(),
        (&bytes).into(),
        text.into(),
        bytes.into(),
    ];
    for payload in payloads {
        let done = idempotent(&store, "key", payload, || async { Ok::<_, Infallible>(()) });
        let _outcome = done.await.expect("the same payload");
    }
    let other = idempotent(&store, "key", "another", || async { Ok::<_, Infallible>(()) });
    let error = other.await.expect_err("another payload");
    assert!(matches!(error, IdempotentError::PayloadMismatch), "{error:?}");
}

#[tokio::test]
async fn without_a_fingerprint_payloads_are_not_compared() {
    let world = World::start().await;
    let store = world.store();
    let first = idempotent(&store, "key", "payload", || async { Ok::<_, Infallible>(1) });
    assert_eq!(first.await.expect("done"), Outcome::New(1));
    let second = idempotent(&store, "key", Fingerprint::none(), || async { Ok::<_, Infallible>(2) });
    assert_eq!(second.await.expect("replayed"), Outcome::Completed(1));
}
