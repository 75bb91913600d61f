//! What `template.yaml` says and what the code does are the same. `make rendered` renders the template to JSON.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

use std::collections::BTreeSet;

use embedded_dynamodb::Engine;
use order_events::EventType;
use serde_json::{Value, json};

const ORDERS: &str = "ftgo-order-history";
const RECORDS: &str = "ftgo-order-history-idempotency";

fn rendered() -> Value {
    serde_json::from_str(include_str!("../../../tests/template/rendered.json")).unwrap()
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
    order_store::table::create_if_missing(&client, ORDERS).await.unwrap();
    idempotency::create_table(&client, RECORDS).await.unwrap();
    assert_eq!(described(&engine, ORDERS).await, table(ORDERS));
    assert_eq!(described(&engine, RECORDS).await, table(RECORDS));
}

#[test]
fn there_is_a_function_a_queue_and_a_dead_letter_queue_for_every_event_type() {
    let rendered = rendered();
    let names = |list: &str, member: &str| -> BTreeSet<String> {
        let all = rendered[list].as_array().unwrap().iter();
        all.map(|one| one[member].as_str().unwrap().to_owned()).collect()
    };
    let types = || EventType::ALL.iter();
    let handlers = types().map(ToString::to_string).chain(["bootstrap".to_owned()]).collect();
    assert_eq!(names("functions", "handler"), handlers);
    let queues =
        types().flat_map(|event_type| [format!("{ORDERS}-{event_type}"), format!("{ORDERS}-{event_type}-dlq")]);
    assert_eq!(names("queues", "name"), queues.collect());
}
