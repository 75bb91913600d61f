//! Claim, complete, release, with nothing going wrong.

use std::collections::BTreeSet;

use embedded_dynamodb::{Disturbance, Wire};
use idempotency::{Claimed, Error, Fingerprint, TimedStore};
use tokio::task::JoinSet;

use crate::world::{
    Forged, IN_PROGRESS_FOR, RETENTION, START, World, expect_completed, expect_in_progress, expect_new, n, payload, s,
    timed,
};

#[tokio::test]
async fn completed_work_is_replayed_with_its_result() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim("key", &payload()).await);
    let result = r#"{"total":7}"#.to_owned();
    store.complete(claim, Some(result.clone())).await.expect("completed");
    assert_eq!(expect_completed(store.claim("key", &payload()).await), Some(result));
}

#[tokio::test]
async fn completed_work_without_a_result_is_replayed_without_one() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim("key", &payload()).await);
    store.complete(claim, None).await.expect("completed");
    assert_eq!(expect_completed(store.claim("key", &payload()).await), None);
}

#[tokio::test]
async fn work_in_progress_is_refused_and_says_until_when() {
    let world = World::start().await;
    let store = world.store();
    let _claim = expect_new(store.claim("key", &payload()).await);
    let until = expect_in_progress(store.claim("key", &payload()).await);
    assert_eq!(until, Some(world.clock.now() + IN_PROGRESS_FOR));
}

#[tokio::test]
async fn released_work_can_be_claimed_at_once() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim("key", &payload()).await);
    store.release(claim).await.expect("released");
    assert_eq!(world.record("key").await, None);
    let _claim = expect_new(store.claim("key", &payload()).await);
}

#[tokio::test]
async fn the_record_is_in_the_documented_shape_before_and_after_completion() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim("key", &payload()).await);

    let mut record = world.record("key").await.expect("a record");
    let owner = record.remove("owner").expect("an owner");
    let validation = s("239f59ed55e737c77147cf55ad0c1b03");
    let expiration = n((START + RETENTION).as_secs().into());
    let mut expected = [
        ("id", s("key")),
        ("status", s("INPROGRESS")),
        ("expiration", expiration.clone()),
        ("in_progress_expiration", n((START + IN_PROGRESS_FOR).as_millis())),
        ("validation", validation.clone()),
    ];
    assert_eq!(record, expected.clone().map(|(k, v)| (k.to_owned(), v)).into());

    store.complete(claim, Some("1".to_owned())).await.expect("completed");
    let mut record = world.record("key").await.expect("a record");
    assert_eq!(record.remove("owner"), Some(owner));
    expected[1].1 = s("COMPLETED");
    expected[3] = ("data", s("1"));
    assert_eq!(record, expected.map(|(k, v)| (k.to_owned(), v)).into());
}

#[tokio::test]
async fn the_expiration_counts_from_the_completion() {
    let world = World::start().await;
    let store = world.store();
    let claim = expect_new(store.claim("key", &payload()).await);
    world.clock.advance(IN_PROGRESS_FOR);
    store.complete(claim, None).await.expect("completed");
    let record = world.record("key").await.expect("a record");
    let expected = (START + IN_PROGRESS_FOR + RETENTION).as_secs();
    assert_eq!(record["expiration"], n(expected.into()));
}

#[tokio::test]
async fn every_claim_has_an_owner_of_its_own() {
    let world = World::start().await;
    let store = world.store();
    let mut owners = BTreeSet::new();
    for time in ["first", "second", "third"] {
        let claim = expect_new(store.claim("key", &payload()).await);
        let record = world.record("key").await.expect("a record");
        owners.insert(record["owner"].as_s().expect(time).clone());
        store.release(claim).await.expect("released");
    }
    assert_eq!(owners.len(), 3);
}

#[tokio::test]
async fn new_work_costs_one_put_and_one_update_and_a_duplicate_one_put() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = world.store_over(&wire);
    let claim = expect_new(store.claim("key", &payload()).await);
    store.complete(claim, None).await.expect("completed");
    expect_completed(store.claim("key", &payload()).await);
    let operations: Vec<_> = wire.requests().into_iter().map(|r| r.operation).collect();
    assert_eq!(operations, ["PutItem", "UpdateItem", "PutItem"]);
}

#[tokio::test]
async fn a_server_that_hides_old_items_is_asked_for_them() {
    let world = World::start().await;
    let wire = Wire::disturbed(|_| Disturbance::HideOldItem);
    let store = world.store_over(&wire);
    let claim = expect_new(store.claim("key", &payload()).await);
    expect_in_progress(store.claim("key", &payload()).await);
    store.complete(claim, Some("1".to_owned())).await.expect("completed");
    let data = expect_completed(store.claim("key", &payload()).await);
    assert_eq!(data.as_deref(), Some("1"));
    assert_eq!(wire.count("GetItem"), 2);
}

/// A store that finds the record when it claims, but not when it reads; `vanish` runs in between.
fn blind_store(world: &World, wire: &Wire, vanish: impl Fn() + Send + Sync + 'static) -> TimedStore {
    let client = world.client_with_responses(wire, move |request| {
        (request.operation == "GetItem").then(|| {
            vanish();
            Forged { status: 200, body: "{}".to_owned() }
        })
    });
    timed(world.builder(client))
}

#[tokio::test]
async fn a_record_that_vanishes_before_it_can_be_read_is_claimed_again() {
    let world = World::start().await;
    let _earlier = expect_new(world.store().claim("key", &payload()).await);
    let wire = Wire::disturbed(|_| Disturbance::HideOldItem);
    let clock = world.clock.clone();
    let store = blind_store(&world, &wire, move || clock.advance(IN_PROGRESS_FOR * 2));
    let _claim = expect_new(store.claim("key", &payload()).await);
    assert_eq!(wire.count("PutItem"), 2);
}

#[tokio::test]
async fn a_record_that_keeps_vanishing_is_not_claimed_forever() {
    let world = World::start().await;
    let _earlier = expect_new(world.store().claim("key", &payload()).await);
    let wire = Wire::disturbed(|_| Disturbance::HideOldItem);
    let store = blind_store(&world, &wire, || {});
    let claimed = store.claim("key", &payload()).await;
    assert!(matches!(claimed, Err(Error::Contended)), "{claimed:?}");
    assert_eq!(wire.count("PutItem"), 5);
}

#[tokio::test]
async fn another_payload_under_the_same_key_is_a_mismatch_whatever_the_status() {
    let world = World::start().await;
    let store = world.store();
    let other = Fingerprint::of("another payload");
    let claim = expect_new(store.claim("key", &payload()).await);
    let in_progress = store.claim("key", &other).await;
    assert!(matches!(in_progress, Err(Error::PayloadMismatch)));
    store.complete(claim, None).await.expect("completed");
    let completed = store.claim("key", &other).await;
    assert!(matches!(completed, Err(Error::PayloadMismatch)));
}

#[tokio::test]
async fn payloads_are_not_compared_where_one_side_has_no_fingerprint() {
    let world = World::start().await;
    let store = world.store();
    for (first, second) in [(Fingerprint::none(), payload()), (payload(), Fingerprint::none())] {
        let claim = expect_new(store.claim("key", &first).await);
        expect_in_progress(store.claim("key", &second).await);
        store.release(claim).await.expect("released");
    }
}

/// Else the wrong message would be done and acknowledged, and the right one refused.
#[tokio::test]
async fn an_abandoned_claim_is_taken_over_only_with_the_payload_it_was_made_for() {
    for disturbance in [Disturbance::None, Disturbance::HideOldItem] {
        let world = World::start().await;
        let store = world.store_over(&Wire::disturbed(move |_| disturbance));
        let _abandoned = expect_new(store.claim("key", &payload()).await);
        world.clock.advance(IN_PROGRESS_FOR * 2);
        let other = store.claim("key", &Fingerprint::of("another payload")).await;
        assert!(matches!(other, Err(Error::PayloadMismatch)), "{other:?}");
        let claim = expect_new(store.claim("key", &payload()).await);
        store.complete(claim, None).await.expect("completed");
    }
}

#[tokio::test]
async fn an_abandoned_claim_is_taken_over_where_one_side_has_no_fingerprint() {
    for (first, second) in [(Fingerprint::none(), payload()), (payload(), Fingerprint::none())] {
        let world = World::start().await;
        let store = world.store();
        let _abandoned = expect_new(store.claim("key", &first).await);
        world.clock.advance(IN_PROGRESS_FOR * 2);
        let _claim = expect_new(store.claim("key", &second).await);
        let validation = world.record("key").await.expect("a record").remove("validation");
        assert_eq!(validation.is_some(), second == payload(), "the record is the second caller's");
    }
}

#[tokio::test]
async fn an_expired_record_is_no_mismatch() {
    let world = World::start().await;
    let store = world.store();
    let _claim = expect_new(store.claim("key", &payload()).await);
    world.clock.advance(RETENTION * 2);
    let claim = expect_new(store.claim("key", &Fingerprint::of("another payload")).await);
    store.complete(claim, None).await.expect("completed");
    world.clock.advance(RETENTION * 2);
    let _claim = expect_new(store.claim("key", &payload()).await);
}

#[tokio::test]
async fn of_sixteen_callers_at_once_one_gets_the_claim() {
    for disturbance in [Disturbance::None, Disturbance::HideOldItem] {
        let world = World::start().await;
        let store = world.store_over(&Wire::disturbed(move |_| disturbance));
        let mut callers = JoinSet::new();
        for _ in 0..16 {
            let store = store.clone();
            callers.spawn(async move { store.claim("key", &payload()).await });
        }
        let (new, refused): (Vec<_>, Vec<_>) = callers
            .join_all()
            .await
            .into_iter()
            .map(|claimed| claimed.expect("a response"))
            .partition(|claimed| matches!(claimed, Claimed::New(_)));
        assert_eq!((new.len(), refused.len()), (1, 15));
    }
}

#[tokio::test]
async fn a_result_may_fill_the_item_to_its_last_byte_and_no_further() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = world.store_over(&wire);
    let claim = expect_new(store.claim("key", &payload()).await);
    store.complete(claim.clone(), Some(String::new())).await.expect("completed");
    // Names and values, of which the number takes 6 bytes: its ten digits by two, and one.
    let record = world.record("key").await.expect("a record");
    let size: usize = record.iter().map(|(name, value)| name.len() + value.as_s().map_or(6, String::len)).sum();
    let largest = "x".repeat(400 * 1024 - size);

    let before = wire.requests().len();
    let error = store.complete(claim.clone(), Some(format!("{largest}x"))).await.expect_err("a byte too much");
    assert!(matches!(error, Error::ResultTooLarge), "{error:?}");
    assert!(!error.is_retryable());
    assert_eq!(wire.requests().len(), before);
    store.complete(claim, Some(largest.clone())).await.expect("completed");
    assert_eq!(expect_completed(store.claim("key", &payload()).await), Some(largest));
}
