//! The record as a part of the caller's own transaction, and of its own read.

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, TransactWriteItem, Update};
use embedded_dynamodb::{Disturbance, Wire};
use idempotency::{Error, Fingerprint, Found, IdempotencyStore, Recorded, Refusal};
use tokio::task::JoinSet;

use crate::world::{
    IN_PROGRESS_FOR, RETENTION, START, TABLE, World, expect_completed, expect_in_progress, n, payload, s, timed,
};

/// Sends the work's own item together with that of the record, in this order.
async fn commit(client: &Client, record: &TransactWriteItem) -> Result<(), Vec<CancellationReason>> {
    let effect = Update::builder()
        .table_name(TABLE)
        .key("id", s("effect"))
        .update_expression("ADD times :one")
        .expression_attribute_values(":one", n(1));
    let effect = TransactWriteItem::builder().update(effect.build().expect("an update")).build();
    let sent = client.transact_write_items().transact_items(effect).transact_items(record.clone()).send().await;
    match sent {
        Ok(_) => Ok(()),
        Err(error) => match error.into_service_error() {
            TransactWriteItemsError::TransactionCanceledException(refusal) => {
                Err(refusal.cancellation_reasons.expect("reasons"))
            }
            _ => Err(Vec::new()),
        },
    }
}

impl World {
    /// How often the work was done.
    async fn effects(&self) -> u32 {
        match self.record("effect").await {
            Some(effect) => effect["times"].as_n().expect("a number").parse().expect("a number"),
            None => 0,
        }
    }

    /// What a caller that reads the record itself is told.
    async fn found(&self, store: &IdempotencyStore, fingerprint: &Fingerprint) -> Result<Found, &'static str> {
        let place = store.record_key("key");
        let read = self.engine.client().get_item().table_name(place.table).set_key(Some(place.key));
        let item = read.consistent_read(true).send().await.expect("a read").item;
        store.read(item.as_ref(), fingerprint).map_err(|error| error.code())
    }
}

const NEW: Found = Found::New { taken_over: false };
const TAKEN_OVER: Found = Found::New { taken_over: true };
const MISMATCH: &str = "payload_mismatch";

/// Commits work with its record. If it is refused: what the record's reason says.
async fn commit_with_record(
    world: &World,
    store: &IdempotencyStore,
    fingerprint: &Fingerprint,
) -> Result<(), Result<Refusal, &'static str>> {
    let record = store.completed_with("key", fingerprint, Some("1".to_owned())).expect("an item");
    match commit(&world.engine.client(), &record).await {
        Ok(()) => Ok(()),
        Err(reasons) => Err(store.refusal(&reasons[1], fingerprint).map_err(|error| error.code())),
    }
}

fn other() -> Fingerprint {
    Fingerprint::of("another payload")
}

/// The work's result, as the store takes and gives it.
#[allow(clippy::unnecessary_wraps)]
fn data() -> Option<String> {
    Some("1".to_owned())
}

#[tokio::test]
async fn work_and_record_happen_together_and_once() {
    let world = World::start().await;
    let store = world.store();
    assert_eq!(world.found(&store, &payload()).await, Ok(NEW));
    assert_eq!(commit_with_record(&world, &store, &payload()).await, Ok(()));
    assert_eq!(commit_with_record(&world, &store, &payload()).await, Err(Ok(Refusal::Completed { data: data() })));
    assert_eq!(world.found(&store, &payload()).await, Ok(Found::Completed { data: data() }));
    assert_eq!(expect_completed(store.claim("key", &payload()).await), data());
    assert_eq!(world.effects().await, 1);
}

#[tokio::test]
async fn the_record_of_a_transaction_is_in_the_documented_shape() {
    let world = World::start().await;
    let store = timed(world.builder(world.engine.client()).key_prefix("pay"));
    assert_eq!(commit_with_record(&world, &store, &payload()).await, Ok(()));
    let mut record = world.record("pay#key").await.expect("a record");
    assert!(record.remove("owner").is_some());
    let expected = [
        ("id", s("pay#key")),
        ("status", s("COMPLETED")),
        ("expiration", n((START + RETENTION).as_secs().into())),
        ("validation", s("239f59ed55e737c77147cf55ad0c1b03")),
        ("data", s("1")),
    ];
    assert_eq!(record, expected.map(|(name, value)| (name.to_owned(), value)).into());
}

#[tokio::test]
async fn of_sixteen_transactions_at_once_one_has_its_effect_and_the_others_its_result() {
    let world = World::start().await;
    let store = world.store();
    let mut callers = JoinSet::new();
    for caller in 0..16 {
        let (store, client) = (store.clone(), world.engine.client());
        callers.spawn(async move {
            let record = store.completed_with("key", &payload(), Some(caller.to_string())).expect("an item");
            match commit(&client, &record).await {
                Ok(()) => Ok(caller.to_string()),
                Err(reasons) => Err(store.refusal(&reasons[1], &payload()).expect("a refusal")),
            }
        });
    }
    let (done, refused): (Vec<_>, Vec<_>) = callers.join_all().await.into_iter().partition(Result::is_ok);
    assert_eq!(done.len(), 1);
    let winner = done.into_iter().next().and_then(Result::ok);
    assert!(refused.iter().all(|refused| *refused == Err(Refusal::Completed { data: winner.clone() })), "{refused:?}");
    assert_eq!(world.effects().await, 1);
}

#[tokio::test]
async fn a_refusal_of_another_item_is_told_apart() {
    let world = World::start().await;
    let store = world.store();
    world.put([("id", s("effect")), ("times", s("not a number"))]).await;
    let refused = world.put_guarded(&store).await;
    assert_eq!(store.refusal(&refused[1], &payload()).expect("a refusal"), Refusal::New);
    assert_eq!(world.record("key").await, None, "and there is no record of work that was not done");
}

impl World {
    /// A transaction whose own condition fails, and not the record's.
    async fn put_guarded(&self, store: &IdempotencyStore) -> Vec<CancellationReason> {
        let guard = Update::builder()
            .table_name(TABLE)
            .key("id", s("effect"))
            .update_expression("SET times = :one")
            .condition_expression("attribute_not_exists(id)")
            .expression_attribute_values(":one", n(1));
        let guard = TransactWriteItem::builder().update(guard.build().expect("an update")).build();
        let record = store.completed_with("key", &payload(), None).expect("an item");
        let client = self.engine.client();
        let sent = client.transact_write_items().transact_items(guard).transact_items(record).send().await;
        match sent.expect_err("the guard is there").into_service_error() {
            TransactWriteItemsError::TransactionCanceledException(refusal) => {
                refusal.cancellation_reasons.expect("reasons")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn another_payload_is_refused_whatever_the_status() {
    let world = World::start().await;
    let store = world.store();
    let (claim, claiming) = store.claim_with("key", &payload()).expect("an item");
    commit(&world.engine.client(), &claiming).await.expect("claimed");
    assert_eq!(commit_with_record(&world, &store, &other()).await, Err(Err(MISMATCH)));
    assert_eq!(world.found(&store, &other()).await, Err(MISMATCH));
    store.complete(claim, None).await.expect("completed");
    assert_eq!(commit_with_record(&world, &store, &other()).await, Err(Err(MISMATCH)));
    assert_eq!(world.found(&store, &other()).await, Err(MISMATCH));
    assert_eq!(world.effects().await, 1);
}

/// `read` decides on the record by hand, the transaction by its condition: they must not differ in any case.
#[tokio::test]
async fn read_says_that_the_work_may_be_done_if_and_only_if_the_transaction_is_accepted() {
    let second = Duration::from_secs(1);
    let milli = Duration::from_millis(1);
    let mut accepted = 0;
    for status in ["INPROGRESS", "COMPLETED"] {
        for expiration in [
            Some(START.saturating_sub(second * 2)),
            Some(START.saturating_sub(second)),
            Some(START),
            Some(START + second),
            None,
        ] {
            for until in [Some(START.saturating_sub(milli)), Some(START), Some(START + milli), None] {
                for validation in [Some("239f59ed55e737c77147cf55ad0c1b03"), Some("another"), None] {
                    for fingerprint in [payload(), Fingerprint::none()] {
                        let world = World::start().await;
                        let store = world.store();
                        world.put([("id", s("key")), ("status", s(status))]).await;
                        world.set("expiration", expiration.map(|at| n(at.as_secs().into()))).await;
                        world.set("in_progress_expiration", until.map(|at| n(at.as_millis()))).await;
                        world.set("validation", validation.map(s)).await;
                        let found = world.found(&store, &fingerprint).await;
                        let refused = commit_with_record(&world, &store, &fingerprint).await;
                        let context = format!("{status} {expiration:?} {until:?} {validation:?} {fingerprint:?}");
                        let expected = match found {
                            Ok(Found::New { .. }) => Ok(()),
                            Ok(Found::Completed { data }) => Err(Ok(Refusal::Completed { data })),
                            Ok(Found::InProgress { until }) => Err(Ok(Refusal::InProgress { until })),
                            Err(code) => Err(Err(code)),
                        };
                        assert_eq!(refused, expected, "{context}");
                        accepted += u32::from(refused.is_ok());
                        assert_eq!(world.effects().await, u32::from(refused.is_ok()), "{context}");
                    }
                }
            }
        }
    }
    assert!((1..240).contains(&accepted), "both happen");
}

impl World {
    /// Sets an attribute of the record of `key`.
    async fn set(&self, name: &str, value: Option<aws_sdk_dynamodb::types::AttributeValue>) {
        let Some(value) = value else { return };
        let set = self.engine.client().update_item().table_name(TABLE).key("id", s("key"));
        let set = set.update_expression("SET #name = :value").expression_attribute_names("#name", name);
        set.expression_attribute_values(":value", value).send().await.expect("a change");
    }
}

#[tokio::test]
async fn an_expired_record_counts_no_more() {
    let world = World::start().await;
    let store = world.store();
    assert_eq!(commit_with_record(&world, &store, &payload()).await, Ok(()));
    world.clock.advance(RETENTION * 2);
    assert_eq!(world.found(&store, &other()).await, Ok(NEW));
    assert_eq!(commit_with_record(&world, &store, &other()).await, Ok(()));
    assert_eq!(world.effects().await, 2);
}

#[tokio::test]
async fn an_abandoned_claim_is_told_apart_and_taken_over_with_its_own_payload_only() {
    let world = World::start().await;
    let store = world.store();
    let (_abandoned, claiming) = store.claim_with("key", &payload()).expect("an item");
    commit(&world.engine.client(), &claiming).await.expect("claimed");
    world.clock.advance(IN_PROGRESS_FOR * 2);
    assert_eq!(world.found(&store, &payload()).await, Ok(TAKEN_OVER), "its first part may have been done");
    assert_eq!(world.found(&store, &other()).await, Err(MISMATCH));
    assert_eq!(commit_with_record(&world, &store, &other()).await, Err(Err(MISMATCH)));
    assert_eq!(commit_with_record(&world, &store, &payload()).await, Ok(()));
}

#[tokio::test]
async fn a_claim_in_a_transaction_refuses_others_until_it_is_completed_in_another() {
    let world = World::start().await;
    let (store, client) = (world.store(), world.engine.client());
    let (claim, claiming) = store.claim_with("key", &payload()).expect("an item");
    commit(&client, &claiming).await.expect("claimed");
    let until = Some(world.clock.now() + IN_PROGRESS_FOR);
    assert_eq!(world.found(&store, &payload()).await, Ok(Found::InProgress { until }));
    assert_eq!(commit_with_record(&world, &store, &payload()).await, Err(Ok(Refusal::InProgress { until })));
    assert_eq!(expect_in_progress(store.claim("key", &payload()).await), until);

    let completion = store.complete_with(&claim, data()).expect("an item");
    commit(&client, &completion).await.expect("completed");
    assert_eq!(world.found(&store, &payload()).await, Ok(Found::Completed { data: data() }));
    commit(&client, &store.complete_with(&claim, data()).expect("an item")).await.expect("twice is once");
    assert_eq!(world.effects().await, 3);
}

#[tokio::test]
async fn a_claim_in_a_transaction_ends_with_the_invocation() {
    let world = World::start().await;
    let deadline = world.clock.now() + Duration::from_secs(3);
    let store = world.store().until(deadline);
    let (_claim, claiming) = store.claim_with("key", &payload()).expect("an item");
    commit(&world.engine.client(), &claiming).await.expect("claimed");
    assert_eq!(world.found(&store, &payload()).await, Ok(Found::InProgress { until: Some(deadline) }));
    world.clock.advance(Duration::from_millis(3_001));
    assert_eq!(world.found(&store, &payload()).await, Ok(TAKEN_OVER));
}

#[tokio::test]
async fn a_claim_in_a_transaction_can_be_released() {
    let world = World::start().await;
    let store = world.store();
    let (claim, claiming) = store.claim_with("key", &payload()).expect("an item");
    commit(&world.engine.client(), &claiming).await.expect("claimed");
    store.release(claim).await.expect("released");
    assert_eq!(world.found(&store, &payload()).await, Ok(NEW));
}

#[tokio::test]
async fn a_claim_that_was_taken_over_cannot_be_completed_and_its_work_is_refused_with_it() {
    let world = World::start().await;
    let (store, client) = (world.store(), world.engine.client());
    let (late, claiming) = store.claim_with("key", &payload()).expect("an item");
    commit(&client, &claiming).await.expect("claimed");
    world.clock.advance(IN_PROGRESS_FOR * 2);
    let (second, claiming) = store.claim_with("key", &payload()).expect("an item");
    commit(&client, &claiming).await.expect("taken over");

    let completion = store.complete_with(&late, Some("late".to_owned())).expect("an item");
    let reasons = commit(&client, &completion).await.expect_err("lost");
    assert!(matches!(store.refusal(&reasons[1], &payload()), Ok(Refusal::InProgress { .. })));
    commit(&client, &store.complete_with(&second, data()).expect("an item")).await.expect("completed");
    let reasons = commit(&client, &completion).await.expect_err("lost");
    assert_eq!(store.refusal(&reasons[1], &payload()).expect("a refusal"), Refusal::Completed { data: data() });
    assert_eq!(world.effects().await, 3, "two claims and one completion");
}

#[tokio::test]
async fn a_transaction_whose_response_is_lost_and_that_the_sdk_repeats_counts_once() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| match request.number {
        1 => Disturbance::LoseResponse,
        _ => Disturbance::None,
    });
    let store = world.store();
    let record = store.completed_with("key", &payload(), data()).expect("an item");
    commit(&world.retrying_client_over(&wire), &record).await.expect("known by its request token");
    assert_eq!(wire.count("TransactWriteItems"), 2);
    assert_eq!(world.effects().await, 1);
}

#[tokio::test]
async fn a_transaction_that_the_caller_repeats_is_refused_by_its_own_record_and_gets_its_result() {
    let world = World::start().await;
    let lossy = world.engine.client_over(&Wire::disturbed(|_| Disturbance::LoseResponse));
    let (store, client) = (world.store(), world.engine.client());
    let record = store.completed_with("key", &payload(), data()).expect("an item");
    assert_eq!(commit(&lossy, &record).await, Err(Vec::new()), "no response");
    let reasons = commit(&client, &record).await.expect_err("refused");
    assert_eq!(store.refusal(&reasons[1], &payload()).expect("a refusal"), Refusal::Completed { data: data() });
    assert_eq!(world.effects().await, 1);
}

#[tokio::test]
async fn a_claim_whose_response_is_lost_can_be_completed() {
    let world = World::start().await;
    let lossy = world.engine.client_over(&Wire::disturbed(|_| Disturbance::LoseResponse));
    let (store, client) = (world.store(), world.engine.client());
    let (claim, claiming) = store.claim_with("key", &payload()).expect("an item");
    assert_eq!(commit(&lossy, &claiming).await, Err(Vec::new()), "no response");
    commit(&client, &store.complete_with(&claim, data()).expect("an item")).await.expect("the claim is ours");
    assert_eq!(world.found(&store, &payload()).await, Ok(Found::Completed { data: data() }));
}

/// As from a server that does not know `ReturnValuesOnConditionCheckFailure`.
#[tokio::test]
async fn a_reason_without_the_record_says_to_read_it() {
    let world = World::start().await;
    let store = world.store();
    assert_eq!(commit_with_record(&world, &store, &payload()).await, Ok(()));
    let blind = world.engine.client_over(&Wire::disturbed(|_| Disturbance::HideOldItem));
    let record = store.completed_with("key", &payload(), None).expect("an item");
    let reasons = commit(&blind, &record).await.expect_err("refused");
    assert_eq!(reasons[1].item(), None);
    assert_eq!(store.refusal(&reasons[1], &payload()).expect("a refusal"), Refusal::New);
    assert_eq!(world.found(&store, &payload()).await, Ok(Found::Completed { data: data() }));
}

#[tokio::test]
async fn a_record_that_has_expired_since_it_refused_is_to_be_read_again() {
    let world = World::start().await;
    let store = world.store();
    assert_eq!(commit_with_record(&world, &store, &payload()).await, Ok(()));
    let record = store.completed_with("key", &payload(), None).expect("an item");
    let reasons = commit(&world.engine.client(), &record).await.expect_err("refused");
    world.clock.advance(RETENTION * 2);
    assert_eq!(store.refusal(&reasons[1], &payload()).expect("a refusal"), Refusal::New);
}

/// The engine has no conflicts: another transaction holds the record at this moment.
#[tokio::test]
async fn a_conflict_of_transactions_says_to_read_again() {
    const CONFLICT: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict","Message":"Transaction is ongoing for the item"}]}"#;
    let world = World::start().await;
    let store = world.store();
    let client = world.engine.client_over(&Wire::disturbed(|_| Disturbance::Respond(400, CONFLICT)));
    let record = store.completed_with("key", &payload(), None).expect("an item");
    let reasons = commit(&client, &record).await.expect_err("refused");
    assert_eq!(store.refusal(&reasons[0], &payload()).expect("a refusal"), Refusal::New);
    assert_eq!(store.refusal(&reasons[1], &payload()).expect("a refusal"), Refusal::New);
}

#[tokio::test]
async fn a_reason_that_is_no_refusal_of_the_record_is_an_error() {
    let store = World::start().await.store();
    let refusal =
        |code: &str| store.refusal(&CancellationReason::builder().code(code).message("said").build(), &payload());
    for code in ["ThrottlingError", "ProvisionedThroughputExceeded"] {
        let error = refusal(code).expect_err(code);
        assert!(matches!(error, Error::Throttled(_)) && error.is_retryable(), "{code}");
    }
    for code in ["ValidationError", "ItemCollectionSizeLimitExceeded", "SomethingNew"] {
        let error = refusal(code).expect_err(code);
        assert!(matches!(error, Error::Rejected(_)) && !error.is_retryable(), "{code}");
    }
    let malformed =
        CancellationReason::builder().code("ConditionalCheckFailed").item("id", s("key")).item("status", n(1));
    let error = store.refusal(&malformed.build(), &payload()).expect_err("no record of ours");
    assert!(matches!(error, Error::Malformed { attribute } if attribute == "status"));
    assert_eq!(store.refusal(&CancellationReason::builder().build(), &payload()).expect("none"), Refusal::New);
}

#[tokio::test]
async fn a_result_that_does_not_fit_is_refused_before_anything_is_sent() {
    let world = World::start().await;
    let store = world.store();
    let large = || Some("r".repeat(400 * 1024));
    assert!(matches!(store.completed_with("key", &payload(), large()), Err(Error::ResultTooLarge)));
    let (claim, _) = store.claim_with("key", &payload()).expect("an item");
    assert!(matches!(store.complete_with(&claim, large()), Err(Error::ResultTooLarge)));
    assert!(matches!(store.record("key", &payload(), large()).await, Err(Error::ResultTooLarge)));
}

#[tokio::test]
async fn a_record_alone_is_one_request_and_refuses_like_the_others() {
    let world = World::start().await;
    let wire = Wire::watched();
    let store = world.store_over(&wire);
    assert_eq!(store.record("key", &payload(), data()).await.expect("a response"), Recorded::New);
    let again = store.record("key", &payload(), Some("2".to_owned())).await.expect("a response");
    assert_eq!(again, Recorded::Completed { data: data() });
    let mismatch = store.record("key", &other(), None).await;
    assert!(matches!(mismatch, Err(Error::PayloadMismatch)), "{mismatch:?}");
    assert_eq!(wire.requests().len(), wire.count("PutItem"));
    assert_eq!(wire.count("PutItem"), 3);
    assert_eq!(world.found(&store, &payload()).await, Ok(Found::Completed { data: data() }));
}

#[tokio::test]
async fn a_record_alone_replaces_what_counts_no_more() {
    let world = World::start().await;
    let store = world.store();
    let (_claim, claiming) = store.claim_with("key", &payload()).expect("an item");
    commit(&world.engine.client(), &claiming).await.expect("claimed");
    let in_progress = store.record("key", &payload(), data()).await.expect("a response");
    assert!(matches!(in_progress, Recorded::InProgress { .. }));
    world.clock.advance(IN_PROGRESS_FOR * 2);
    assert_eq!(store.record("key", &payload(), data()).await.expect("a response"), Recorded::New);
    world.clock.advance(RETENTION * 2);
    assert_eq!(store.record("key", &other(), None).await.expect("a response"), Recorded::New);
    assert_eq!(world.found(&store, &other()).await, Ok(Found::Completed { data: None }));
}

/// The claim is alive when the request is sent and has expired when the response arrives.
#[tokio::test]
async fn a_record_alone_that_is_refused_by_a_claim_that_expires_meanwhile_is_sent_again() {
    let world = World::start().await;
    let (_claim, claiming) = world.store().claim_with("key", &payload()).expect("an item");
    commit(&world.engine.client(), &claiming).await.expect("claimed");
    world.clock.advance(IN_PROGRESS_FOR);
    let clock = world.clock.clone();
    let wire = Wire::disturbed(move |_| {
        clock.advance(Duration::from_millis(1));
        Disturbance::None
    });
    let store = world.store_over(&wire);
    assert_eq!(store.record("key", &payload(), data()).await.expect("a response"), Recorded::New);
    assert_eq!(wire.count("PutItem"), 2);
    assert_eq!(world.found(&store, &payload()).await, Ok(Found::Completed { data: data() }));
}

/// As if another caller claimed the key before every request, and each claim expired on the way back.
#[tokio::test]
async fn a_record_alone_that_is_refused_each_time_by_what_has_expired_is_contended() {
    const REFUSED: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
        "Item":{"id":{"S":"key"},"status":{"S":"INPROGRESS"},"in_progress_expiration":{"N":"1"},"owner":{"S":"another"}}}"#;
    let world = World::start().await;
    let wire = Wire::disturbed(|_| Disturbance::Respond(400, REFUSED));
    let error = world.store_over(&wire).record("key", &payload(), data()).await.expect_err("nothing is recorded");
    assert!(matches!(error, Error::Contended), "{error:?}");
    assert_eq!(wire.count("PutItem"), 5);
}

#[tokio::test]
async fn a_record_alone_whose_response_is_lost_finds_its_own() {
    for disturbance in [Disturbance::None, Disturbance::HideOldItem] {
        let world = World::start().await;
        let wire = Wire::disturbed(move |request| match request.number {
            1 => Disturbance::LoseResponse,
            _ => disturbance,
        });
        let store = timed(world.builder(world.retrying_client_over(&wire)));
        assert_eq!(store.record("key", &payload(), data()).await.expect("a response"), Recorded::New);
        assert_eq!(wire.count("PutItem"), 2);
    }
}

#[tokio::test]
async fn a_command_with_its_record_costs_one_read_and_one_transaction() {
    let world = World::start().await;
    let wire = Wire::watched();
    let (store, client) = (world.store_over(&wire), world.engine.client_over(&wire));
    let place = store.record_key("key");
    let keys = aws_sdk_dynamodb::types::KeysAndAttributes::builder().consistent_read(true).keys(place.key);
    let read = client.batch_get_item().request_items(&place.table, keys.build().expect("keys")).send().await;
    let responses = read.expect("a read").responses.expect("responses");
    let found = responses.get(&place.table).and_then(|items| items.first());
    assert_eq!(store.read(found, &payload()).expect("a record"), NEW);
    let record = store.completed_with("key", &payload(), data()).expect("an item");
    commit(&client, &record).await.expect("committed");
    let operations: Vec<_> = wire.requests().into_iter().map(|request| request.operation).collect();
    assert_eq!(operations, ["BatchGetItem", "TransactWriteItems"]);
}
