//! The stream of a table.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

use aws_sdk_dynamodb::types::AttributeValue::S;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, StreamSpecification,
    StreamViewType,
};
use embedded_dynamodb::Engine;
use rusqlite::Connection;
use uuid::Uuid;

#[tokio::test]
async fn records_are_read_on_from_a_number_also_after_a_restart() {
    let path = std::env::temp_dir().join(format!("embedded-dynamodb-{}.sqlite", Uuid::new_v4()));
    let engine = Engine::open(&path, ([127, 0, 0, 1], 0).into()).unwrap();
    create(&engine).await;
    put(&engine, "a").await;
    put(&engine, "b").await;
    let stream = engine.stream("rows").unwrap();
    let records = stream.records(None, 10).unwrap();
    let number = |place: usize| records[place]["dynamodb"]["SequenceNumber"].as_str().unwrap();
    assert_eq!((records.len(), stream.latest().unwrap().as_deref()), (2, Some(number(1))));
    assert_eq!(stream.records(None, 1).unwrap(), records[..1]);
    assert_eq!(stream.records(Some(number(0)), 10).unwrap(), records[1..]);

    drop((stream, engine));
    let engine = Engine::open(&path, ([127, 0, 0, 1], 0).into()).unwrap();
    put(&engine, "c").await;
    let stream = engine.stream("rows").unwrap();
    let later = stream.records(Some(number(1)), 10).unwrap();
    assert_eq!(later[0]["dynamodb"]["Keys"]["id"]["S"], "c");
    assert_eq!(later.len(), 1);

    // The engine's own queries, as of dynoxide 3.2.
    let file = Connection::open(&path).unwrap();
    for query in [
        "SELECT COALESCE(MAX(CAST(sequence_number AS INTEGER)), 0) + 1 FROM _stream_records WHERE table_name = 'rows'",
        "SELECT * FROM _stream_records WHERE table_name = 'rows' AND shard_id = 's' AND CAST(sequence_number AS INTEGER) > 1 \
         ORDER BY CAST(sequence_number AS INTEGER) ASC LIMIT 10",
    ] {
        let plan: String = file.query_row(&format!("EXPLAIN QUERY PLAN {query}"), (), |row| row.get("detail")).unwrap();
        assert!(plan.contains("INDEX _stream_records_by_sequence_number"), "{query}: {plan}");
    }
    drop((stream, engine, file));
    std::fs::remove_file(path).unwrap();
}

async fn create(engine: &Engine) {
    let key = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash).build().unwrap();
    let id = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S);
    let stream = StreamSpecification::builder().stream_enabled(true).stream_view_type(StreamViewType::NewImage);
    let client = engine.client();
    let table = client.create_table().table_name("rows").billing_mode(BillingMode::PayPerRequest);
    let table = table.key_schema(key).attribute_definitions(id.build().unwrap());
    table.stream_specification(stream.build().unwrap()).send().await.unwrap();
}

async fn put(engine: &Engine, key: &str) {
    engine.client().put_item().table_name("rows").item("id", S(key.to_owned())).send().await.unwrap();
}
