//! The requests to DynamoDB that an event needs.
use sample_events::{ORDER_HISTORY_TABLE, of_type, story};

use crate::table::{Table, folded};
use embedded_dynamodb::{Disturbance, Wire};
use order_events::EventType;
use order_store::Applied;

#[test]
fn in_sequence_each_event_needs_one_update_and_no_read() {
    let (table, story, wire) = (Table::create(), story(), Wire::watched());
    let store = table.store_over(&wire);
    for event in &story {
        let applied = table.block_on(store.apply(event)).unwrap();
        assert_eq!(applied, Applied::Written, "{}", event.event_type());
    }
    assert_eq!(wire.count("UpdateItem"), story.len());
    assert_eq!(wire.requests().len(), story.len(), "only updates");
}

#[test]
fn a_late_event_needs_at_most_two_updates_and_no_read() {
    let (table, story) = (Table::create(), story());
    for event in story.iter().rev() {
        let wire = Wire::watched();
        let store = table.store_over(&wire);
        let applied = table.block_on(store.apply(event)).unwrap();
        let updates = match applied {
            Applied::Written | Applied::Duplicate => 1,
            Applied::WrittenLate => 2,
        };
        assert_eq!(wire.count("UpdateItem"), updates, "{}", event.event_type());
        assert_eq!(wire.requests().len(), updates, "only updates");
    }
}

#[test]
fn the_item_is_read_if_the_server_does_not_return_the_old_one() {
    let (table, story) = (Table::create(), story());
    let wire = Wire::disturbed(|_| Disturbance::HideOldItem);
    let store = table.store_over(&wire);
    let order_id = story[0].order_id();
    for event in story.iter().rev().chain(&story) {
        let _ = table.block_on(store.apply(event)).unwrap();
    }
    assert!(wire.count("GetItem") > 0, "the old item was hidden");
    assert_eq!(table.state(&order_id), folded(&story, &order_id));
}

#[test]
fn a_retry_by_the_sdk_after_a_lost_response_writes_once() {
    let table = Table::create();
    let created = &of_type(EventType::OrderCreated);
    let wire = Wire::disturbed(|request| match request.number {
        1 => Disturbance::LoseResponse,
        _ => Disturbance::None,
    });
    let config = table.engine.config().http_client(wire.clone()).build();
    let store = order_store::OrderStore::new(aws_sdk_dynamodb::Client::from_conf(config), ORDER_HISTORY_TABLE);
    let applied = table.block_on(store.apply(created)).unwrap();
    assert_eq!(applied, Applied::Duplicate, "the retry finds the effect of the first attempt");
    assert_eq!(wire.count("UpdateItem"), 2);
    let order_id = created.order_id();
    assert_eq!(table.state(&order_id), folded(std::slice::from_ref(created), &order_id));
}
