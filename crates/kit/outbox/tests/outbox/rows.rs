//! Rows in the caller's transaction.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, Put, TransactWriteItem};
use embedded_dynamodb::{Disturbance, Wire};
use outbox::{EventRow, Outbox, create_table};

use crate::world::{START, TABLE, World, n, s};

/// The caller's own item, which is refused if it is there already.
fn intent(id: &str) -> TransactWriteItem {
    let put = Put::builder().table_name(TABLE).item("pk", s(&format!("Intent#{id}"))).item("sk", n(0));
    let put = put.condition_expression("attribute_not_exists(pk)").build().expect("a put");
    TransactWriteItem::builder().put(put).build()
}

async fn commit(client: &Client, id: &str, row: &EventRow) -> Result<(), Vec<CancellationReason>> {
    let row = Outbox::new(TABLE).put(row).expect("a row");
    match client.transact_write_items().transact_items(intent(id)).transact_items(row).send().await {
        Ok(_) => Ok(()),
        Err(error) => match error.into_service_error() {
            TransactWriteItemsError::TransactionCanceledException(refusal) => {
                Err(refusal.cancellation_reasons.expect("reasons"))
            }
            _ => Err(Vec::new()),
        },
    }
}

fn codes(reasons: &[CancellationReason]) -> Vec<&str> {
    reasons.iter().map(|reason| reason.code().unwrap_or_default()).collect()
}

#[tokio::test]
async fn the_row_is_in_the_documented_shape() {
    let world = World::start().await;
    let row = world.row("7#8", 3);
    world.commit(std::slice::from_ref(&row)).await;
    let found = world.engine.client().scan().table_name(TABLE).send().await.expect("a scan").items.expect("items");
    let expected = [
        ("pk", s("Payment#7#8")),
        ("sk", n(3)),
        ("eventId", s("7#8-3")),
        ("eventType", s("Charged")),
        ("message", s(r#"{"payload":"secret of 7#8"}"#)),
        ("at", n(START.as_millis().try_into().expect("a near time"))),
    ];
    assert_eq!(found, [expected.map(|(name, value)| (name.to_owned(), value)).into()]);
    assert_eq!(EventRow::from_item(&found[0]).expect("a row"), row);
}

#[tokio::test]
async fn an_event_is_committed_with_the_change_that_it_describes() {
    let world = World::start().await;
    commit(&world.engine.client(), "1", &world.row("1", 1)).await.expect("committed");
    assert_eq!(world.left().await.into_iter().collect::<Vec<_>>(), ["Intent#1", "Payment#1"]);
}

#[tokio::test]
async fn a_refused_commit_leaves_no_event() {
    let world = World::start().await;
    let client = world.engine.client();
    commit(&client, "1", &world.row("1", 1)).await.expect("committed");
    let reasons = commit(&client, "1", &world.row("1", 2)).await.expect_err("the intent is there");
    assert_eq!(codes(&reasons), ["ConditionalCheckFailed", "None"]);
    assert_eq!(world.left().await.len(), 2);
}

#[tokio::test]
async fn an_existing_event_cancels_the_transaction_with_a_reason_for_its_item() {
    let world = World::start().await;
    let client = world.engine.client();
    let first = world.row("1", 1);
    commit(&client, "1", &first).await.expect("committed");
    let second = EventRow { event_id: "another".to_owned(), ..first.clone() };
    let reasons = commit(&client, "2", &second).await.expect_err("the event is there");
    assert_eq!(codes(&reasons), ["None", "ConditionalCheckFailed"]);
    let there = EventRow::from_item(reasons[1].item().expect("the row that is there")).expect("a row");
    assert_eq!(there, first, "and it is not overwritten");
    assert!(!world.left().await.contains("Intent#2"), "nothing of the transaction is written");
}

#[tokio::test]
async fn whatever_happens_to_the_request_an_event_exists_if_and_only_if_its_commit_does() {
    for (disturbance, committed) in [(Disturbance::FailBefore, false), (Disturbance::LoseResponse, true)] {
        let world = World::start().await;
        let client = world.engine.client_over(&Wire::disturbed(move |_| disturbance));
        commit(&client, "1", &world.row("1", 1)).await.expect_err("no response");
        let left = world.left().await;
        assert_eq!(left.contains("Intent#1"), committed, "{disturbance:?}");
        assert_eq!(left.contains("Payment#1"), committed, "{disturbance:?}");
    }
}

#[tokio::test]
async fn an_event_that_could_never_be_published_is_not_committed() {
    let world = World::start().await;
    let row = world.row("1", 1);
    let check = |row: EventRow, expected: &str| {
        let error = Outbox::new(TABLE).put(&row).expect_err(expected);
        assert_eq!(error.code(), expected);
        assert!(error.is_poison());
    };
    check(EventRow { message: String::new(), ..row.clone() }, "row_malformed");
    check(EventRow { event_type: String::new(), ..row.clone() }, "row_malformed");
    check(EventRow { event_id: String::new(), ..row.clone() }, "row_malformed");
    check(EventRow { aggregate_id: String::new(), ..row.clone() }, "row_malformed");
    check(EventRow { aggregate_type: "a#b".to_owned(), ..row.clone() }, "row_malformed");
    // 262,144 bytes less `event-type`, `String` and `Charged`.
    let fits = 262_144 - 10 - 6 - 7;
    assert!(Outbox::new(TABLE).put(&EventRow { message: "m".repeat(fits), ..row.clone() }).is_ok());
    check(EventRow { message: "m".repeat(fits + 1), ..row }, "message_too_large");
}

#[tokio::test]
async fn a_table_that_exists_is_kept() {
    let world = World::start().await;
    world.commit_some(1).await;
    create_table(&world.engine.client(), TABLE).await.expect("it is there");
    assert_eq!(world.left().await.len(), 1);
}
