//! Batches of messages become objects, also if S3 fails.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use archive::{Archiver, Config, Location, NotArchived, Store, read};
use aws_lambda_events::event::sqs::SqsEvent;
use embedded_dynamodb::{Disturbance, Wire};
use lambda_boot::Clock;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{BUCKET, Folder, S3};

/// 2026-03-01T12:00:00.007Z.
const NOON: Duration = Duration::from_millis(1_772_366_400_007);

/// An archiver whose clock advances by one millisecond with each reading.
fn archiver(store: Store) -> Archiver {
    let readings = AtomicU64::new(0);
    let clock =
        Clock::from_fn(move || UNIX_EPOCH + NOON + Duration::from_millis(readings.fetch_add(1, Ordering::SeqCst)));
    with_clock(store, clock)
}

fn with_clock(store: Store, clock: Clock) -> Archiver {
    let config = Config { location: Location::in_bucket(BUCKET, ""), metrics_namespace: "test".to_owned() };
    Archiver::new(&config, store, clock)
}

/// A batch as Lambda delivers it.
fn batch(first_id: u64, bodies: &[impl AsRef<str>]) -> SqsEvent {
    let record =
        |(place, body): (u64, &str)| json!({"messageId": format!("059f36b4-87a3-44ab-83d2-{place:012}"), "body": body});
    let records: Vec<_> = (first_id..).zip(bodies.iter().map(AsRef::as_ref)).map(record).collect();
    serde_json::from_value(json!({ "Records": records })).unwrap()
}

/// A deadline that no test reaches.
fn later() -> SystemTime {
    UNIX_EPOCH + NOON + Duration::from_mins(1)
}

/// All records of the archive, by object.
async fn archived(store: &Store) -> BTreeMap<String, Vec<String>> {
    let mut archived = BTreeMap::new();
    for object in store.list("").await.unwrap() {
        let mut records = Vec::new();
        let bytes = store.get(&object.key).await.unwrap().unwrap();
        read(&bytes, |record| records.push(String::from_utf8(record.text.to_vec()).unwrap())).unwrap();
        archived.insert(object.key, records);
    }
    archived
}

fn bodies(numbers: std::ops::Range<u64>) -> Vec<String> {
    numbers
        .map(|number| {
            json!({"payload": format!("{{\"number\":{number}}}"), "headers": {"ID": number.to_string()}}).to_string()
        })
        .collect()
}

#[tokio::test]
async fn a_batch_becomes_one_object_in_the_folder_of_its_hour() {
    let s3 = S3::start().await;
    let wire = Wire::watched();
    let bodies = bodies(0..10);
    let response = archiver(s3.store_over(&wire)).handle(batch(1, &bodies), "request", later()).await.unwrap();
    assert_eq!(response.batch_item_failures.len(), 0);
    let archived = archived(&s3.store()).await;
    let (key, records) = archived.first_key_value().unwrap();
    assert!(key.starts_with("events/dt=2026-03-01/hh=12/20260301T120000.0"), "{key}");
    assert!(key.ends_with("Z-059f36b4-87a3-44ab-83d2-000000000001.ndjson.gz"), "{key}");
    assert_eq!((archived.len(), records), (1, &bodies));
    assert_eq!(wire.requests().len(), 1, "one PutObject, and nothing else");
}

#[tokio::test]
async fn the_folder_is_the_hour_of_the_clock_in_utc() {
    let folder = Folder::new();
    let store = Store::folder(&folder.0);
    for (millis, hour) in [
        (0, "events/dt=1970-01-01/hh=00/19700101T000000.000Z-"),
        (1_772_323_199_999, "events/dt=2026-02-28/hh=23/20260228T235959.999Z-"),
        (1_835_395_200_000, "events/dt=2028-02-29/hh=00/20280229T000000.000Z-"),
        (4_102_444_799_001, "events/dt=2099-12-31/hh=23/20991231T235959.001Z-"),
    ] {
        let now = UNIX_EPOCH + Duration::from_millis(millis);
        let archiver = with_clock(store.clone(), Clock::from_fn(move || now));
        archiver.handle(batch(1, &bodies(0..1)), "request", now + Duration::from_mins(1)).await.unwrap();
        let keys = store.list(hour).await.unwrap();
        assert_eq!(keys.len(), 1, "{hour}: {:?}", store.list("").await.unwrap());
    }
}

#[tokio::test]
async fn the_largest_batch_is_one_object_and_one_request() {
    let s3 = S3::start().await;
    let wire = Wire::watched();
    let bodies = bodies(0..10_000);
    archiver(s3.store_over(&wire)).handle(batch(1, &bodies), "request", later()).await.unwrap();
    assert_eq!(archived(&s3.store()).await.into_values().collect::<Vec<_>>(), [bodies]);
    assert_eq!(wire.requests().len(), 1);
}

#[tokio::test]
async fn an_empty_batch_writes_no_object() {
    let s3 = S3::start().await;
    let wire = Wire::watched();
    archiver(s3.store_over(&wire)).handle(SqsEvent::default(), "request", later()).await.unwrap();
    assert_eq!(wire.requests().len(), 0);
}

/// The message of a record. A JSON string contains the text of a message that was not a JSON object.
fn message(record: &str) -> String {
    if record.starts_with('"') { serde_json::from_str(record).unwrap() } else { record.to_owned() }
}

/// The same text, or equal JSON.
fn is_same(record: &str, body: &str) -> bool {
    let message = message(record);
    let json = |text: &str| serde_json::from_str::<Value>(text).ok();
    message == body || (json(body).is_some() && json(&message) == json(body))
}

async fn check_bodies(bodies: &[String]) {
    let folder = Folder::new();
    let store = Store::folder(&folder.0);
    archiver(store.clone()).handle(batch(1, bodies), "request", later()).await.unwrap();
    let records = archived(&store).await.into_values().next().unwrap();
    assert_eq!(records.len(), bodies.len(), "{records:?}\n{bodies:?}");
    for (record, body) in records.iter().zip(bodies) {
        assert!(is_same(record, body), "{body:?} became {record:?}");
    }
}

#[tokio::test]
async fn every_message_becomes_one_record_with_the_same_content() {
    let bodies = [
        r#"{"usual":1}"#,
        "{\n  \"pretty\": {\r\n    \"printed\": true\n  }\n}\n",
        "  {\"spaces\": \"around\"}\t",
        "[1,\n2]",
        r#"{"a":1}{"b":2}"#,
        "{\"a\":1}\n{\"b\":2}",
        r#"{"text":"}{"}"#,
        "{\n\"text\":\"}{\"}",
        "not JSON",
        "not JSON\nin\r\ntwo lines\n",
        r#""a JSON text""#,
        "\"a text with a \\n break\"",
        " ",
        "\n",
        "\u{feff}{\"mark\":1}",
        "{\"separator\":\"\u{2028}\"}",
        "{\"broken\nin\":\"a text\"}",
        "{",
        "}{",
        "null",
        "12",
    ];
    let bodies = bodies.map(str::to_owned);
    check_bodies(&bodies).await;
    for body in bodies {
        check_bodies(&[body]).await;
    }
    check_bodies(&[format!("{{\"large\":\"{}\"}}", "x".repeat(1 << 20))]).await;
}

#[tokio::test]
async fn a_json_object_without_line_breaks_is_kept_byte_by_byte() {
    let folder = Folder::new();
    let store = Store::folder(&folder.0);
    let bodies = ["{ \"b\" : 1.0,\"a\":\"\\u0041 ü \u{1f600}\" , \"a\":2}".to_owned()];
    archiver(store.clone()).handle(batch(1, &bodies), "request", later()).await.unwrap();
    assert_eq!(archived(&store).await.into_values().next().unwrap(), bodies);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_messages_are_kept(bodies in prop::collection::vec("[{}\"\\\\\n\r a-c1:,\u{feff}\\[\\]]{1,20}", 1..20)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check_bodies(&bodies));
    }
}

/// Any fault at any request: no message is lost, and no stored object changes.
#[tokio::test]
async fn a_batch_is_in_the_archive_before_it_is_acknowledged() {
    const SLOW_DOWN: &str = "<Error><Code>SlowDown</Code></Error>";
    const DENIED: &str = "<Error><Code>AccessDenied</Code></Error>";
    let disturbances = [
        Disturbance::None,
        Disturbance::FailBefore,
        Disturbance::LoseResponse,
        Disturbance::Respond(503, SLOW_DOWN),
        Disturbance::Respond(403, DENIED),
    ];
    let mut cases = JoinSet::new();
    for disturbance in disturbances {
        // From one disturbed request to more than the SDK retries.
        for until in [1, 2, 4, 9] {
            cases.spawn(deliver_until_acknowledged(disturbance, until));
        }
    }
    // In parallel, because the SDK pauses between attempts.
    let failed: usize = cases.join_all().await.into_iter().sum();
    assert!(failed > 4, "the retries hide every failure");
}

/// Disturbs the first requests, and returns how often a batch failed before it was archived.
async fn deliver_until_acknowledged(disturbance: Disturbance, until: usize) -> usize {
    let s3 = S3::start().await;
    let wire = Wire::disturbed(move |request| if request.number <= until { disturbance } else { Disturbance::None });
    let archiver = archiver(s3.store_over(&wire));
    let (bodies, mut failed, mut stored) = (bodies(0..3), 0, BTreeMap::new());
    loop {
        let outcome = archiver.handle(batch(1, &bodies), "request", later()).await;
        let now = archived(&s3.store()).await;
        assert!(stored.iter().all(|(key, records)| now.get(key) == Some(records)), "an object has changed");
        assert!(now.values().all(|records| *records == bodies), "{disturbance:?}");
        assert!(now.len() <= failed + 1, "only a retry may make a duplicate: {disturbance:?}");
        stored = now;
        match outcome {
            Ok(response) => {
                assert_eq!(response.batch_item_failures.len(), 0);
                assert!(!stored.is_empty(), "acknowledged but not archived: {disturbance:?}");
                return failed;
            }
            Err(error) => assert!(matches!(error, NotArchived::Store(_)), "{error:?}"),
        }
        failed += 1;
    }
}

/// The archiver stores the object, but is stopped before the response.
#[tokio::test]
async fn a_batch_that_was_stored_but_not_acknowledged_is_stored_twice() {
    let s3 = S3::start().await;
    let bodies = bodies(0..3);
    let lost = Wire::disturbed(|_| Disturbance::LoseResponse);
    let outcome = archiver(s3.store_over(&lost)).handle(batch(1, &bodies), "first", later()).await;
    assert!(outcome.is_err(), "the batch was answered: {outcome:?}");
    let (second, now) = (s3.store(), UNIX_EPOCH + NOON + Duration::from_secs(30));
    with_clock(second, Clock::from_fn(move || now)).handle(batch(1, &bodies), "second", later()).await.unwrap();
    let archived: Vec<_> = archived(&s3.store()).await.into_values().collect();
    assert_eq!(archived, [bodies.clone(), bodies]);
}

#[tokio::test]
async fn an_object_with_the_same_key_is_not_overwritten() {
    let s3 = S3::start().await;
    let stopped = || with_clock(s3.store(), Clock::from_fn(|| UNIX_EPOCH + NOON));
    stopped().handle(batch(1, &bodies(0..3)), "request", later()).await.unwrap();
    let error = stopped().handle(batch(1, &bodies(3..6)), "request", later()).await.unwrap_err();
    assert!(matches!(error, NotArchived::NameTaken { .. }), "{error:?}");
    assert_eq!((error.code(), error.is_retryable()), ("archive_name_taken", true));
    stopped().handle(batch(1, &bodies(0..3)), "request", later()).await.unwrap();
    assert_eq!(archived(&s3.store()).await.into_values().collect::<Vec<_>>(), [bodies(0..3)]);
}

/// An id that looks like a path must not change the folder.
#[tokio::test]
async fn a_message_id_with_slashes_does_not_change_the_folder() {
    let folder = Folder::new();
    let store = Store::folder(folder.0.join("archive"));
    let batch =
        json!({"Records": [{"messageId": format!("../../../{}", "x".repeat(1_000)), "body": "{}"}, {"body": null}]});
    archiver(store.clone()).handle(serde_json::from_value(batch).unwrap(), "request", later()).await.unwrap();
    let archived = archived(&store).await;
    let (key, records) = archived.first_key_value().unwrap();
    assert!(key.starts_with("events/dt=2026-03-01/hh=12/") && key.len() < 150, "{key}");
    assert_eq!(records, &["{}", "\"\""]);
}

#[tokio::test]
async fn an_archiver_without_enough_time_fails_before_the_deadline() {
    let s3 = S3::start().await;
    let stalled = Wire::disturbed(|_| Disturbance::Stall);
    let archiver = with_clock(s3.store_over(&stalled), Clock::system());
    let (started, time) = (Instant::now(), Duration::from_secs(2));
    let error = archiver.handle(batch(1, &bodies(0..1)), "request", SystemTime::now() + time).await.unwrap_err();
    assert!(matches!(error, NotArchived::OutOfTime), "{error:?}");
    assert_eq!((error.code(), error.is_retryable()), ("out_of_time", true));
    assert!(started.elapsed() < time, "{:?}", started.elapsed());
}

/// Two archivers of one queue, at the same moment.
#[tokio::test]
async fn batches_of_the_same_moment_become_different_objects() {
    let s3 = S3::start().await;
    let archiver = Arc::new(with_clock(s3.store(), Clock::from_fn(|| UNIX_EPOCH + NOON)));
    let mut tasks = JoinSet::new();
    for number in 0..8 {
        let archiver = Arc::clone(&archiver);
        tasks.spawn(async move {
            archiver.handle(batch(number, &bodies(number..number + 1)), "request", later()).await.unwrap();
        });
    }
    tasks.join_all().await;
    let archived: Vec<_> = archived(&s3.store()).await.into_values().flatten().collect();
    assert_eq!(archived, bodies(0..8));
}
