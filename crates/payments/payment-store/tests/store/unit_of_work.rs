//! A unit of work writes everything or nothing, and returns the meaning of the first refusal.

use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem};
use embedded_dynamodb::{Disturbance, Wire};
use payment_store::{Uncommitted, UnitOfWork};

use crate::world::{World, tables};

/// A write that is refused if the item exists.
fn put(pk: &str) -> TransactWriteItem {
    let put = Put::builder()
        .table_name(tables().payments)
        .item("pk", AttributeValue::S(pk.to_owned()))
        .condition_expression("attribute_not_exists(pk)")
        .build()
        .unwrap();
    TransactWriteItem::builder().put(put).build()
}

fn work<const N: usize>(keys: [&'static str; N]) -> UnitOfWork<&'static str> {
    let mut work = UnitOfWork::new();
    for key in keys {
        work.add(put(key), key);
    }
    work
}

#[tokio::test]
async fn a_commit_writes_everything_in_one_request() {
    let world = World::create().await;
    let wire = Wire::watched();
    world.over(&wire).commit(work(["a", "b"])).await.unwrap();
    assert_eq!(world.scan(&tables().payments).await.len(), 2);
    assert_eq!(wire.requests().len(), 1);
}

#[tokio::test]
async fn nothing_is_written_without_a_commit() {
    let world = World::create().await;
    drop(work(["a", "b"]));
    assert!(world.scan(&tables().payments).await.is_empty());
}

#[tokio::test]
async fn an_empty_unit_needs_no_request() {
    let world = World::create().await;
    let wire = Wire::disturbed(|_| Disturbance::FailBefore);
    world.over(&wire).commit(UnitOfWork::<()>::new()).await.unwrap();
}

#[tokio::test]
async fn several_units_can_be_committed() {
    let world = World::create().await;
    for keys in [["a", "b"], ["c", "d"]] {
        world.store.commit(work(keys)).await.unwrap();
    }
    assert_eq!(world.scan(&tables().payments).await.len(), 4);
}

#[tokio::test]
async fn a_refused_write_rolls_everything_back_and_the_first_refusal_is_returned() {
    let world = World::create().await;
    world.store.commit(work(["b", "c"])).await.unwrap();
    let Err(Uncommitted::Refused(first, reason)) = world.store.commit(work(["a", "b", "c"])).await else {
        panic!("b and c exist")
    };
    assert_eq!((first, reason.code()), ("b", Some("ConditionalCheckFailed")));
    assert_eq!(world.scan(&tables().payments).await.len(), 2, "a is not written");
}

#[tokio::test]
async fn a_concurrent_transaction_on_the_same_item_is_a_conflict() {
    const CONFLICT: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"x",
        "CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict"}]}"#;
    let world = World::create().await;
    let wire = Wire::disturbed(|_| Disturbance::Respond(400, CONFLICT));
    let uncommitted = world.over(&wire).commit(work(["a", "b"])).await;
    assert!(matches!(uncommitted, Err(Uncommitted::Conflict)));
}
