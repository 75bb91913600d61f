//! Rows that can never be published do not delay others, and are reported.

use std::time::Duration;

use outbox::EventRow;
use serde_json::json;

use crate::world::{Log, OLDER_THAN, TABLE, World, batch, metric, n, s};

#[tokio::test]
async fn a_poison_row_does_not_delay_others_and_is_not_reported_to_lambda() {
    let world = World::start().await;
    let ids = world.commit_some(25).await;
    world.recorder.poison(&ids[3]);
    let relayed = world.relay().handle(&world.stream().await, world.later()).await;
    assert_eq!((relayed.published, relayed.poison, relayed.failed), (24, 1, 0));
    assert_eq!(relayed.retry_from, None, "or its shard would stand still until the tries are used up");
    assert_eq!(world.left().await.into_iter().collect::<Vec<_>>(), ["Payment#0003"], "the table keeps it");
}

#[tokio::test]
async fn a_poison_row_raises_an_alarm_by_a_metric_and_a_log_line_with_its_reason() {
    let world = World::start().await;
    let ids = world.commit_some(2).await;
    world.recorder.poison(&ids[1]);
    let (log, _guard) = Log::start();
    let relayed = world.relay().handle(&world.stream().await, world.later()).await;
    assert_eq!(metric(&relayed.metrics(), "PoisonRows"), 1);
    let [line] = log.lines("ERROR").try_into().expect("one line");
    assert_eq!(line["reason"], "message_refused");
    assert_eq!(line["aggregate"], "Payment#0001");
    assert_eq!(line["version"], 1);
    assert_eq!(line["event_id"], ids[1]);
    assert_eq!(line["event_type"], "Charged");
    assert!(!log.text().contains("secret"), "no line has what the event says");
}

#[tokio::test]
async fn the_sweeper_skips_a_poison_row_and_reports_it_until_it_is_corrected() {
    let world = World::start().await;
    let ids = world.commit_some(60).await;
    world.recorder.poison(&ids[0]);
    world.clock.advance(OLDER_THAN + Duration::from_secs(1));
    let sweeper = world.sweeper();
    let swept = sweeper.sweep(world.later()).await;
    assert_eq!((swept.published, swept.poison, swept.failed), (59, 1, 0));
    assert_eq!(metric(&swept.metrics(), "BacklogAge"), 301);

    world.clock.advance(Duration::from_hours(1));
    let (log, guard) = Log::start();
    let swept = sweeper.sweep(world.later()).await;
    drop(guard);
    assert_eq!((swept.published, swept.poison, swept.rows), (0, 1, 1));
    assert_eq!(metric(&swept.metrics(), "PoisonRows"), 1);
    assert_eq!(metric(&swept.metrics(), "BacklogAge"), 3_901, "its age grows");
    assert_eq!(log.lines("ERROR")[0]["reason"], "message_refused");

    world.recorder.recover();
    let swept = sweeper.sweep(world.later()).await;
    assert_eq!((swept.published, swept.poison), (1, 0));
    assert!(world.left().await.is_empty());
}

#[tokio::test]
async fn an_item_that_is_not_a_row_does_not_delay_others_and_is_reported_by_relay_and_sweeper() {
    let world = World::start().await;
    world
        .put([("pk", s("Payment#no message")), ("sk", n(1)), ("eventId", s("1")), ("eventType", s("t")), ("at", n(1))])
        .await;
    world
        .put([
            ("pk", s("Payment#no time")),
            ("sk", n(1)),
            ("eventId", s("1")),
            ("eventType", s("t")),
            ("message", s("m")),
        ])
        .await;
    world.put([("pk", s("Payment#a text for a time")), ("sk", n(1)), ("at", s("now"))]).await;
    world
        .put([
            ("pk", s("no separator")),
            ("sk", n(1)),
            ("eventId", s("1")),
            ("eventType", s("t")),
            ("message", s("m")),
            ("at", n(1)),
        ])
        .await;
    let too_large = EventRow { message: "m".repeat(262_144), ..world.row("too large", 1) };
    world
        .put([
            ("pk", s("Payment#too large")),
            ("sk", n(1)),
            ("eventId", s(&too_large.event_id)),
            ("eventType", s(&too_large.event_type)),
            ("message", s(&too_large.message)),
            ("at", n(1)),
        ])
        .await;
    let ids = world.commit_some(2).await;
    let (log, guard) = Log::start();
    let relayed = world.relay().handle(&world.stream().await, world.later()).await;
    assert_eq!((relayed.published, relayed.poison, relayed.retry_from), (2, 5, None));
    assert_eq!(world.recorder.event_ids(), ids);
    let reasons: Vec<_> = log.lines("ERROR").iter().map(|line| line["reason"].clone()).collect();
    let expected = [["row_malformed"; 4].as_slice(), &["message_too_large"]].concat();
    assert_eq!(reasons, expected);
    assert_eq!(log.lines("ERROR")[0]["row"], "Payment#no message 1");
    drop(guard);

    let (log, _guard) = Log::start();
    world.clock.advance(OLDER_THAN * 2);
    let swept = world.sweeper().sweep(world.later()).await;
    assert_eq!((swept.published, swept.poison, swept.rows), (0, 5, 5));
    assert_eq!(world.left().await.len(), 5, "nothing is deleted that is not published");
    assert!(log.lines("ERROR").iter().any(|line| line.get("row").is_some_and(|row| row == "no separator 1")));
}

#[tokio::test]
async fn an_insert_without_an_image_is_an_error_and_the_sweeper_publishes_its_row() {
    let world = World::start().await;
    let ids = world.commit_some(2).await;
    let mut records = world.records().await;
    records[0]["dynamodb"].as_object_mut().expect("an object").remove("NewImage");
    let (log, _guard) = Log::start();
    let relayed = world.relay().handle(&batch(&records), world.later()).await;
    assert_eq!((relayed.published, relayed.poison, relayed.retry_from), (1, 1, None));
    let [line] = log.lines("ERROR").try_into().expect("one line");
    assert_eq!(line["reason"], "image_missing");
    assert_eq!(line["row"], "Payment#0000 1");
    assert_eq!(line["sequence_number"], records[0]["dynamodb"]["SequenceNumber"]);

    world.clock.advance(OLDER_THAN * 2);
    let swept = world.sweeper().sweep(world.later()).await;
    assert_eq!((swept.published, swept.poison), (1, 0));
    assert_eq!(world.recorder.counts().into_keys().collect::<Vec<_>>(), ids);
}

#[tokio::test]
async fn a_record_that_is_not_from_a_stream_has_its_own_error() {
    let world = World::start().await;
    let ids = world.commit_some(1).await;
    let mut records = vec![json!(null), json!(7), json!({}), json!({"eventName": 7}), json!({"eventName": "UPSERT"})];
    records.extend([json!({"eventName": "INSERT", "dynamodb": {"NewImage": {}}})]);
    records.extend([json!({"eventName": "INSERT", "dynamodb": {"NewImage": {"pk": {"S": 7}, "sk": null, "at": {}}}})]);
    let rows = world.records().await;
    let mut binary_version = rows[0].clone();
    binary_version["dynamodb"]["NewImage"]["sk"] = json!({"B": "1"});
    records.push(binary_version);
    records.extend(rows);
    let (log, _guard) = Log::start();
    let relayed = world.relay().handle(&batch(&records), world.later()).await;
    assert_eq!((relayed.published, relayed.poison, relayed.retry_from), (1, 8, None));
    assert_eq!(world.recorder.event_ids(), ids);
    let reasons: Vec<_> = log.lines("ERROR").iter().map(|line| line["reason"].clone()).collect();
    let of_rows = ["image_missing", "row_malformed", "row_malformed"];
    assert_eq!(reasons, [["stream_record_malformed"; 5].as_slice(), &of_rows].concat());
}

/// How an operator corrects a row by hand: the sweeper does the rest.
#[tokio::test]
async fn a_row_that_is_corrected_by_hand_is_published() {
    let world = World::start().await;
    world.put([("pk", s("Payment#1")), ("sk", n(1)), ("eventId", s("1")), ("eventType", s("t")), ("at", n(1))]).await;
    assert_eq!(world.sweeper().sweep(world.later()).await.poison, 1);
    let change = world.engine.client().update_item().table_name(TABLE).key("pk", s("Payment#1")).key("sk", n(1));
    let change = change.update_expression("SET message = :message").expression_attribute_values(":message", s("m"));
    change.send().await.expect("a change");
    assert_eq!(world.sweeper().sweep(world.later()).await.published, 1);
    assert!(world.left().await.is_empty());
}
