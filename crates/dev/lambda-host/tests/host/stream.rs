//! Writes to a table of the embedded engine invoke a real function process (`examples/echo.rs`), which this test answers.

use std::path::PathBuf;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue::{N, S};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, StreamSpecification,
    StreamViewType, TransactWriteItem, Update,
};
use embedded_dynamodb::Engine;
use lambda_host::filter::Filter;
use lambda_host::lambda;
use lambda_host::queues::{self, Queue, Queues};
use lambda_host::stream::{Settings, StartingPosition, StreamMapping};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::timeout;
use uuid::Uuid;

use crate::echo::{Handler, Invocation, TIMEOUT, settings};

/// Longer than it takes to retry a batch a few times.
const SHORT_TIME: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_batch_becomes_an_event_in_lambdas_format() {
    let table = Table::create().await;
    let source = table.map(Settings::default()).await;
    table.put("a", "1").await;
    let invocation = source.invocation().await;
    let mut event = invocation.event();

    let record = &mut event["Records"][0];
    assert_eq!(record["eventID"].take().as_str().unwrap().len(), 32);
    let arn = record["eventSourceARN"].take();
    assert!(arn.as_str().unwrap().starts_with("arn:aws:dynamodb:us-east-1:000000000000:table/rows/stream/"), "{arn}");
    let stream_record = &mut record["dynamodb"];
    assert_eq!(stream_record["SequenceNumber"].take().as_str().unwrap().len(), 21);
    let created = stream_record["ApproximateCreationDateTime"].take().as_f64().unwrap();
    assert!((1.7e9..1e10).contains(&created), "{created} is in seconds");
    assert!(stream_record["SizeBytes"].take().as_i64().unwrap() > 0);
    assert_eq!(
        event,
        json!({"Records": [{
            "eventID": null,
            "eventName": "INSERT",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1",
            "dynamodb": {
                "ApproximateCreationDateTime": null,
                "Keys": {"id": {"S": "a"}},
                "NewImage": {"id": {"S": "a"}, "n": {"N": "1"}},
                "SequenceNumber": null,
                "SizeBytes": null,
                "StreamViewType": "NEW_IMAGE",
            },
            "eventSourceARN": null,
        }]})
    );
    invocation.succeed().await;
    source.done(1).await;
}

#[tokio::test]
async fn records_arrive_in_order_in_batches_of_the_configured_size() {
    let table = Table::create().await;
    table.put_each(["a", "b", "c", "d", "e"]).await;
    let source = table.map(Settings { batch_size: 2, ..Settings::default() }).await;
    for batch in [&["a", "b"][..], &["c", "d"], &["e"]] {
        let invocation = source.invocation().await;
        assert_eq!(invocation.keys(), batch);
        invocation.succeed().await;
    }
    source.done(5).await;
}

#[tokio::test]
async fn a_window_gathers_records_and_a_full_batch_does_not_wait() {
    let table = Table::create().await;
    let window = TIMEOUT.as_secs() * 10;
    let source =
        table.map(Settings { batch_size: 2, maximum_batching_window_in_seconds: window, ..Settings::default() });
    let source = source.await;
    table.put("a", "1").await;
    source.handler.assert_is_idle(SHORT_TIME).await;
    table.put("b", "1").await;
    let invocation = source.invocation().await;
    assert_eq!(invocation.keys(), ["a", "b"]);
    invocation.succeed().await;

    let other = Table::create().await;
    let source = other.map(Settings { maximum_batching_window_in_seconds: 1, ..Settings::default() }).await;
    other.put("c", "1").await;
    assert_eq!(source.invocation().await.keys(), ["c"], "the window has an end");
}

#[tokio::test]
async fn only_records_that_match_a_filter_invoke_the_function() {
    let table = Table::create().await;
    let filters = [
        r#"{"eventName": ["INSERT"], "dynamodb": {"NewImage": {"n": {"N": [{"prefix": "1"}]}}}}"#,
        r#"{"eventName": ["REMOVE"], "dynamodb": {"Keys": {"id": {"S": ["b"]}}}}"#,
    ];
    let filters = filters.map(|pattern| Filter::parse(pattern).unwrap()).to_vec();
    let source = table.map(Settings { filters, ..Settings::default() }).await;
    table.put("a", "2").await;
    table.put("a", "1").await;
    table.put("b", "2").await;
    table.delete("a").await;
    table.delete("b").await;
    table.put("c", "10").await;
    let mut seen = Vec::new();
    while seen.len() < 2 {
        let invocation = source.invocation().await;
        let records = invocation.records().iter();
        seen.extend(records.map(|record| (record["eventName"].clone(), record["dynamodb"]["Keys"]["id"]["S"].clone())));
        invocation.succeed().await;
    }
    assert_eq!(seen, [(json!("REMOVE"), json!("b")), (json!("INSERT"), json!("c"))]);
    source.done(2).await;
}

#[tokio::test]
async fn a_retry_starts_at_the_lowest_failed_sequence_number() {
    let table = Table::create().await;
    table.put_each(["a", "b", "c", "d", "e"]).await;
    let source = table.map(reporting()).await;
    let batch = source.invocation().await;
    assert_eq!(batch.keys(), ["a", "b", "c", "d", "e"]);
    let failed = [batch.number_of("d"), batch.number_of("b"), batch.number_of("e")];
    batch.respond(&failures(&failed)).await;
    source.done(1).await;

    let again = source.invocation().await;
    assert_eq!(again.keys(), ["b", "c", "d", "e"], "and also the records after it that succeeded");
    let failed = [again.number_of("e")];
    again.respond(&failures(&failed)).await;
    source.done(4).await;
    let again = source.invocation().await;
    assert_eq!(again.keys(), ["e"]);
    again.succeed().await;
    source.done(5).await;
}

#[tokio::test]
async fn without_the_setting_failures_in_a_response_are_ignored() {
    let table = Table::create().await;
    table.put("a", "1").await;
    let source = table.map(Settings::default()).await;
    let batch = source.invocation().await;
    let failed = [batch.number_of("a")];
    batch.respond(&failures(&failed)).await;
    source.done(1).await;
}

#[tokio::test]
async fn a_failing_batch_blocks_the_following_ones() {
    let table = Table::create().await;
    table.put("a", "1").await;
    let source = table.map(Settings { batch_size: 1, ..Settings::default() }).await;
    let first = source.invocation().await;
    table.put("b", "1").await;
    first.fail().await;
    let again = source.invocation().await;
    assert_eq!(again.keys(), ["a"]);
    let process = again.process();
    again.exit().await;
    let again = source.invocation().await;
    assert_eq!(again.keys(), ["a"]);
    assert_ne!(again.process(), process, "a process that ended is replaced");
    again.succeed().await;
    let next = source.invocation().await;
    assert_eq!(next.keys(), ["b"]);
    next.succeed().await;
    source.done(2).await;
}

#[tokio::test]
async fn after_its_retries_a_batch_is_discarded_and_reported_to_the_destination() {
    let table = Table::create().await;
    table.put_each(["a", "b"]).await;
    let source = table.map(Settings { batch_size: 2, maximum_retry_attempts: Some(2), ..Settings::default() }).await;
    let mut numbers = Vec::new();
    for _ in 0..3 {
        let invocation = source.invocation().await;
        numbers = vec![invocation.number_of("a"), invocation.number_of("b")];
        invocation.fail().await;
    }
    source.done(2).await;
    let mut message = source.failure().await;
    let info = &mut message["DDBStreamBatchInfo"];
    let arn = info["streamArn"].take();
    assert!(arn.as_str().unwrap().starts_with("arn:aws:dynamodb:us-east-1:000000000000:table/rows/stream/"), "{arn}");
    for name in ["approximateArrivalOfFirstRecord", "approximateArrivalOfLastRecord"] {
        let time = info[name].take();
        assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
    }
    let timestamp = message["timestamp"].take();
    assert!(timestamp.as_str().unwrap().ends_with('Z') && timestamp.as_str().unwrap().len() <= 24, "{timestamp}");
    assert_eq!(message["requestContext"]["requestId"].take().as_str().unwrap().len(), 36);
    assert_eq!(
        message,
        json!({
            "requestContext": {
                "requestId": null,
                "functionArn": "arn:aws:lambda:us-east-1:000000000000:function:echo",
                "condition": "RetryAttemptsExhausted",
                "approximateInvokeCount": 3,
            },
            "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
            "version": "1.0",
            "timestamp": null,
            "DDBStreamBatchInfo": {
                "shardId": "shardId-00000001-rows",
                "startSequenceNumber": numbers[0],
                "endSequenceNumber": numbers[1],
                "approximateArrivalOfFirstRecord": null,
                "approximateArrivalOfLastRecord": null,
                "batchSize": 2,
                "streamArn": null,
            },
        })
    );

    table.put("c", "1").await;
    let next = source.invocation().await;
    assert_eq!(next.keys(), ["c"], "the stream continues");
    next.succeed().await;
}

#[tokio::test]
async fn a_failed_batch_is_split_until_only_the_failing_record_is_left() {
    let table = Table::create().await;
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
    table.put_each(keys).await;
    let bisect =
        Settings { bisect_batch_on_function_error: true, maximum_retry_attempts: Some(1), ..Settings::default() };
    let source = table.map(bisect).await;
    let mut succeeded = Vec::new();
    let mut invocations = Vec::new();
    while succeeded.len() < 7 {
        let invocation = source.invocation().await;
        invocations.push(invocation.keys().concat());
        if invocation.keys().iter().any(|key| key == "c") {
            invocation.fail().await;
        } else {
            succeeded.extend(invocation.keys());
            invocation.succeed().await;
        }
    }
    // Splits do not count: the last record still has its one retry.
    assert_eq!(invocations, ["abcdefgh", "abcd", "ab", "cd", "c", "c", "d", "efgh"]);
    source.done(8).await;
    let info = source.failure().await["DDBStreamBatchInfo"].take();
    assert_eq!((&info["batchSize"], &info["startSequenceNumber"]), (&json!(1), &info["endSequenceNumber"]));
    source.assert_no_failure().await;
}

#[tokio::test]
async fn with_both_settings_a_batch_is_split_at_the_reported_record() {
    let table = Table::create().await;
    table.put_each(["a", "b", "c", "d", "e", "f"]).await;
    let bisect = Settings { bisect_batch_on_function_error: true, maximum_retry_attempts: Some(0), ..reporting() };
    let source = table.map(bisect).await;
    let mut invocations = Vec::new();
    let mut succeeded = 0;
    while succeeded < 5 {
        let invocation = source.invocation().await;
        let keys = invocation.keys();
        invocations.push(keys.concat());
        if let Some(place) = keys.iter().position(|key| key == "c") {
            succeeded += place;
            let failed = [invocation.number_of("c")];
            invocation.respond(&failures(&failed)).await;
        } else {
            succeeded += keys.len();
            invocation.succeed().await;
        }
    }
    assert_eq!(invocations, ["abcdef", "cdef", "cd", "c", "d", "ef"]);
    source.done(6).await;
    let message = source.failure().await;
    assert_eq!(message["DDBStreamBatchInfo"]["batchSize"], 1);
    assert_eq!(message["responseContext"], json!({"statusCode": 200, "executedVersion": "$LATEST"}));
    source.assert_no_failure().await;
}

#[tokio::test]
async fn a_record_that_is_too_old_is_discarded_and_reported_to_the_destination() {
    let table = Table::create().await;
    table.put("old", "1").await;
    let source = table.map(Settings { maximum_record_age_in_seconds: Some(2), ..Settings::default() }).await;
    // Every try fails.
    let failing = async {
        loop {
            source.invocation().await.fail().await;
        }
    };
    let message = tokio::select! {
        message = source.failure() => message,
        () = failing => unreachable!("the loop never ends"),
    };
    assert_eq!(message["requestContext"]["condition"], "RecordAgeExceeded");
    assert!(message["requestContext"]["approximateInvokeCount"].as_u64().unwrap() > 1);
    source.done(1).await;

    table.put("young", "1").await;
    let next = source.invocation().await;
    assert_eq!(next.keys(), ["young"]);
    next.succeed().await;
    source.done(2).await;
}

#[tokio::test]
async fn a_function_that_does_not_start_does_not_use_up_a_retry() {
    let folder = Folder::new();
    let binary = folder.0.join("echo");
    let table = Table::create().await;
    table.put("a", "1").await;
    let settings = Settings { maximum_retry_attempts: Some(0), ..Settings::default() };
    let source = table.map_to(lambda::Settings { binary: binary.clone(), ..crate::echo::settings() }, settings, None);
    let source = source.await;
    source.handler.assert_is_idle(SHORT_TIME).await;
    std::os::unix::fs::symlink(crate::echo::settings().binary, binary).unwrap();
    source.invocation().await.succeed().await;
    source.done(1).await;
    source.assert_no_failure().await;
}

#[tokio::test]
async fn the_next_start_continues_with_the_records_in_progress() {
    let folder = Folder::new();
    let position = Some(folder.0.join("rows.position"));
    let table = Table::create().await;
    table.put_each(["a", "b", "c"]).await;
    let source = table.map_to(settings(), Settings { batch_size: 2, ..reporting() }, position.clone()).await;
    let batch = source.invocation().await;
    let failed = [batch.number_of("b")];
    batch.respond(&failures(&failed)).await;
    source.done(1).await;
    let under_way = source.invocation().await;
    drop(source);
    drop(under_way);

    let source = table.map_to(settings(), Settings::default(), position.clone()).await;
    let batch = source.invocation().await;
    assert_eq!(batch.keys(), ["b", "c"]);
    batch.succeed().await;
    source.done(2).await;
    drop(source);

    table.put("d", "1").await;
    let source = table.map_to(settings(), Settings::default(), position).await;
    assert_eq!(source.invocation().await.keys(), ["d"]);
}

#[tokio::test]
async fn records_that_no_filter_matches_are_not_read_again_by_the_next_start() {
    let folder = Folder::new();
    let position = folder.0.join("rows.position");
    let filter = Filter::parse(r#"{"eventName": ["REMOVE"]}"#).unwrap();
    let table = Table::create().await;
    table.put("a", "1").await;
    let removals = Settings { filters: vec![filter], ..Settings::default() };
    let source = table.map_to(settings(), removals, Some(position.clone())).await;
    let kept = async {
        while !position.exists() {
            tokio::task::yield_now().await;
        }
    };
    timeout(TIMEOUT, kept).await.expect("the position was not stored");
    drop(source);
    table.put("b", "1").await;
    let source = table.map_to(settings(), Settings::default(), Some(position)).await;
    assert_eq!(source.invocation().await.keys(), ["b"]);
}

#[tokio::test]
async fn a_start_at_the_latest_record_skips_the_earlier_ones() {
    let table = Table::create().await;
    table.put("a", "1").await;
    let source = table.map(Settings { starting_position: StartingPosition::Latest, ..Settings::default() }).await;
    table.put("b", "1").await;
    assert_eq!(source.invocation().await.keys(), ["b"]);
}

#[tokio::test]
async fn a_batch_does_not_exceed_lambdas_payload_limit() {
    let table = Table::create().await;
    let value = "x".repeat(390_000);
    for key in 0..20 {
        let item = [("id", S(key.to_string())), ("value", S(value.clone()))];
        let put = item
            .into_iter()
            .fold(table.client.put_item().table_name("rows"), |put, (name, value)| put.item(name, value));
        put.send().await.unwrap();
    }
    let source = table.map(Settings::default()).await;
    let mut handled = 0;
    while handled < 20 {
        let invocation = source.invocation().await;
        assert!(invocation.event().to_string().len() <= lambda::PAYLOAD_LIMIT);
        handled += invocation.records().len();
        invocation.succeed().await;
    }
    source.done(20).await;
}

#[tokio::test]
async fn the_writes_of_a_transaction_are_records_too() {
    let table = Table::create().await;
    let source = table.map(Settings { maximum_batching_window_in_seconds: 1, ..Settings::default() }).await;
    let update = |key: &str| {
        let update = Update::builder().table_name("rows").key("id", S(key.to_owned()));
        let update = update.update_expression("SET n = :n").expression_attribute_values(":n", N("7".to_owned()));
        TransactWriteItem::builder().update(update.build().unwrap()).build()
    };
    let transaction = table.client.transact_write_items().transact_items(update("a")).transact_items(update("b"));
    transaction.send().await.unwrap();
    let invocation = source.invocation().await;
    assert_eq!(invocation.keys(), ["a", "b"]);
    invocation.succeed().await;
}

#[tokio::test]
async fn a_table_without_a_stream_is_an_error() {
    let engine = Engine::start();
    assert_eq!(engine.stream("rows").unwrap_err().to_string(), "table rows has no stream");
}

#[test]
fn settings_are_parsed_from_a_templates_properties() {
    let read: Settings = serde_json::from_value(json!({
        "batchSize": 10,
        "filters": [{"eventName": ["INSERT"]}],
        "reportBatchItemFailures": true,
        "bisectBatchOnFunctionError": true,
        "maximumRetryAttempts": 8,
        "maximumRecordAgeInSeconds": -1,
        "startingPosition": "LATEST",
    }))
    .unwrap();
    let expected = Settings {
        batch_size: 10,
        maximum_batching_window_in_seconds: 0,
        filters: vec![Filter::parse(r#"{"eventName": ["INSERT"]}"#).unwrap()],
        report_batch_item_failures: true,
        bisect_batch_on_function_error: true,
        maximum_retry_attempts: Some(8),
        maximum_record_age_in_seconds: None,
        starting_position: StartingPosition::Latest,
    };
    assert_eq!(read, expected);
    assert_eq!(serde_json::from_str::<Settings>("{}").unwrap(), Settings::default());
}

fn reporting() -> Settings {
    Settings { report_batch_item_failures: true, ..Settings::default() }
}

fn failures(numbers: &[String]) -> Value {
    let failures: Vec<_> = numbers.iter().map(|number| json!({"itemIdentifier": number})).collect();
    json!({"batchItemFailures": failures})
}

impl Invocation {
    /// The keys of the items, in the order of the records.
    fn keys(&self) -> Vec<String> {
        let keys = self.records().iter().map(|record| &record["dynamodb"]["Keys"]["id"]["S"]);
        keys.map(|key| key.as_str().unwrap().to_owned()).collect()
    }

    fn number_of(&self, key: &str) -> String {
        let place = self.keys().iter().position(|known| known == key).expect("the key is not in this batch");
        self.records()[place]["dynamodb"]["SequenceNumber"].as_str().unwrap().to_owned()
    }
}

/// A table `rows` with a stream, in its own engine.
struct Table {
    engine: Engine,
    client: Client,
}

impl Table {
    async fn create() -> Self {
        let engine = Engine::start();
        let client = engine.client();
        let key = KeySchemaElement::builder().attribute_name("id").key_type(KeyType::Hash).build().unwrap();
        let id = AttributeDefinition::builder().attribute_name("id").attribute_type(ScalarAttributeType::S);
        let stream = StreamSpecification::builder().stream_enabled(true).stream_view_type(StreamViewType::NewImage);
        let table = client.create_table().table_name("rows").billing_mode(BillingMode::PayPerRequest);
        let table = table.key_schema(key).attribute_definitions(id.build().unwrap());
        table.stream_specification(stream.build().unwrap()).send().await.unwrap();
        Self { engine, client }
    }

    async fn put(&self, key: &str, n: &str) {
        let put = self.client.put_item().table_name("rows");
        put.item("id", S(key.to_owned())).item("n", N(n.to_owned())).send().await.unwrap();
    }

    async fn put_each<const COUNT: usize>(&self, keys: [&str; COUNT]) {
        for key in keys {
            self.put(key, "1").await;
        }
    }

    async fn delete(&self, key: &str) {
        self.client.delete_item().table_name("rows").key("id", S(key.to_owned())).send().await.unwrap();
    }

    async fn map(&self, mapping: Settings) -> Source {
        self.map_to(settings(), mapping, None).await
    }

    async fn map_to(&self, mut function: lambda::Settings, mapping: Settings, position: Option<PathBuf>) -> Source {
        let handler = Handler::of(&mut function).await;
        let address = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let failures = queues::Settings {
            name: "failures".to_owned(),
            visibility_timeout: TIMEOUT.as_secs(),
            message_retention_period: 345_600,
            redrive: None,
        };
        let failures = Queues::new(address).create(&failures).await.unwrap();
        let stream = self.engine.stream("rows").unwrap();
        let mapping = StreamMapping::start(stream, function, mapping, Some(failures.clone()), position).unwrap();
        Source { mapping, handler, failures }
    }
}

/// The stream's mapping to a function that this test answers, and the queue for discarded records.
struct Source {
    mapping: StreamMapping,
    handler: Handler,
    failures: Queue,
}

impl Source {
    async fn invocation(&self) -> Invocation {
        self.handler.invocation().await
    }

    async fn done(&self, records: u64) {
        timeout(TIMEOUT, self.mapping.done(records)).await.expect("the records were not processed");
    }

    /// The next message in the on-failure queue.
    async fn failure(&self) -> Value {
        let received = timeout(TIMEOUT, self.failures.receive(1)).await.expect("no failure was reported").unwrap();
        serde_json::from_str(&received[0].body).unwrap()
    }

    /// Call it after `done`: a discarded record is in the queue before it is counted as done, so nothing can arrive later.
    async fn assert_no_failure(&self) {
        self.failures.send("the test's own".to_owned()).await.unwrap();
        let received = timeout(TIMEOUT, self.failures.receive(10)).await.expect("no message arrived").unwrap();
        let received: Vec<_> = received.iter().map(|message| message.body.as_str()).collect();
        assert_eq!(received, ["the test's own"]);
    }
}

/// A folder that is removed with this value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("lambda-host-{}", Uuid::new_v4()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
