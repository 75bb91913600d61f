//! Requests that fail before their effect, whose response is lost, or that meet another transaction.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use dynamodb_locks::{Cancellation, Error, Release, RetryPolicy, Takeover, retry_on_conflict};
use embedded_dynamodb::{Disturbance, Wire};

use crate::world::{A_MILLISECOND, CONFLICT, LEASE, World, granted, held, transaction};

const CANCELLED_BY_CONFLICT: Disturbance = Disturbance::Respond(
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"cancelled",
        "CancellationReasons":[{"Code":"TransactionConflict","Message":"ongoing"},{"Code":"None"}]}"#,
);

/// Refused, although the lock is free: its holder released it at that very moment.
const REFUSED_BUT_FREE: Disturbance = Disturbance::Respond(
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"refused",
        "Item":{"id":{"S":"key"},"fence":{"N":"1"}}}"#,
);
const CANCELLED_BY_THROTTLING: Disturbance = Disturbance::Respond(
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"cancelled",
        "CancellationReasons":[{"Code":"ThrottlingError","Message":"slower"},{"Code":"None"}]}"#,
);
const CANCELLED_BY_VALIDATION: Disturbance = Disturbance::Respond(
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"cancelled",
        "CancellationReasons":[{"Code":"None"},{"Code":"ValidationError","Message":"wrong type"}]}"#,
);

fn nth(wanted: usize, disturbance: Disturbance) -> Wire {
    Wire::disturbed(move |request| if request.number == wanted { disturbance } else { Disturbance::None })
}

#[tokio::test]
async fn a_lost_response_that_the_sdk_retries_changes_nothing() {
    let (acquire, heartbeat, release) = (1, 2, 3);
    for hidden in [false, true] {
        for lost in [acquire, heartbeat, release] {
            let world = World::start().await;
            let wire = Wire::disturbed(move |request| match request.number {
                number if number == lost => Disturbance::LoseResponse,
                _ if hidden => Disturbance::HideOldItem,
                _ => Disturbance::None,
            });
            let locks = world.builder(world.retrying_client_over(&wire)).build();
            let context = format!("response {lost} lost, old item hidden: {hidden}");
            let lock = granted(locks.exclusive("key").acquire().await);
            let taken = world.record("key").await.expect("a record");
            assert_eq!(taken["owner"].as_s().map(String::as_str), Ok(lock.owner()), "{context}");
            assert_eq!(taken["fence"].as_n(), Ok(&lock.fence().to_string()), "{context}");
            lock.heartbeat().await.expect(&context);
            world.commit(lock.check(), "1").await.expect(&context);
            assert_eq!(lock.release().await.expect(&context), Release::Released, "{context}");
            assert!(wire.requests().len() >= 4, "the SDK has retried");
            let next = granted(locks.exclusive("key").acquire().await);
            assert_eq!(next.fence(), lock.fence() + 1, "{context}");
        }
    }
}

#[tokio::test]
async fn a_lost_response_to_an_acquisition_is_found_by_the_next_try_of_a_caller_that_waits() {
    for shared in [false, true] {
        let world = World::start().await;
        let wire = nth(1, Disturbance::LoseResponse);
        let locks = world.locks_over(&wire);
        let request = if shared { locks.shared("key") } else { locks.exclusive("key") };
        let lock = granted(request.wait_for(Duration::from_secs(5)).acquire().await);
        world.commit(lock.check(), "1").await.expect("committed");
        let record = world.record("key").await.expect("a record");
        assert_eq!(record["fence"].as_n(), Ok(&lock.fence().to_string()), "taken once");
        assert_eq!(lock.release().await.expect("a response"), Release::Released);
        let _lock = granted(world.locks().exclusive("key").acquire().await);
    }
}

#[tokio::test]
async fn without_a_wait_an_acquisition_that_is_not_answered_is_an_error_and_its_lock_expires() {
    for disturbance in [Disturbance::LoseResponse, Disturbance::FailBefore] {
        let world = World::start().await;
        let failed = world.locks_over(&nth(1, disturbance)).exclusive("key").acquire().await;
        assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
        if disturbance == Disturbance::LoseResponse {
            let _holder = held(world.locks().exclusive("key").acquire().await);
        }
        world.clock.advance(LEASE * 2);
        let _lock = granted(world.locks().exclusive("key").acquire().await);
    }
}

#[tokio::test]
async fn an_acquisition_that_is_never_answered_ends_with_the_lease_it_asked_for() {
    let world = World::start().await;
    let wire = Wire::disturbed(|_| Disturbance::Stall);
    let locks = world.builder(world.engine.client_over(&wire)).lease(Duration::from_millis(50)).build();
    let failed = locks.exclusive("key").acquire().await;
    // Not because the SDK gave up at some time.
    let Err(Error::Unavailable(cause)) = failed else { panic!("{failed:?}") };
    assert!(cause.is::<tokio::time::error::Elapsed>(), "{cause:?}");
}

#[tokio::test]
async fn a_release_whose_response_is_lost_can_be_repeated() {
    let world = World::start().await;
    let lock = granted(world.locks_over(&nth(2, Disturbance::LoseResponse)).exclusive("key").acquire().await);
    let failed = lock.release().await;
    assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
    assert_eq!(lock.release().await.expect("a response"), Release::Released);

    let successor = granted(world.locks().exclusive("key").acquire().await);
    assert_eq!(lock.release().await.expect("a response"), Release::Lost, "now it is another's");
    world.commit(successor.check(), "1").await.expect("and stays so");
}

#[tokio::test]
async fn a_commit_whose_response_is_lost_is_committed_and_released_once() {
    let world = World::start().await;
    let lock = granted(world.locks().exclusive("key").acquire().await);
    let wire = nth(1, Disturbance::LoseResponse);
    let client = world.retrying_client_over(&wire);
    world.commit_over(&client, vec![lock.release_with()], "1").await.expect("committed");
    assert_eq!(wire.count("TransactWriteItems"), 2, "the SDK has retried");
    assert_eq!(world.data().await.as_deref(), Some("1"));
    let _lock = granted(world.locks().exclusive("key").acquire().await);
}

#[tokio::test]
async fn a_transaction_conflict_is_tried_again_for_every_request_on_a_lock() {
    let (acquire, heartbeat, release) = (1, 2, 3);
    for disturbed in [acquire, heartbeat, release] {
        let world = World::start().await;
        let wire = nth(disturbed, CONFLICT);
        let lock = granted(world.locks_over(&wire).exclusive("key").acquire().await);
        lock.heartbeat().await.expect("renewed");
        assert_eq!(lock.release().await.expect("a response"), Release::Released);
        assert_eq!(wire.requests().len(), 4);
    }
}

#[tokio::test]
async fn a_transaction_conflict_that_stays_is_contended() {
    let world = World::start().await;
    let wire = Wire::disturbed(|_| CONFLICT);
    let failed = world.locks_over(&wire).exclusive("key").acquire().await;
    assert!(matches!(&failed, Err(error @ Error::Contended(Some(_))) if error.is_retryable()), "{failed:?}");
    assert_eq!(wire.requests().len(), 5);
}

#[tokio::test]
async fn a_set_of_locks_outlasts_a_transaction_conflict() {
    let world = World::start().await;
    let wire = nth(1, CANCELLED_BY_CONFLICT);
    let acquired = world.locks_over(&wire).all().exclusive("a").exclusive("b").acquire().await;
    assert!(acquired.expect("a response").granted().is_some());
    assert_eq!(wire.count("TransactWriteItems"), 2);

    let wire = Wire::disturbed(|_| CANCELLED_BY_CONFLICT);
    let failed = world.locks_over(&wire).all().exclusive("c").exclusive("d").acquire().await;
    assert!(matches!(failed, Err(Error::Contended(Some(_)))), "{failed:?}");
}

#[tokio::test]
async fn the_callers_transaction_is_retried_on_a_conflict_and_not_on_a_lost_lock() {
    let world = World::start().await;
    let lock = granted(world.locks().exclusive("key").acquire().await);
    let policy = RetryPolicy { first_pause: A_MILLISECOND, ..RetryPolicy::default() };
    let commit = async |client: &Client| {
        retry_on_conflict(
            policy,
            |error| Cancellation::of(error).is_some_and(|cancelled| cancelled.is_conflict()),
            || transaction(client, vec![lock.check()], "1"),
        )
        .await
    };
    let wire = Wire::disturbed(|request| if request.number <= 2 { CANCELLED_BY_CONFLICT } else { Disturbance::None });
    commit(&world.engine.client_over(&wire)).await.expect("committed");
    assert_eq!(wire.requests().len(), 3);

    assert_eq!(lock.release().await.expect("a response"), Release::Released);
    let wire = Wire::watched();
    let refused = commit(&world.engine.client_over(&wire)).await.expect_err("refused");
    assert!(Cancellation::of(&refused).expect("cancelled").is_refused(0));
    assert_eq!(wire.requests().len(), 1);
}

#[tokio::test]
async fn every_kind_of_failure_is_told_apart() {
    let world = World::start().await;
    let throttled = world.locks_over(&nth(1, Disturbance::Throttle)).exclusive("key").acquire().await;
    assert!(matches!(throttled, Err(Error::Throttled(_))), "{throttled:?}");
    let client = world.engine.client();
    let missing = dynamodb_locks::Locks::builder(client, "nowhere").build().exclusive("key").acquire().await;
    assert!(matches!(missing, Err(Error::TableMissing(_))), "{missing:?}");
    let rejected = world.locks().exclusive("").acquire().await;
    assert!(matches!(rejected, Err(Error::Rejected(_))), "{rejected:?}");

    // What the embedded engine never answers.
    for (status, body, expected) in [
        (500, r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}"#, "lock_unavailable"),
        (503, "<html></html>", "lock_unavailable"),
        (400, r#"{"__type":"com.amazon.coral.service#TransactionInProgressException"}"#, "lock_unavailable"),
        (400, r#"{"__type":"com.amazon.coral.service#ThrottlingException"}"#, "lock_throttled"),
        (400, r#"{"__type":"com.amazonaws.dynamodb.v20120810#ReplicatedWriteConflictException"}"#, "lock_contended"),
        (400, r#"{"__type":"com.amazon.coral.service#AccessDeniedException"}"#, "lock_rejected"),
    ] {
        let wire = Wire::disturbed(move |_| Disturbance::Respond(status, body));
        let failed = world.locks_over(&wire).exclusive("key").acquire().await.expect_err("an error");
        assert_eq!(failed.code(), expected, "{body}");
    }
}

#[tokio::test]
async fn a_cancelled_set_tells_throttling_from_other_reasons() {
    let world = World::start().await;
    let throttled =
        world.locks_over(&nth(1, CANCELLED_BY_THROTTLING)).all().exclusive("a").exclusive("b").acquire().await;
    assert!(matches!(throttled, Err(Error::Throttled(_))), "{throttled:?}");
    let rejected =
        world.locks_over(&nth(1, CANCELLED_BY_VALIDATION)).all().exclusive("a").exclusive("b").acquire().await;
    assert!(matches!(rejected, Err(Error::Rejected(_))), "{rejected:?}");
}

#[tokio::test]
async fn a_lock_that_each_refusal_shows_as_free_is_asked_for_again_at_once_but_not_for_ever() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| if request.number <= 10 { REFUSED_BUT_FREE } else { Disturbance::None });
    let failed = world.locks_over(&wire).exclusive("key").acquire().await;
    assert!(matches!(failed, Err(Error::Contended(None))), "{failed:?}");
    assert_eq!(wire.requests().len(), 4, "one try, and three more");
}

#[tokio::test]
async fn a_caller_that_waits_outlasts_an_outage() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| match request.number {
        1..=3 => Disturbance::FailBefore,
        4 => Disturbance::Throttle,
        _ => Disturbance::None,
    });
    let locks = world.builder(world.engine.client_over(&wire)).takeover(Takeover::ByObservation).build();
    let _lock = granted(locks.exclusive("key").wait_for(Duration::from_secs(10)).acquire().await);
    assert_eq!(wire.requests().len(), 5);
}
