//! The function's responses to batches.

use std::time::Duration;

use embedded_dynamodb::{Disturbance, Wire};
use event_handlers::BatchFailed;
use order_events::{Event, EventType, Payload};
use order_view::fold;
use sample_events::story;

use crate::world::{Batch, World, failures, orders_created};

#[tokio::test]
async fn a_bad_message_does_not_affect_the_others() {
    let world = World::create().await;
    let good = orders_created(2);
    let batch = Batch::of([
        good[0].to_message().unwrap(),
        "not JSON".to_owned(),
        good[1].to_message().unwrap(),
        story()[1].to_message().unwrap(),
    ]);
    let function = world.function(EventType::OrderCreated, &Wire::watched());
    let response = function.invoke(&batch).await.unwrap();
    assert_eq!(failures(&response), ["message-1", "message-3"]);
    for (order_id, state) in fold(&good).unwrap().states {
        assert_eq!(world.state(&order_id.parse().unwrap()).await, Some(state));
    }
}

#[tokio::test]
async fn a_batch_in_which_every_message_failed_is_an_error() {
    let world = World::create().await;
    let batch = Batch::of(["{}".to_owned(), story()[1].to_message().unwrap()]);
    let function = world.function(EventType::OrderCreated, &Wire::watched());
    let failed = function.invoke(&batch).await.unwrap_err();
    let reasons = vec!["malformed_envelope", "wrong_event_type"];
    assert_eq!(failed, BatchFailed { messages: 2, reasons });
}

#[tokio::test]
async fn an_empty_batch_succeeds() {
    let world = World::create().await;
    let function = world.function(EventType::OrderCreated, &Wire::watched());
    let response = function.invoke(&Batch::default()).await.unwrap();
    assert_eq!(response.batch_item_failures, []);
}

#[tokio::test]
async fn an_event_that_is_twice_in_a_batch_is_projected_once_and_acknowledged_twice() {
    let (world, wire) = (World::create().await, Wire::watched());
    let events = orders_created(1);
    let batch = Batch::of_events([&events[0], &events[0]]);
    let response = world.function(EventType::OrderCreated, &wire).invoke(&batch).await.unwrap();
    assert_eq!(response.batch_item_failures, []);
    assert_eq!(wire.count("UpdateItem"), 1);
}

#[tokio::test]
async fn an_event_with_a_known_id_and_another_payload_is_refused() {
    let world = World::create().await;
    let event = orders_created(1).remove(0);
    let function = world.function(EventType::OrderCreated, &Wire::watched());
    let _ = function.invoke(&Batch::of_events([&event])).await.unwrap();

    let forged = renamed(&event, "Somebody else's");
    let failed = function.invoke(&Batch::of_events([&forged])).await.unwrap_err();
    assert_eq!(failed.reasons, ["payload_mismatch"]);

    let response = function.invoke(&Batch::of_events([&forged, &event])).await.unwrap();
    assert_eq!(failures(&response), ["message-0"]);
    let order_id = event.order_id();
    assert_eq!(world.state(&order_id).await, fold([&event]).unwrap().states.remove(order_id.as_str()));
}

#[tokio::test]
async fn an_event_with_another_payload_does_not_take_over_the_claim_of_a_crashed_invocation() {
    let world = World::create().await;
    let event = orders_created(1).remove(0);
    let forged = renamed(&event, "Somebody else's");
    // The claim is stored. The effect and the release of the claim are not.
    let crashing = Wire::disturbed(|request| match request.operation.as_str() {
        "PutItem" => Disturbance::None,
        _ => Disturbance::FailBefore,
    });
    let _ = world.function(EventType::OrderCreated, &crashing).invoke(&Batch::of_events([&event])).await.unwrap_err();
    world.expire_claims();

    let function = world.function(EventType::OrderCreated, &Wire::watched());
    let failed = function.invoke(&Batch::of_events([&forged])).await.unwrap_err();
    assert_eq!(failed.reasons, ["payload_mismatch"]);
    let response = function.invoke(&Batch::of_events([&event])).await.unwrap();
    assert_eq!(response.batch_item_failures, []);
    let order_id = event.order_id();
    assert_eq!(world.state(&order_id).await, fold([&event]).unwrap().states.remove(order_id.as_str()));
}

#[tokio::test]
async fn after_a_failed_update_the_claim_is_released() {
    let world = World::create().await;
    let batch = Batch::of_events(&orders_created(1));
    let wire = Wire::disturbed(|request| match request.operation.as_str() {
        "UpdateItem" => Disturbance::Throttle,
        _ => Disturbance::None,
    });
    let failed = world.function(EventType::OrderCreated, &wire).invoke(&batch).await.unwrap_err();
    assert_eq!(failed.reasons, ["throttled"]);

    // Now, before the claim would have expired.
    let function = world.function(EventType::OrderCreated, &Wire::watched());
    let response = function.invoke(&batch).await.unwrap();
    assert_eq!(response.batch_item_failures, []);
}

#[tokio::test]
async fn messages_for_which_no_time_is_left_are_delivered_again() {
    let (world, wire) = (World::create().await, Wire::watched());
    let batch = Batch::of_events(&orders_created(3));
    let function = world.function(EventType::OrderCreated, &wire);
    let failed = function.invoke_within(&batch, Duration::ZERO).await.unwrap_err();
    assert_eq!(failed.reasons, ["out_of_time"]);

    world.expire_claims();
    let response = function.invoke(&batch).await.unwrap();
    assert_eq!(response.batch_item_failures, []);
}

#[tokio::test]
async fn a_second_view_gets_the_same_events_although_the_first_view_has_processed_them() {
    let world = World::create().await;
    let events = orders_created(1);
    let batch = Batch::of_events(&events);
    let (first, second) = (Wire::watched(), Wire::watched());
    let _ = world.function(EventType::OrderCreated, &first).invoke(&batch).await.unwrap();
    let _ = world.function_of_second_view(EventType::OrderCreated, &second).invoke(&batch).await.unwrap();
    let order_id = events[0].order_id();
    assert!(world.state(&order_id).await.is_some());
    assert_eq!(world.second_state(&order_id).await, world.state(&order_id).await);
}

#[tokio::test]
async fn the_messages_of_a_batch_are_processed_concurrently_up_to_a_limit() {
    let (world, wire) = (World::create().await, Wire::watched());
    let batch = Batch::of_events(&orders_created(200));
    let response = world.function(EventType::OrderCreated, &wire).invoke(&batch).await.unwrap();
    assert_eq!(response.batch_item_failures, []);
    let most = wire.most_in_flight();
    assert!((8..=32).contains(&most), "{most} requests at the same time");
}

#[tokio::test]
async fn messages_that_are_hard_to_parse_do_not_affect_the_others() {
    let world = World::create().await;
    let mut bodies: Vec<_> = orders_created(2).iter().map(|event| event.to_message().unwrap()).collect();
    let bad = [
        r#"{"payload":"{}","headers":{"ID":"0000000000000001-0000000000000001","DATE":"Fri, 31 Dec 9999 23:59:59 -0100",
            "event-type":"OrderCreated","event-aggregate-type":"Order","event-aggregate-id":"1"}}"#.to_owned(),
        "[".repeat(100_000),
        format!("{{\"headers\":{}", "[".repeat(100_000)),
        "\u{0}".to_owned(),
    ];
    bodies.extend(bad);
    let function = world.function(EventType::OrderCreated, &Wire::watched());
    let response = function.invoke(&Batch::of(bodies)).await.unwrap();
    assert_eq!(failures(&response), ["message-2", "message-3", "message-4", "message-5"]);
}

fn renamed(event: &Event, restaurant_name: &str) -> Event {
    let mut event = event.clone();
    let Payload::OrderCreated(payload) = &mut event.payload else {
        unreachable!("the story begins with OrderCreated");
    };
    restaurant_name.clone_into(&mut payload.restaurant_name);
    event
}
