//! What `template.yaml` says and what the code does are the same. `make generated` renders the template to JSON.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

use embedded_dynamodb::Engine;
use local::template::{Projection, Template};
use order_events::EventType;
use order_store::table::INDEX;
use sample_events::{IDEMPOTENCY_TABLE, ORDER_HISTORY_TABLE};
use serde_json::{Value, json};

fn rendered() -> Value {
    serde_json::from_str(include_str!("../template.json")).unwrap()
}

fn table(name: &str) -> Value {
    rendered()["tables"].as_array().unwrap().iter().find(|table| table["TableName"] == name).unwrap().clone()
}

/// A table as the engine has it, in the members that the template has too.
async fn described(engine: &Engine, name: &str) -> Value {
    let table = engine.client().describe_table().table_name(name).send().await.unwrap().table.unwrap();
    let key_schema = |keys: &[aws_sdk_dynamodb::types::KeySchemaElement]| -> Value {
        keys.iter()
            .map(|key| json!({"AttributeName": key.attribute_name(), "KeyType": key.key_type().as_str()}))
            .collect()
    };
    let definitions: Value = table
        .attribute_definitions()
        .iter()
        .map(|definition| {
            let attribute_type = definition.attribute_type().as_str();
            json!({"AttributeName": definition.attribute_name(), "AttributeType": attribute_type})
        })
        .collect();
    let indexes: Vec<Value> = table
        .global_secondary_indexes()
        .iter()
        .map(|index| {
            let projection = index.projection().unwrap();
            json!({
                "IndexName": index.index_name().unwrap(),
                "KeySchema": key_schema(index.key_schema()),
                "Projection": {
                    "ProjectionType": projection.projection_type().unwrap().as_str(),
                    "NonKeyAttributes": projection.non_key_attributes(),
                },
            })
        })
        .collect();
    let billing_mode = table.billing_mode_summary().and_then(|summary| summary.billing_mode()).unwrap().as_str();
    let mut described = json!({
        "TableName": name,
        "BillingMode": billing_mode,
        "AttributeDefinitions": definitions,
        "KeySchema": key_schema(table.key_schema()),
    });
    if !indexes.is_empty() {
        described["GlobalSecondaryIndexes"] = indexes.into();
    }
    let ttl = engine.client().describe_time_to_live().table_name(name).send().await.unwrap();
    if let Some(attribute) = ttl.time_to_live_description().and_then(|ttl| ttl.attribute_name()) {
        described["TimeToLiveSpecification"] = json!({"AttributeName": attribute, "Enabled": true});
    }
    described
}

#[tokio::test]
async fn the_tables_are_those_that_the_code_creates() {
    let engine = Engine::start();
    let client = engine.client();
    order_store::table::create_if_missing(&client, ORDER_HISTORY_TABLE).await.unwrap();
    idempotency::create_table(&client, IDEMPOTENCY_TABLE).await.unwrap();
    let mut orders = table(ORDER_HISTORY_TABLE);
    // While one index replaces another, the template has both.
    orders["GlobalSecondaryIndexes"].as_array_mut().unwrap().retain(|index| index["IndexName"] == INDEX);
    assert_eq!(described(&engine, ORDER_HISTORY_TABLE).await, orders);
    assert_eq!(described(&engine, IDEMPOTENCY_TABLE).await, table(IDEMPOTENCY_TABLE));
}

#[test]
fn every_event_type_has_a_queue_and_a_handler_of_its_name() {
    for &event_type in EventType::ALL {
        let projection = Projection::of(event_type).unwrap();
        assert_eq!(projection.handler.handler, event_type.name());
        assert_eq!(projection.queue.name, format!("{ORDER_HISTORY_TABLE}-{event_type}"));
        assert_eq!(projection.queue.redrive.unwrap().dead_letter_queue, projection.dead_letter_queue.name);
        assert_eq!(projection.handler.environment["ORDER_HISTORY_TABLE"], ORDER_HISTORY_TABLE);
        assert_eq!(projection.handler.environment["IDEMPOTENCY_TABLE"], IDEMPOTENCY_TABLE);
    }
}

#[test]
fn the_http_api_is_read() {
    let http = Template::read().unwrap().http;
    assert_eq!(http.query_api.binary(), "query-api");
    assert_eq!(http.query_api.environment["ORDER_HISTORY_TABLE"], ORDER_HISTORY_TABLE);
    let route = http.routes.iter().find(|route| route.key == "ANY /orders/{orderId+}").unwrap();
    assert_eq!(route.authorization, "JWT");
}
