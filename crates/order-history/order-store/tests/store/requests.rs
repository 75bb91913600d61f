//! What an event costs, counted on the wire.
use sample_events::{ORDER_HISTORY_TABLE, of_type, story};

use crate::table::{Table, folded};
use embedded_dynamodb::{Disturbance, Wire};
use order_events::EventType;
use order_store::Applied;

#[test]
fn in_order_each_event_is_one_update_and_no_read() {
    let (table, story, wire) = (Table::create(), story(), Wire::watched());
    let store = table.store_over(&wire);
    for event in &story {
        let applied = table.block_on(store.apply(event)).unwrap();
        assert_eq!(applied, Applied::Written, "{}", event.event_type());
    }
    assert_eq!(wire.count("UpdateItem"), story.len());
    assert_eq!(wire.requests().len(), story.len(), "nothing but updates");
}

#[test]
fn a_late_event_is_at_most_two_updates_and_no_read() {
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
        assert_eq!(wire.requests().len(), updates, "nothing but updates");
    }
}

#[test]
fn a_server_that_hides_the_old_item_is_asked_for_it() {
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
fn a_lost_answer_and_the_sdks_retry_write_once() {
    let table = Table::create();
    let created = &of_type(EventType::OrderCreated);
    let wire = Wire::disturbed(|request| match request.number {
        1 => Disturbance::LoseAnswer,
        _ => Disturbance::None,
    });
    let config = table.engine.config().http_client(wire.clone()).build();
    let store = order_store::OrderStore::new(aws_sdk_dynamodb::Client::from_conf(config), ORDER_HISTORY_TABLE);
    let applied = table.block_on(store.apply(created)).unwrap();
    assert_eq!(applied, Applied::Duplicate, "the retry meets its own first try");
    assert_eq!(wire.count("UpdateItem"), 2);
    let order_id = created.order_id();
    assert_eq!(table.state(&order_id), folded(std::slice::from_ref(created), &order_id));
}
