//! Optimistic locking: every write checks the version that was read.

use payment_intents::PaymentIntentId;
use payment_store::{Guard, ReadItem, Write};

use crate::world::{World, amount, at, charged_as, declined, new_intent, no_guard, refused, tables};

#[tokio::test]
async fn an_unknown_intent_is_not_found() {
    let world = World::create().await;
    assert_eq!(world.find(PaymentIntentId::random()).await, None);
    assert_eq!(world.store.find_guard(&"99".parse().unwrap()).await.unwrap(), Guard::default());
}

#[tokio::test]
async fn an_intent_can_be_stored_and_read_in_every_state() {
    let world = World::create().await;
    let stored = [
        world.created("1").await,
        world.requested("2").await,
        world.settled("3", charged_as("ch_1")).await,
        world.settled("4", declined()).await,
    ];
    for found in stored {
        assert_eq!(world.find(found.intent.id()).await, Some(found));
    }
}

#[tokio::test]
async fn a_new_intent_with_an_existing_id_is_refused() {
    let world = World::create().await;
    let new = new_intent("99");
    world.commit(&new, ReadItem::Guard(&no_guard())).await.unwrap();
    let mut again = new.clone();
    again.after = new.after.change_amount(amount(1), at(0)).unwrap().after;
    assert_eq!(refused(world.commit(&again, ReadItem::Guard(&no_guard())).await), Write::Intent);
    assert_eq!(world.find(new.after.id()).await.unwrap().intent, new.after);
}

#[tokio::test]
async fn an_update_of_an_unknown_intent_is_refused_and_creates_nothing() {
    let world = World::create().await;
    let elsewhere = World::create().await.created("99").await;
    let change = elsewhere.intent.change_amount(amount(1), at(0)).unwrap();
    assert_eq!(refused(world.commit(&change, ReadItem::Intent(&elsewhere)).await), Write::Intent);
    assert!(world.scan(&tables().payments).await.is_empty());
}

#[tokio::test]
async fn an_update_is_stored() {
    let world = World::create().await;
    let created = world.created("99").await;
    let change = created.intent.change_amount(amount(1), at(5)).unwrap();
    let changed = world.commit(&change, ReadItem::Intent(&created)).await.unwrap();
    assert_eq!(changed.intent.version(), 2);
    assert_eq!(world.find(created.intent.id()).await, Some(changed));
}

#[tokio::test]
async fn of_two_concurrent_updates_one_is_refused() {
    let world = World::create().await;
    let created = world.created("99").await;
    let one = created.intent.change_amount(amount(1), at(1)).unwrap();
    let other = created.intent.change_amount(amount(2), at(2)).unwrap();
    world.commit(&one, ReadItem::Intent(&created)).await.unwrap();
    assert_eq!(refused(world.commit(&other, ReadItem::Intent(&created)).await), Write::Intent);
    assert_eq!(world.find(created.intent.id()).await.unwrap().intent.amount(), amount(1));
}

#[tokio::test]
async fn an_update_keeps_attributes_of_a_later_version() {
    let world = World::create().await;
    let created = world.created("99").await;
    let client = world.engine.client();
    client
        .update_item()
        .table_name(&tables().payments)
        .key("pk", aws_sdk_dynamodb::types::AttributeValue::S(format!("PaymentIntent#{}", created.intent.id())))
        .update_expression("SET ofTomorrow = :x")
        .expression_attribute_values(":x", aws_sdk_dynamodb::types::AttributeValue::S("kept".to_owned()))
        .send()
        .await
        .unwrap();
    let change = created.intent.change_amount(amount(1), at(5)).unwrap();
    world.commit(&change, ReadItem::Intent(&created)).await.unwrap();
    let items = world.scan(&tables().payments).await;
    assert!(items.iter().any(|item| item.contains_key("ofTomorrow")));
}

#[tokio::test]
async fn a_second_open_intent_of_an_order_is_refused() {
    let world = World::create().await;
    let first = world.created("99").await;
    assert_eq!(refused(world.commit(&new_intent("99"), ReadItem::Guard(&no_guard())).await), Write::Guard);
    let guard = world.store.find_guard(&"99".parse().unwrap()).await.unwrap();
    assert_eq!((guard.open_intent, guard.paid_by), (Some(first.intent.id()), None));
}

#[tokio::test]
async fn after_a_failed_charge_the_order_accepts_a_new_intent_and_after_a_payment_it_does_not() {
    let world = World::create().await;
    let failed = world.settled("99", declined()).await;
    let guard = world.store.find_guard(&"99".parse().unwrap()).await.unwrap();
    assert_eq!((guard.open_intent, guard.paid_by, guard.last_event_id), (None, None, failed.last_event_id));
    // A guard that was read before the last event is out of date.
    assert_eq!(refused(world.commit(&new_intent("99"), ReadItem::Guard(&no_guard())).await), Write::Guard);

    let paid = world.settled("99", charged_as("ch_1")).await;
    let guard = world.store.find_guard(&"99".parse().unwrap()).await.unwrap();
    assert_eq!((guard.open_intent, guard.paid_by), (None, Some(paid.intent.id())));
    assert_eq!(refused(world.commit(&new_intent("99"), ReadItem::Guard(&guard)).await), Write::Guard);
}
