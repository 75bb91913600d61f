//! Ids rise with versions.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use outbox::{Error, next_event_id};
use proptest::prelude::*;
use tokio::task::JoinSet;

use crate::world::{START, TABLE, World, n, s};

const HOUR: i64 = 3_600_000;

/// A clock that is `offset` milliseconds beside the time that passes.
fn skewed(passed: u64, offset: i64) -> SystemTime {
    let start: u64 = START.as_millis().try_into().expect("a near time");
    UNIX_EPOCH + Duration::from_millis((start + passed).checked_add_signed(offset).expect("a near time"))
}

proptest! {
    #[test]
    fn ids_follow_versions_with_clocks_at_random_by_an_hour(steps in prop::collection::vec((0..5_u64, -HOUR..HOUR), 1..200)) {
        let mut passed = 0;
        let mut last: Option<String> = None;
        for (pause, offset) in steps {
            passed += pause;
            let id = next_event_id(last.as_deref(), skewed(passed, offset)).expect("an id");
            prop_assert!(last.as_deref() < Some(&id), "{last:?} {id}");
            last = Some(id);
        }
    }

    #[test]
    fn an_id_has_two_halves_of_sixteen_digits_and_the_time(millis in 0..u64::MAX) {
        let id = next_event_id(None, UNIX_EPOCH + Duration::from_millis(millis)).expect("an id");
        let (time, random) = id.split_once('-').expect("a hyphen");
        prop_assert_eq!(time, format!("{millis:016x}"));
        prop_assert_eq!(random.len(), 16);
        prop_assert!(u64::from_str_radix(random, 16).is_ok());
        prop_assert_eq!(id.to_lowercase(), id);
    }

    #[test]
    fn whatever_the_last_id_is_the_next_is_higher_or_an_error(last in "[0-9a-fA-F-]{0,40}|[0-9a-f]{16}-[0-9a-f]{16}", millis in any::<u64>()) {
        if let Ok(id) = next_event_id(Some(&last), UNIX_EPOCH + Duration::from_millis(millis)) {
            prop_assert!(last < id, "{last} {id}");
        }
    }
}

#[test]
fn a_clock_that_is_behind_adds_one_millisecond_to_the_last_id() {
    let id = next_event_id(Some("0000018bcfe568f4-ffffffffffffffff"), UNIX_EPOCH).expect("an id");
    assert!(id.starts_with("0000018bcfe568f5-"), "{id}");
}

#[test]
fn a_clock_that_is_ahead_has_its_own_time() {
    let id = next_event_id(Some("0000000000000001-0000000000000000"), UNIX_EPOCH + START).expect("an id");
    assert!(id.starts_with(&format!("{:016x}-", START.as_millis())), "{id}");
}

#[test]
fn two_ids_of_one_moment_differ() {
    let now = UNIX_EPOCH + START;
    assert_ne!(next_event_id(None, now).expect("an id"), next_event_id(None, now).expect("an id"));
}

#[test]
fn an_id_of_another_form_is_an_error() {
    for last in
        ["", "1-2", "0000018bcfe568f4", "0000018bcfe568f4-000000000000000g", "0000018BCFE568F4-0000000000000000"]
    {
        let next = next_event_id(Some(last), UNIX_EPOCH);
        assert!(matches!(next, Err(Error::MalformedEventId)), "{last}");
    }
    let the_last_of_all = next_event_id(Some("ffffffffffffffff-0000000000000000"), UNIX_EPOCH);
    assert!(matches!(the_last_of_all, Err(Error::MalformedEventId)));
}

/// Eight hosts whose clocks differ by up to an hour write versions of one aggregate, each with its row.
#[tokio::test]
async fn ids_follow_versions_of_writers_that_race_with_different_clocks() {
    let world = World::start().await;
    let mut writers = JoinSet::new();
    for writer in 0..8 {
        let client = world.engine.client();
        let now = skewed(0, (writer - 4) * HOUR / 4);
        let row = world.row("1", 0);
        writers.spawn(async move {
            for _ in 0..5 {
                while !write_next(&client, now, row.clone()).await {}
            }
        });
    }
    writers.join_all().await;
    let rows = world.engine.client().query().table_name(TABLE).consistent_read(true);
    let rows = rows.key_condition_expression("pk = :pk").expression_attribute_values(":pk", s("Payment#1"));
    let rows = rows.send().await.expect("a query").items.expect("rows");
    let ids: Vec<_> = rows.iter().map(|row| row["eventId"].as_s().expect("an id")).collect();
    assert_eq!(ids.len(), 40);
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
}

/// Reads the aggregate and writes its next version with its event, unless another writer was faster.
async fn write_next(client: &Client, now: SystemTime, row: outbox::EventRow) -> bool {
    use aws_sdk_dynamodb::types::{Put, TransactWriteItem};
    let key = [("pk".to_owned(), s("Aggregate#1")), ("sk".to_owned(), n(0))];
    let found = client.get_item().table_name(TABLE).set_key(Some(key.into())).consistent_read(true).send().await;
    let found = found.expect("a read").item;
    let last = found.as_ref().map(|item| item["lastEventId"].as_s().expect("an id").clone());
    let version = found.map_or(0, |item| item["version"].as_n().expect("a number").parse().expect("a number"));
    let event_id = next_event_id(last.as_deref(), now).expect("an id");
    let put = Put::builder()
        .table_name(TABLE)
        .item("pk", s("Aggregate#1"))
        .item("sk", n(0))
        .item("version", n(version + 1))
        .item("lastEventId", s(&event_id))
        .condition_expression("attribute_not_exists(pk) OR version = :version")
        .expression_attribute_values(":version", n(version));
    let aggregate = TransactWriteItem::builder().put(put.build().expect("a put")).build();
    let row = outbox::EventRow { version: version + 1, event_id, ..row };
    let row = outbox::Outbox::new(TABLE).put(&row).expect("a row");
    client.transact_write_items().transact_items(aggregate).transact_items(row).send().await.is_ok()
}
