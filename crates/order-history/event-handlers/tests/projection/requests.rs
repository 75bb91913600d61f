//! The requests to DynamoDB that an event needs.

use embedded_dynamodb::Wire;
use order_events::EventType;
use sample_events::story;

use crate::world::{Batch, World, orders_created};

#[tokio::test]
async fn in_sequence_an_event_needs_one_update_and_two_writes_of_its_record_and_no_read() {
    let (world, wire) = (World::create().await, Wire::watched());
    for event in story() {
        let function = world.function(event.event_type(), &wire);
        let response = function.invoke(&Batch::of_events([&event])).await.unwrap();
        assert_eq!(response.batch_item_failures, []);
    }
    let events = story().len();
    assert_eq!(wire.count("PutItem"), events, "claims");
    assert_eq!(wire.count("UpdateItem"), events, "effects");
    assert_eq!(wire.count("BatchWriteItem"), events, "completions");
    assert_eq!(wire.requests().len(), 3 * events, "and nothing else");
}

#[tokio::test]
async fn the_records_of_a_batch_are_completed_together() {
    let (world, wire) = (World::create().await, Wire::watched());
    let batch = Batch::of_events(&orders_created(10));
    let function = world.function(EventType::OrderCreated, &wire);
    let response = function.invoke(&batch).await.unwrap();
    assert_eq!(response.batch_item_failures, []);
    assert_eq!(wire.count("PutItem"), 10);
    assert_eq!(wire.count("UpdateItem"), 10);
    assert_eq!(wire.count("BatchWriteItem"), 1);
    assert_eq!(wire.requests().len(), 21, "2.1 requests for each event");
}

#[tokio::test]
async fn a_late_event_needs_at_most_two_updates_and_no_read() {
    let world = World::create().await;
    for event in story().iter().rev() {
        let wire = Wire::watched();
        let function = world.function(event.event_type(), &wire);
        let response = function.invoke(&Batch::of_events([event])).await.unwrap();
        assert_eq!(response.batch_item_failures, []);
        let updates = wire.count("UpdateItem");
        assert!(updates <= 2, "{} needed {updates} updates", event.event_type());
        assert_eq!(wire.requests().len(), 2 + updates, "claim, updates, completion");
    }
}

#[tokio::test]
async fn a_duplicate_needs_one_request() {
    let world = World::create().await;
    let batch = Batch::of_events([&story()[0]]);
    for expected in [3, 1, 1] {
        let wire = Wire::watched();
        let function = world.function(EventType::OrderCreated, &wire);
        let response = function.invoke(&batch).await.unwrap();
        assert_eq!(response.batch_item_failures, []);
        assert_eq!(wire.requests().len(), expected);
    }
}
