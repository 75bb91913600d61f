//! From the stream to the publisher, with nothing wrong about the rows themselves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use embedded_dynamodb::{Disturbance, Wire};
use outbox::{Error, EventRow, Publisher, StreamBatch};
use serde_json::json;

use crate::world::{Fault, Log, TABLE, World, batch, metric, s, sequence_number};

#[tokio::test]
async fn a_relayed_insert_is_published_and_its_row_deleted() {
    let world = World::start().await;
    let row = world.row("1", 1);
    world.commit(std::slice::from_ref(&row)).await;
    let relayed = world.relay().handle(&world.stream().await, world.later()).await;
    assert_eq!(world.recorder.rows(), [row]);
    assert!(world.left().await.is_empty());
    assert_eq!((relayed.published, relayed.retry_from.as_ref()), (1, None));
    assert_eq!(metric(&relayed.metrics(), "Published"), 1);
    assert_eq!(serde_json::to_value(relayed.response()).expect("JSON"), json!({"batchItemFailures": []}));
}

#[tokio::test]
async fn events_are_published_in_the_order_of_the_stream() {
    let world = World::start().await;
    let committed = world.commit_some(25).await;
    let relayed = world.relay().handle(&world.stream().await, world.later()).await;
    assert_eq!(world.recorder.event_ids(), committed);
    assert_eq!(relayed.published, 25);
    assert!(world.left().await.is_empty());
}

#[tokio::test]
async fn the_same_insert_twice_is_published_once_more_at_most() {
    let world = World::start().await;
    world.commit_some(3).await;
    let stream = world.stream().await;
    let relay = world.relay();
    for _ in 0..2 {
        let relayed = relay.handle(&stream, world.later()).await;
        assert_eq!((relayed.published, relayed.undeleted), (3, 0), "to delete twice is harmless");
    }
    assert!(world.recorder.counts().values().all(|count| *count == 2), "{:?}", world.recorder.counts());
}

#[tokio::test]
async fn the_same_insert_twice_in_one_batch_is_published_once() {
    let world = World::start().await;
    world.commit_some(3).await;
    let records = world.records().await;
    let relayed = world.relay().handle(&batch(&[records.clone(), records].concat()), world.later()).await;
    assert_eq!((relayed.published, relayed.skipped, relayed.undeleted), (3, 3, 0));
    assert!(world.left().await.is_empty());
}

#[tokio::test]
async fn other_records_are_skipped() {
    let world = World::start().await;
    world.commit_some(1).await;
    let change = world.engine.client().update_item().table_name(TABLE);
    let change =
        change.key("pk", s("Payment#0000")).key("sk", crate::world::n(1)).update_expression("SET note = :note");
    change.expression_attribute_values(":note", s("by hand")).send().await.expect("a change");
    let relay = world.relay();
    let first = relay.handle(&world.stream().await, world.later()).await;
    assert_eq!((first.published, first.skipped), (1, 1), "an insert and a change");
    // Now the stream has the removal too, which is the relay's own doing.
    let records = world.records().await;
    let names: Vec<_> = records.iter().map(|record| record["eventName"].as_str().expect("a name")).collect();
    assert_eq!(names, ["INSERT", "MODIFY", "REMOVE"]);
    let second = relay.handle(&batch(&records[1..]), world.later()).await;
    assert_eq!((second.published, second.skipped, second.poison), (0, 2, 0));
    assert_eq!(second.retry_from, None);
    assert_eq!(world.recorder.counts(), BTreeMap::from([("0000-1".to_owned(), 1)]));
}

#[tokio::test]
async fn an_empty_batch_sends_no_request() {
    let world = World::start().await;
    let wire = Wire::watched();
    let relayed = world.relay_over(&wire).handle(&StreamBatch::default(), world.later()).await;
    assert_eq!((relayed.published, wire.requests().len(), world.recorder.calls()), (0, 0, 0));
}

#[tokio::test]
async fn ten_events_cost_two_requests() {
    let world = World::start().await;
    world.commit_some(100).await;
    let wire = Wire::watched();
    let relayed = world.relay_over(&wire).handle(&world.stream().await, world.later()).await;
    assert_eq!(relayed.published, 100);
    assert_eq!(world.recorder.calls(), 10);
    assert_eq!((wire.count("BatchWriteItem"), wire.requests().len()), (10, 10));
}

#[tokio::test]
async fn a_row_that_the_publisher_does_not_accept_is_reported_and_no_later_batch_is_tried() {
    let world = World::start().await;
    let ids = world.commit_some(25).await;
    world.recorder.fail(&ids[12]);
    let records = world.records().await;
    let relay = world.relay();
    let relayed = relay.handle(&batch(&records), world.later()).await;
    assert_eq!(relayed.retry_from, Some(sequence_number(&records[12])));
    assert_eq!((relayed.published, relayed.failed), (19, 1), "of the ten with the one that fails, nine");
    assert_eq!(world.left().await.len(), 6);
    let response = serde_json::to_value(relayed.response()).expect("JSON");
    assert_eq!(response, json!({"batchItemFailures": [{"itemIdentifier": sequence_number(&records[12])}]}));

    // Lambda tries again from there on.
    world.recorder.recover();
    let relayed = relay.handle(&batch(&records[12..]), world.later()).await;
    assert_eq!((relayed.published, relayed.retry_from), (13, None));
    assert!(world.left().await.is_empty());
    assert!(ids.iter().all(|id| world.recorder.counts().contains_key(id)), "nothing is lost");
    assert_eq!(world.recorder.event_ids().len(), 25 + 7, "seven of the same ten are published twice");
}

#[tokio::test]
async fn while_the_topic_is_down_nothing_is_lost_and_all_is_retried() {
    let world = World::start().await;
    let ids = world.commit_some(12).await;
    world.recorder.disturb(|| Fault::FailBefore);
    let records = world.records().await;
    let relay = world.relay();
    for _ in 0..3 {
        let relayed = relay.handle(&batch(&records), world.later()).await;
        assert_eq!(relayed.retry_from, Some(sequence_number(&records[0])));
        assert_eq!(metric(&relayed.metrics(), "PublishFailures"), 10);
    }
    assert_eq!(world.recorder.calls(), 3, "once the topic has taken none of ten, the others wait");
    assert_eq!(world.left().await.len(), 12);
    world.recorder.recover();
    let relayed = relay.handle(&batch(&records), world.later()).await;
    assert_eq!((relayed.published, relayed.retry_from), (12, None));
    assert_eq!(world.recorder.event_ids(), ids, "each once");
}

#[tokio::test]
async fn near_the_deadline_no_other_batch_is_started_and_lambda_retries_it() {
    let world = World::start().await;
    world.commit_some(15).await;
    let records = world.records().await;
    let deadline = world.clock.now() + Duration::from_secs(9);
    let relayed = world.relay().handle(&batch(&records), deadline).await;
    assert_eq!((relayed.published, relayed.failed), (10, 0), "the first ten are always tried");
    assert_eq!(relayed.retry_from, Some(sequence_number(&records[10])));
    let deadline = world.clock.now() + Duration::from_secs(10);
    let relayed = world.relay().handle(&batch(&records), deadline).await;
    assert_eq!((relayed.published, relayed.retry_from), (15, None), "ten seconds are enough for another batch");
}

#[tokio::test]
async fn a_batch_that_is_not_published_is_one_line_of_the_log() {
    let world = World::start().await;
    let ids = world.commit_some(3).await;
    world.recorder.fail(&ids[1]);
    world.recorder.fail(&ids[2]);
    let (log, _guard) = Log::start();
    let relayed = world.relay().handle(&world.stream().await, world.later()).await;
    assert_eq!((relayed.published, relayed.failed), (1, 2));
    let [line] = log.lines("WARN").try_into().expect("one line");
    assert_eq!((&line["reason"], &line["event_id"]), (&json!("topic_unavailable"), &json!(ids[1])));
    let error = line["error"].as_str().expect("a text");
    assert!(error.starts_with("the topic did not accept the message: try again later: "), "{error}");
}

#[tokio::test]
async fn a_record_without_a_sequence_number_has_the_whole_batch_retried() {
    let world = World::start().await;
    let ids = world.commit_some(1).await;
    world.recorder.fail(&ids[0]);
    let mut records = world.records().await;
    records[0]["dynamodb"].as_object_mut().expect("an object").remove("SequenceNumber");
    let relayed = world.relay().handle(&batch(&records), world.later()).await;
    let response = serde_json::to_value(relayed.response()).expect("JSON");
    assert_eq!(response, json!({"batchItemFailures": [{"itemIdentifier": ""}]}));
}

#[tokio::test]
async fn rows_that_dynamodb_leaves_undeleted_are_deleted_again() {
    const UNPROCESSED: &str = r#"{"UnprocessedItems":{"outbox":[
        {"DeleteRequest":{"Key":{"pk":{"S":"Payment#0001"},"sk":{"N":"1"}}}}]}}"#;
    let world = World::start().await;
    world.commit_some(3).await;
    let wire = Wire::disturbed(|request| match request.number {
        1 => Disturbance::Respond(200, UNPROCESSED),
        _ => Disturbance::None,
    });
    let relayed = world.relay_over(&wire).handle(&world.stream().await, world.later()).await;
    assert_eq!((relayed.published, relayed.undeleted), (3, 0));
    assert_eq!(wire.count("BatchWriteItem"), 2);
    assert_eq!(world.left().await.len(), 2, "the second request has what the first one's response named, and no more");
}

/// The events are published, so the stream goes on; the sweeper publishes them once more.
#[tokio::test]
async fn rows_that_cannot_be_deleted_are_counted_and_not_reported() {
    const LEFT: &str = r#"{"UnprocessedItems":{"outbox":[
        {"DeleteRequest":{"Key":{"pk":{"S":"Payment#0001"},"sk":{"N":"1"}}}}]}}"#;
    for (disturbance, undeleted, requests) in
        [(Disturbance::FailBefore, 3, 1), (Disturbance::Throttle, 3, 1), (Disturbance::Respond(200, LEFT), 1, 5)]
    {
        let world = World::start().await;
        world.commit_some(3).await;
        let wire = Wire::disturbed(move |_| disturbance);
        let relayed = world.relay_over(&wire).handle(&world.stream().await, world.later()).await;
        assert_eq!((relayed.published, relayed.undeleted, relayed.retry_from.as_ref()), (3, undeleted, None));
        assert_eq!(metric(&relayed.metrics(), "UndeletedRows"), undeleted as u64);
        assert_eq!(wire.count("BatchWriteItem"), requests, "{disturbance:?}");
    }
}

/// A publisher that loses count must not have rows deleted for it.
#[tokio::test]
async fn a_row_for_which_the_publisher_has_no_result_is_not_published() {
    struct Silent;
    impl Publisher for Silent {
        async fn publish(&self, _: &[EventRow]) -> Vec<Result<(), Error>> {
            vec![Ok(())]
        }
    }
    let world = World::start().await;
    world.commit_some(3).await;
    let records = world.records().await;
    let relay = world.relay_with(world.engine.client(), &Arc::new(Silent));
    let relayed = relay.handle(&batch(&records), world.later()).await;
    assert_eq!((relayed.published, relayed.failed), (1, 2));
    assert_eq!(relayed.retry_from, Some(sequence_number(&records[1])));
    assert_eq!(world.left().await.len(), 2);
}
