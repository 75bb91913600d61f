//! Every error has its own code.
use sample_events::{ORDER_HISTORY_TABLE, of_type, story};

use crate::table::Table;
use aws_sdk_dynamodb::types::AttributeValue;
use embedded_dynamodb::{Disturbance, Wire};
use order_events::payload::RevisedLineItem;
use order_events::{Event, EventType, Payload};
use order_store::{Error, OrderStore};

/// Applies `event` to an item that has `attribute` with `value`.
fn apply_onto(table: &Table, event: &Event, attribute: &str, value: AttributeValue) -> Error {
    let put = table
        .client
        .put_item()
        .table_name(ORDER_HISTORY_TABLE)
        .item("orderId", AttributeValue::S(event.order_id().to_string()))
        .item(attribute, value);
    table.block_on(put.send()).unwrap();
    table.block_on(table.store().apply(event)).unwrap_err()
}

#[test]
fn a_missing_table_has_its_own_error() {
    let (table, story) = (Table::create(), story());
    let store = OrderStore::new(table.client.clone(), "no-such-table");
    let error = table.block_on(store.apply(&story[0])).unwrap_err();
    assert!(matches!(error, Error::TableMissing { .. }), "{error:?}");
    assert!(!error.is_retryable());
    assert!(error.to_string().contains("`no-such-table`"));
}

#[test]
fn an_item_that_would_be_too_large_is_not_retryable() {
    let table = Table::create();
    let mut revised = of_type(EventType::OrderRevised);
    let Payload::OrderRevised(payload) = &mut revised.payload else {
        unreachable!("the story's event has its own type's payload");
    };
    payload.order_revision.revised_order_line_items =
        (0..5_000).map(|n| RevisedLineItem { menu_item_id: format!("{n:0>100}"), quantity: 1 }).collect();
    let error = table.block_on(table.store().apply(&revised)).unwrap_err();
    assert!(matches!(error, Error::ItemTooLarge(_)), "{error:?}");
    assert!(!error.is_retryable());
}

#[test]
fn dynamodb_refuses_a_set_of_another_type() {
    let (table, story) = (Table::create(), story());
    let number = AttributeValue::N("1".to_owned());
    let error = apply_onto(&table, &story[0], "timeline", number);
    assert!(matches!(error, Error::WrongType(_)), "{error:?}");
    assert!(!error.is_retryable());
}

#[test]
fn the_store_reports_a_watermark_of_another_type() {
    let (table, story) = (Table::create(), story());
    for value in [AttributeValue::Bool(true), AttributeValue::S("garbage".to_owned())] {
        let error = apply_onto(&table, &story[0], "ws", value);
        assert!(matches!(error, Error::Corrupt(_)), "{error:?}");
        assert!(!error.is_retryable());
        assert!(error.to_string().contains("`ws`"), "{error}");
    }
}

#[test]
fn a_request_without_a_response_is_retryable() {
    let (table, story) = (Table::create(), story());
    for disturbance in [Disturbance::FailBefore, Disturbance::LoseResponse] {
        let store = table.store_over(&Wire::disturbed(move |_| disturbance));
        let error = table.block_on(store.apply(&story[0])).unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
        assert!(error.is_retryable());
    }
}

#[test]
fn server_errors_are_retryable_and_client_errors_are_not() {
    let (table, story) = (Table::create(), story());
    let responses = [
        (500, r#"{"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError"}"#, "unavailable"),
        (503, "<html>", "unavailable"),
        (400, r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException"}"#, "unavailable"),
        (400, r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no"}"#, "refused"),
        (
            400,
            r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"Expression size has exceeded"}"#,
            "refused",
        ),
    ];
    for (status, body, code) in responses {
        let store = table.store_over(&Wire::disturbed(move |_| Disturbance::Respond(status, body)));
        let error = table.block_on(store.apply(&story[0])).unwrap_err();
        assert_eq!(error.code(), code, "{body}");
        assert_eq!(error.is_retryable(), code == "unavailable", "{body}");
    }
}

#[test]
fn throttling_is_retryable() {
    let (table, story) = (Table::create(), story());
    let store = table.store_over(&Wire::disturbed(|_| Disturbance::Throttle));
    let error = table.block_on(store.apply(&story[0])).unwrap_err();
    assert!(matches!(error, Error::Throttled(_)), "{error:?}");
    assert!(error.is_retryable());
}

#[test]
fn an_unknown_order_is_none() {
    let table = Table::create();
    assert_eq!(table.view(&"1".parse().unwrap()), None);
}
