//! The stream of a table.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

mod rows;

use embedded_dynamodb::Engine;
use rusqlite::Connection;
use uuid::Uuid;

use crate::rows::put;

#[tokio::test]
async fn records_are_read_on_from_a_number_also_after_a_restart() {
    let path = std::env::temp_dir().join(format!("embedded-dynamodb-{}.sqlite", Uuid::new_v4()));
    let engine = Engine::open(&path, ([127, 0, 0, 1], 0).into()).unwrap();
    rows::create(&engine, "rows").await;
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

#[tokio::test]
async fn a_stream_has_the_name_of_its_table() {
    let engine = Engine::start();
    for table in ["other", "rows", "rows-2"] {
        rows::create(&engine, table).await;
    }
    let stream = engine.stream("rows").unwrap();
    assert!(stream.arn().starts_with("arn:aws:dynamodb:") && stream.arn().contains(":table/rows/stream/"));
    assert!(stream.shard_id().starts_with("shardId-"), "{}", stream.shard_id());
    assert_eq!(engine.stream("none").unwrap_err().to_string(), "table none has no stream");
}
