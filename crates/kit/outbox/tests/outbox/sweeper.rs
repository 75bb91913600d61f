//! From the table to the publisher, for what the stream has missed.

use std::time::Duration;

use embedded_dynamodb::{Disturbance, Wire};
use outbox::{End, EventRow};

use crate::world::{Fault, OLDER_THAN, START, World, batch, metric};

#[tokio::test]
async fn events_that_the_stream_has_lost_are_published_after_some_minutes() {
    let world = World::start().await;
    let ids = world.commit_some(5).await;
    let records = world.records().await;
    let relayed = world.relay().handle(&batch(&[&records[..2], &records[3..]].concat()), world.later()).await;
    assert_eq!(relayed.published, 4);
    world.clock.advance(OLDER_THAN + Duration::from_millis(1));
    let swept = world.sweeper().sweep(world.later()).await;
    assert_eq!((swept.published, swept.rows), (1, 1));
    assert!(matches!(swept.end, End::Done));
    assert_eq!(metric(&swept.metrics(), "SweptRows"), 1);
    assert_eq!(world.recorder.event_ids().pop().as_ref(), Some(&ids[2]));
    assert!(world.recorder.counts().values().all(|count| *count == 1));
    assert!(world.left().await.is_empty());
}

#[tokio::test]
async fn a_row_is_left_to_the_relay_until_it_is_old_enough() {
    for (age, swept) in [
        (Duration::ZERO, 0),
        (Duration::from_millis(5 * 60 * 1_000 - 1), 0),
        (OLDER_THAN, 1),
        (OLDER_THAN + Duration::from_millis(1), 1),
    ] {
        let world = World::start().await;
        world.commit_some(1).await;
        world.clock.advance(age);
        let outcome = world.sweeper().sweep(world.later()).await;
        assert_eq!(outcome.published, swept, "{age:?}");
        assert_eq!(outcome.rows, 1, "it is counted at any age");
        assert_eq!(outcome.oldest.is_some(), swept == 1, "{age:?}");
    }
}

/// The writer's clock was ahead, by so much that nobody knows how old the row is.
#[tokio::test]
async fn a_row_whose_time_is_far_in_the_future_is_published_too() {
    let day = Duration::from_hours(24);
    for (ahead, swept) in [
        (Duration::from_millis(1), 0),
        (OLDER_THAN, 0),
        (OLDER_THAN + Duration::from_millis(1), 1),
        (day, 1),
        (day * 10_000, 1),
    ] {
        let world = World::start().await;
        let row = EventRow { at: world.clock.now() + ahead, ..world.row("1", 1) };
        world.commit(&[row]).await;
        let outcome = world.sweeper().sweep(world.later()).await;
        assert_eq!((outcome.published, outcome.rows), (swept, 1), "{ahead:?}");
        assert_eq!(outcome.oldest, (swept == 1).then_some(OLDER_THAN), "{ahead:?}: at least as old as it must be");
    }
}

#[tokio::test]
async fn the_oldest_of_a_page_is_published_first() {
    let world = World::start().await;
    let seconds = [7, 3, 9, 1, 8, 2, 6, 0, 5, 4, 12, 11, 10];
    let rows: Vec<_> = seconds
        .iter()
        .map(|second| EventRow {
            at: world.clock.now() + Duration::from_secs(*second),
            ..world.row(&second.to_string(), 1)
        })
        .collect();
    world.commit(&rows).await;
    world.clock.advance(OLDER_THAN * 2);
    let swept = world.sweeper().sweep(world.later()).await;
    assert_eq!(swept.published, 13);
    let expected: Vec<_> = (0..13).map(|second| format!("{second}-1")).collect();
    assert_eq!(world.recorder.event_ids(), expected);
    assert_eq!(swept.oldest, Some(OLDER_THAN * 2));
}

#[tokio::test]
async fn events_of_one_moment_are_published_by_version() {
    let world = World::start().await;
    let rows: Vec<_> = [3, 1, 2].map(|version| world.row("1", version)).into();
    world.commit(&rows).await;
    world.clock.advance(OLDER_THAN * 2);
    assert_eq!(world.sweeper().sweep(world.later()).await.published, 3);
    assert_eq!(world.recorder.event_ids(), ["1-1", "1-2", "1-3"]);
}

/// Streams keep their records for 24 hours. Nobody read them for 25, and none of the table's rows has expired meanwhile.
#[tokio::test]
async fn an_outage_longer_than_the_streams_24_hours_loses_nothing() {
    let world = World::start().await;
    let ids = world.commit_some(130).await;
    world.clock.advance(Duration::from_hours(25));
    let time_to_live = world.engine.client().describe_time_to_live().table_name(crate::world::TABLE).send().await;
    let time_to_live = time_to_live.expect("a response").time_to_live_description.expect("a description");
    assert_eq!(time_to_live.attribute_name(), None, "no row ever expires");
    let wire = Wire::watched();
    let swept = world.sweeper_over(&wire).page_size(50).sweep(world.later()).await;
    assert_eq!((swept.published, swept.rows), (130, 130));
    assert_eq!(metric(&swept.metrics(), "BacklogAge"), 25 * 3_600);
    assert_eq!(metric(&swept.metrics(), "BacklogRows"), 130);
    assert_eq!(wire.count("Scan"), 3);
    assert_eq!(world.recorder.counts().into_keys().collect::<Vec<_>>(), ids);
    assert!(world.left().await.is_empty());
}

#[tokio::test]
async fn a_sweep_of_an_empty_table_is_one_request() {
    let world = World::start().await;
    let wire = Wire::watched();
    let swept = world.sweeper_over(&wire).sweep(world.later()).await;
    assert_eq!((swept.rows, swept.published, wire.requests().len(), world.recorder.calls()), (0, 0, 1, 0));
    assert!(swept.metrics().iter().all(|metric| metric.value == 0));
}

#[tokio::test]
async fn near_the_deadline_it_ends_and_the_next_run_continues() {
    let world = World::start().await;
    world.commit_some(90).await;
    world.clock.advance(OLDER_THAN * 2);
    let sweeper = world.sweeper();
    for (published, left) in [(40, 50), (40, 10), (10, 0)] {
        let swept = sweeper.sweep(world.clock.now() + Duration::from_secs(9)).await;
        assert_eq!(swept.published, published);
        assert_eq!(matches!(swept.end, End::Deadline), left > 0, "{:?}", swept.end);
        assert_eq!(world.left().await.len(), left);
    }
}

#[tokio::test]
async fn it_stops_if_the_publisher_accepts_nothing() {
    let world = World::start().await;
    world.commit_some(90).await;
    world.clock.advance(OLDER_THAN * 2);
    world.recorder.disturb(|| Fault::FailBefore);
    let swept = world.sweeper().sweep(world.later()).await;
    assert_eq!((swept.published, swept.failed), (0, 40));
    assert!(matches!(swept.end, End::PublisherFails), "{:?}", swept.end);
    assert_eq!(metric(&swept.metrics(), "PublishFailures"), 40);
    assert_eq!(world.left().await.len(), 90);
}

/// Otherwise a first page full of poison would keep all other rows from being read, run after run.
#[tokio::test]
async fn the_next_run_begins_after_the_last_page_and_the_one_after_it_at_the_first() {
    let world = World::start().await;
    let ids = world.commit_some(80).await;
    for id in &ids {
        world.recorder.poison(id);
    }
    world.clock.advance(OLDER_THAN * 2);
    let sweeper = world.sweeper().page_size(30);
    for (poison, rows, is_all) in [(30, 30, false), (30, 30, false), (20, 20, true), (30, 30, false)] {
        let swept = sweeper.sweep(world.clock.now() + Duration::from_secs(9)).await;
        assert_eq!(
            (swept.poison, swept.rows, matches!(swept.end, End::Done)),
            (poison, rows, is_all),
            "{:?}",
            swept.end
        );
    }
    world.recorder.recover();
    let swept = sweeper.sweep(world.later()).await;
    assert_eq!(swept.published, 50, "the rest of the table");
    assert_eq!(sweeper.sweep(world.later()).await.published, 30);
    assert!(world.left().await.is_empty());
}

#[tokio::test]
async fn ten_seconds_are_enough_for_more_rows() {
    let world = World::start().await;
    world.commit_some(90).await;
    world.clock.advance(OLDER_THAN * 2);
    let swept = world.sweeper().sweep(world.clock.now() + Duration::from_secs(10)).await;
    assert_eq!(swept.published, 90);
    assert!(matches!(swept.end, End::Done), "{:?}", swept.end);
}

/// Neither the publisher nor the table has failed.
#[tokio::test]
async fn it_goes_on_after_forty_poison_rows() {
    let world = World::start().await;
    let ids = world.commit_some(90).await;
    for id in &ids[..80] {
        world.recorder.poison(id);
    }
    world.clock.advance(OLDER_THAN * 2);
    let swept = world.sweeper().sweep(world.later()).await;
    assert_eq!((swept.published, swept.poison, swept.failed), (10, 80, 0));
    assert!(matches!(swept.end, End::Done), "{:?}", swept.end);
}

/// Or each run would publish the whole backlog once more.
#[tokio::test]
async fn it_stops_if_no_row_can_be_deleted() {
    let world = World::start().await;
    world.commit_some(90).await;
    world.clock.advance(OLDER_THAN * 2);
    let wire = Wire::disturbed(|request| match request.operation.as_str() {
        "BatchWriteItem" => Disturbance::Respond(400, r#"{"__type":"com.amazon.coral.service#AccessDeniedException"}"#),
        _ => Disturbance::None,
    });
    let swept = world.sweeper_over(&wire).sweep(world.later()).await;
    assert_eq!((swept.published, swept.undeleted, swept.failed), (40, 40, 0));
    assert!(matches!(swept.end, End::DeletionFails), "{:?}", swept.end);
    assert_eq!(metric(&swept.metrics(), "UndeletedRows"), 40);
    assert_eq!(world.sweeper().sweep(world.later()).await.published, 90);
}

#[tokio::test]
async fn a_row_that_fails_does_not_stop_others() {
    let world = World::start().await;
    let ids = world.commit_some(90).await;
    world.clock.advance(OLDER_THAN * 2);
    world.recorder.fail(&ids[1]);
    let swept = world.sweeper().sweep(world.later()).await;
    assert_eq!((swept.published, swept.failed), (89, 1));
    assert!(matches!(swept.end, End::Done));
    world.recorder.recover();
    assert_eq!(world.sweeper().sweep(world.later()).await.published, 1);
    assert!(world.left().await.is_empty());
}

#[tokio::test]
async fn a_table_that_cannot_be_read_is_an_error_with_what_was_done_before() {
    let world = World::start().await;
    world.commit_some(20).await;
    world.clock.advance(OLDER_THAN * 2);
    let wire = Wire::disturbed(|request| match request.operation.as_str() {
        "Scan" if request.number > 1 => Disturbance::Throttle,
        _ => Disturbance::None,
    });
    let swept = world.sweeper_over(&wire).page_size(10).sweep(world.later()).await;
    assert_eq!(swept.published, 10);
    let End::Unreadable(error) = &swept.end else { panic!("{:?}", swept.end) };
    assert_eq!((error.code(), error.is_retryable(), error.is_poison()), ("outbox_throttled", true, false));
    assert_eq!(world.sweeper().sweep(world.later()).await.published, 10);
}

/// Both publish it: consumers recognize an event by its id.
#[tokio::test]
async fn a_row_that_relay_and_sweeper_publish_at_once_is_published_twice_and_deleted() {
    let world = World::start().await;
    world.commit_some(10).await;
    let stream = world.stream().await;
    world.clock.advance(OLDER_THAN * 2);
    let (relay, sweeper) = (world.relay(), world.sweeper());
    let (relayed, swept) = tokio::join!(relay.handle(&stream, world.later()), sweeper.sweep(world.later()));
    assert_eq!(relayed.published, 10);
    assert_eq!((relayed.undeleted, swept.undeleted), (0, 0));
    assert!(world.recorder.counts().values().all(|count| *count <= 2));
    assert!(world.left().await.is_empty());
}

#[tokio::test]
async fn a_row_of_before_1970_is_old_enough() {
    let world = World::start().await;
    let row = EventRow { at: world.clock.now() - START * 2, ..world.row("1", 1) };
    world.commit(&[row]).await;
    assert_eq!(world.sweeper().sweep(world.later()).await.published, 1);
}
