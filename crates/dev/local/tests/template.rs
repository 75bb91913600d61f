//! The code agrees with `template.yaml` and `payments.yaml`. `make generated` renders the templates to JSON.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

use embedded_dynamodb::Engine;
use local::template::{Payments, Projection, Template};
use order_events::EventType;
use order_store::table::INDEX;
use sample_events::{IDEMPOTENCY_TABLE, ORDER_HISTORY_TABLE};
use serde_json::{Value, json};

fn tables(rendered: &str) -> Vec<Value> {
    let rendered: Value = serde_json::from_str(rendered).unwrap();
    rendered["tables"].as_array().unwrap().clone()
}

fn table(name: &str) -> Value {
    let tables = tables(include_str!("../template.json"));
    tables.into_iter().find(|table| table["TableName"] == name).unwrap()
}

/// The engine's description of a table, with the template's members only.
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
            let mut described = json!({
                "IndexName": index.index_name().unwrap(),
                "KeySchema": key_schema(index.key_schema()),
                "Projection": {"ProjectionType": projection.projection_type().unwrap().as_str()},
            });
            if !projection.non_key_attributes().is_empty() {
                described["Projection"]["NonKeyAttributes"] = json!(projection.non_key_attributes());
            }
            described
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
    if let Some(stream) = table.stream_specification() {
        described["StreamSpecification"] = json!({"StreamViewType": stream.stream_view_type().unwrap().as_str()});
    }
    let ttl = engine.client().describe_time_to_live().table_name(name).send().await.unwrap();
    if let Some(attribute) = ttl.time_to_live_description().and_then(|ttl| ttl.attribute_name()) {
        described["TimeToLiveSpecification"] = json!({"AttributeName": attribute, "Enabled": true});
    }
    described
}

#[tokio::test]
async fn the_code_creates_the_tables_of_the_template() {
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

#[tokio::test]
async fn the_code_creates_the_tables_of_the_payments_template() {
    let engine = Engine::start();
    payment_store::create_tables(&engine.client(), &Payments::read().unwrap().tables().unwrap()).await.unwrap();
    let tables = tables(include_str!("../payments.json"));
    assert_eq!(tables.len(), 4);
    for table in tables {
        let name = table["TableName"].as_str().unwrap();
        assert_eq!(described(&engine, name).await, table, "{name}");
    }
}

#[test]
fn every_mapping_of_payments_refers_to_existing_resources() {
    let payments = Payments::read().unwrap();
    let queues: Vec<_> = payments.queues.iter().map(|queue| queue.name.as_str()).collect();
    for subscription in &payments.subscriptions {
        assert!(queues.contains(&subscription.queue.as_str()), "{subscription:?}");
    }
    for mapping in &payments.queue_mappings {
        assert!(queues.contains(&mapping.queue.as_str()), "{mapping:?}");
        payments.function(&mapping.function).unwrap();
    }
    for mapping in &payments.stream_mappings {
        assert!(queues.contains(&mapping.on_failure_queue.as_str()), "{mapping:?}");
        assert!(mapping.settings.report_batch_item_failures, "the relay reports failed records");
        payments.function(&mapping.function).unwrap();
    }
    for schedule in &payments.schedules {
        payments.function(&schedule.function).unwrap();
    }
    assert_eq!(payments.topic().unwrap(), "domain-events");
    assert_eq!(payments.function(Payments::API).unwrap().binary(), "payment-api");
}

#[test]
fn every_event_type_has_a_queue_and_a_handler_of_its_name() {
    for &event_type in EventType::ALL {
        let projection = Projection::of(event_type).unwrap();
        assert_eq!(projection.handler.handler, event_type.name());
        assert_eq!(projection.queue.name, format!("{ORDER_HISTORY_TABLE}-{event_type}"));
        assert_eq!(projection.subscription.queue, projection.queue.name);
        assert_eq!(projection.queue.redrive.unwrap().dead_letter_queue, projection.dead_letter_queue.name);
        assert_eq!(projection.handler.environment["ORDER_HISTORY_TABLE"], ORDER_HISTORY_TABLE);
        assert_eq!(projection.handler.environment["IDEMPOTENCY_TABLE"], IDEMPOTENCY_TABLE);
    }
}

#[test]
fn the_http_api_is_parsed() {
    let http = Template::read().unwrap().http;
    assert_eq!(http.query_api.binary(), "query-api");
    assert_eq!(http.query_api.environment["ORDER_HISTORY_TABLE"], ORDER_HISTORY_TABLE);
    let route = http.routes.iter().find(|route| route.key == "ANY /orders/{orderId+}").unwrap();
    assert_eq!(route.authorization, "JWT");
    for page in ["ANY /", "ANY /assets/{file+}", "ANY /config.json"] {
        let route = http.routes.iter().find(|route| route.key == page).unwrap();
        assert_eq!(route.authorization, "NONE", "{page}");
    }
}
