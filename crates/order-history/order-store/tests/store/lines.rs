//! The lines of DynamoDB JSON are equal to the items in the table.

use aws_sdk_dynamodb::types::AttributeValue;
use order_events::{Event, OrderId};
use order_view::{VIEW, fold};
use projection::dynamodb::{Item, read_item};
use projection::{Found, read_line, write_line};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sample_events::{ORDER_HISTORY_TABLE, arbitrary, of_order, story};
use serde_json::Value;

use crate::table::{Table, folded};

fn line(events: &[Event], order_id: &OrderId) -> String {
    let mut line = Vec::new();
    write_line(&VIEW, order_id.as_str(), &folded(events, order_id).unwrap(), &mut line);
    String::from_utf8(line).unwrap()
}

/// The item of a line, read by independent code, with sorted sets.
fn item(line: &str) -> Item {
    let line: Value = serde_json::from_str(line).unwrap();
    let item = line["Item"].as_object().unwrap();
    sorted(item.iter().map(|(name, value)| (name.clone(), attribute_value(value))).collect())
}

fn attribute_value(typed: &Value) -> AttributeValue {
    let (kind, value) = typed.as_object().and_then(|typed| typed.iter().next()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    match kind.as_str() {
        "S" => AttributeValue::S(text(value)),
        "N" => AttributeValue::N(text(value)),
        "NULL" => AttributeValue::Null(true),
        "SS" => AttributeValue::Ss(value.as_array().unwrap().iter().map(text).collect()),
        "L" => AttributeValue::L(value.as_array().unwrap().iter().map(attribute_value).collect()),
        "M" => {
            let members = value.as_object().unwrap().iter();
            AttributeValue::M(members.map(|(name, value)| (name.clone(), attribute_value(value))).collect())
        }
        other => panic!("no order has the type {other}"),
    }
}

fn sorted(mut item: Item) -> Item {
    for value in item.values_mut() {
        if let AttributeValue::Ss(texts) = value {
            texts.sort_unstable();
        }
    }
    item
}

fn stored(table: &Table, order_id: &OrderId) -> Item {
    let key = AttributeValue::S(order_id.to_string());
    let get = table.client.get_item().table_name(ORDER_HISTORY_TABLE).key("orderId", key).consistent_read(true);
    sorted(table.block_on(get.send()).unwrap().item.unwrap())
}

/// Each event of the story alone, all of them together, and random histories.
#[test]
fn the_line_of_an_order_is_equal_to_its_item_and_can_be_read() {
    let (table, story) = (Table::create(), story());
    let check = |events: &[Event], order_id: &OrderId| {
        table.deliver(events);
        let line = line(events, order_id);
        let (key, found) = read_line(&VIEW, line.as_bytes()).unwrap();
        assert_eq!((key.as_str(), &item(&line)), (order_id.as_str(), &stored(&table, order_id)));
        assert_eq!(found, Found { state: table.state(order_id).unwrap(), unreadable: vec![] });

        table.clear(order_id);
        let put = table.client.put_item().table_name(ORDER_HISTORY_TABLE).set_item(Some(item(&line)));
        table.block_on(put.send()).unwrap();
        assert_eq!(read_item(&VIEW, stored(&table, order_id)).state, found.state, "as after an import");
    };
    for (place, event) in story.iter().enumerate() {
        let order_id = OrderId::parse(format!("alone-{place}")).unwrap();
        check(&[of_order(event, &order_id)], &order_id);
    }
    check(&story, &story[0].order_id());

    let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    let order_id = "99".parse().unwrap();
    let histories = arbitrary(25).prop_filter("an order without events has no item", |events| !events.is_empty());
    runner
        .run(&histories, |events| {
            table.clear(&order_id);
            check(&events, &order_id);
            Ok(())
        })
        .unwrap();
}

/// The line does not depend on the sequence of the events.
#[test]
fn a_line_is_the_same_text_for_any_sequence_of_the_events() {
    let (mut story, order_id) = (story(), story()[0].order_id());
    let expected = line(&story, &order_id);
    story.reverse();
    assert_eq!(line(&story, &order_id), expected);
    assert!(fold(&story).unwrap().contradictions.is_empty());
}
