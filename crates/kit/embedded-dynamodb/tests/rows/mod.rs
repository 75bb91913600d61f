//! A table with a stream, and its rows.

use aws_sdk_dynamodb::types::AttributeValue::S;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, StreamSpecification,
    StreamViewType,
};
use embedded_dynamodb::Engine;

pub(crate) async fn create(engine: &Engine, table: &str) {
    let key = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash).build().unwrap();
    let id = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S);
    let stream = StreamSpecification::builder().stream_enabled(true).stream_view_type(StreamViewType::NewImage);
    let client = engine.client();
    let table = client.create_table().table_name(table).billing_mode(BillingMode::PayPerRequest);
    let table = table.key_schema(key).attribute_definitions(id.build().unwrap());
    table.stream_specification(stream.build().unwrap()).send().await.unwrap();
}

pub(crate) async fn put(engine: &Engine, key: &str) {
    engine.client().put_item().table_name("rows").item("id", S(key.to_owned())).send().await.unwrap();
}
