//! Optimistic locking by versions.

use std::sync::atomic::{AtomicU32, Ordering};

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{TransactWriteItem, Update};
use dynamodb_locks::{Cancellation, Cause, RetryPolicy, Versioned, retry_on_conflict};
use embedded_dynamodb::{Disturbance, Wire};

use crate::world::{A_MILLISECOND, ITEMS, World, n, s};

async fn create(world: &World, key: &str, amount: u64) -> Result<u64, SdkError<PutItemError>> {
    let version = Versioned::absent();
    let guard = version.condition();
    let request = world.engine.client().put_item().table_name(ITEMS);
    let request = request.item("pk", s(key)).item("amount", n(amount)).item("version", n(version.next()));
    let request = request.condition_expression(guard.condition).set_expression_attribute_names(Some(guard.names));
    request.send().await.map(|_| version.next())
}

async fn read(world: &World, key: &str) -> Option<(u64, u64)> {
    let item = world.item(ITEMS, [("pk", s(key))]).await?;
    let number = |name: &str| item[name].as_n().ok().and_then(|digits| digits.parse().ok()).expect("a number");
    Some((number("version"), number("amount")))
}

async fn update(world: &World, key: &str, version: u64, amount: u64) -> Result<u64, SdkError<UpdateItemError>> {
    let version = Versioned::at(version);
    let guard = version.clauses();
    let mut request = world.engine.client().update_item().table_name(ITEMS).key("pk", s(key));
    for (alias, value) in guard.values {
        request = request.expression_attribute_values(alias, value);
    }
    let request = request
        .update_expression(format!("SET amount = :amount, {}", guard.set))
        .expression_attribute_values(":amount", n(amount))
        .set_expression_attribute_names(Some(guard.names))
        .condition_expression(guard.condition);
    request.send().await.map(|_| version.next())
}

fn is_conflict(error: &SdkError<UpdateItemError>) -> bool {
    error.as_service_error().is_some_and(UpdateItemError::is_conditional_check_failed_exception)
}

#[tokio::test]
async fn an_item_is_created_once_at_version_one() {
    let world = World::start().await;
    assert_eq!(read(&world, "item").await, None);
    assert_eq!(create(&world, "item", 1).await.expect("created"), 1);
    create(&world, "item", 2).await.expect_err("an id that exists is refused");
    assert_eq!(read(&world, "item").await, Some((1, 1)));
}

#[tokio::test]
async fn updating_what_is_not_there_is_refused_and_creates_nothing() {
    let world = World::start().await;
    let refused = update(&world, "item", 1, 2).await.expect_err("refused");
    assert!(is_conflict(&refused));
    assert_eq!(read(&world, "item").await, None);
}

#[tokio::test]
async fn of_two_concurrent_updates_one_wins() {
    let world = World::start().await;
    create(&world, "item", 1).await.expect("created");
    let (one, other) = tokio::join!(update(&world, "item", 1, 10), update(&world, "item", 1, 20));
    let (won, lost) = if one.is_ok() { ((one, 10), other) } else { ((other, 20), one) };
    assert_eq!(won.0.expect("one of them is written"), 2);
    assert!(is_conflict(&lost.expect_err("the other is refused")));
    assert_eq!(read(&world, "item").await, Some((2, won.1)));
}

#[tokio::test]
async fn retries_read_again_until_every_increment_counts() {
    let world = World::start().await;
    create(&world, "item", 0).await.expect("created");
    let policy = RetryPolicy { attempts: 100, first_pause: A_MILLISECOND, max_pause: A_MILLISECOND * 20 };
    let conflicts = AtomicU32::new(0);
    let increment = async || {
        let counted = |error: &_| {
            conflicts.fetch_add(1, Ordering::SeqCst);
            is_conflict(error)
        };
        retry_on_conflict(policy, counted, || async {
            let (version, amount) = read(&world, "item").await.expect("an item");
            update(&world, "item", version, amount + 1).await
        })
        .await
        .expect("written");
    };
    futures_util::future::join_all((0..10).map(|_| increment())).await;
    assert_eq!(read(&world, "item").await, Some((11, 10)));
    assert!(conflicts.load(Ordering::SeqCst) > 0, "there were conflicts");
}

#[tokio::test]
async fn a_conflict_that_stays_is_returned_after_the_last_try_and_another_error_at_once() {
    let policy = RetryPolicy { attempts: 3, first_pause: A_MILLISECOND, max_pause: A_MILLISECOND };
    for (error, expected) in [("conflict", 3), ("no such table", 1)] {
        let mut tries = 0;
        let failed: Result<(), _> = retry_on_conflict(
            policy,
            |error| *error == "conflict",
            || {
                tries += 1;
                std::future::ready(Err(error))
            },
        )
        .await;
        assert_eq!((failed, tries), (Err(error), expected));
    }
}

#[tokio::test]
async fn in_a_transaction_the_first_refused_items_own_error_is_raised_and_nothing_is_written() {
    let world = World::start().await;
    for key in ["one", "two", "three"] {
        create(&world, key, 1).await.expect("created");
    }
    let item = |key: &str, version: u64| {
        let guard = Versioned::at(version).clauses();
        let update = Update::builder()
            .table_name(ITEMS)
            .key("pk", s(key))
            .update_expression(format!("SET {}", guard.set))
            .condition_expression(guard.condition)
            .set_expression_attribute_names(Some(guard.names))
            .set_expression_attribute_values(Some(guard.values));
        TransactWriteItem::builder().update(update.build().expect("an update")).build()
    };
    let items = vec![item("one", 1), item("two", 7), item("three", 8)];
    let request = world.engine.client().transact_write_items().set_transact_items(Some(items));
    let error = request.send().await.expect_err("refused");
    let cancelled = Cancellation::of(&error).expect("cancelled");
    assert_eq!(cancelled.first_refused(["one moved", "two moved", "three moved"]), Some("two moved"));
    assert_eq!(cancelled.cause(0), None);
    assert_eq!(cancelled.cause(2), Some(Cause::ConditionFailed { item: None }));
    assert_eq!(read(&world, "one").await, Some((1, 1)));
}

#[tokio::test]
async fn the_versions_attribute_can_be_a_reserved_word() {
    let guard = Versioned::at(3).attribute("COUNTER").clauses();
    assert_eq!(guard.names["#version"], "COUNTER");
    assert_eq!(guard.values[":next_version"], n(4));
}

/// The SDK repeats a request whose response was lost. Only a transaction has a token by which DynamoDB knows the copy.
#[tokio::test]
async fn a_lost_response_makes_an_update_a_conflict_with_itself_and_a_transaction_not() {
    let world = World::start().await;
    create(&world, "item", 1).await.expect("created");
    let lost =
        || Wire::disturbed(|request| if request.number == 1 { Disturbance::LoseResponse } else { Disturbance::None });

    let guard = Versioned::at(1).clauses();
    let wire = lost();
    let request = world.retrying_client_over(&wire).update_item().table_name(ITEMS).key("pk", s("item"));
    let request = request.update_expression(format!("SET {}", guard.set)).condition_expression(guard.condition);
    let request = request.set_expression_attribute_names(Some(guard.names));
    let refused = request.set_expression_attribute_values(Some(guard.values)).send().await.expect_err("refused");
    assert!(is_conflict(&refused));
    assert_eq!(read(&world, "item").await, Some((2, 1)), "but written");

    let guard = Versioned::at(2).clauses();
    let wire = lost();
    let update = Update::builder().table_name(ITEMS).key("pk", s("item"));
    let update = update.update_expression(format!("SET {}", guard.set)).condition_expression(guard.condition);
    let update = update.set_expression_attribute_names(Some(guard.names));
    let update = update.set_expression_attribute_values(Some(guard.values)).build().expect("an update");
    let update = TransactWriteItem::builder().update(update).build();
    let request = world.retrying_client_over(&wire).transact_write_items().transact_items(update);
    request.send().await.expect("written");
    assert_eq!(wire.requests().len(), 2, "the SDK has sent it again");
    assert_eq!(read(&world, "item").await, Some((3, 1)));
}

#[tokio::test]
async fn an_item_that_exists_without_a_version_passes_as_absent() {
    let world = World::start().await;
    world.put(ITEMS, [("pk", s("item")), ("amount", n(1))]).await;
    assert_eq!(create(&world, "item", 2).await.expect("replaced"), 1);
}
