//! The real binary behind a Lambda Runtime API, with the events of `events/`.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A failed unwrap fails the test.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use embedded_dynamodb::Engine;
use idempotency::{Claimed, Fingerprint, IdempotencyStore};
use lambda_host::lambda::{Function, InvokeError, Settings};
use order_events::{Event, EventType, Message};
use order_store::OrderStore;
use order_view::fold;
use sample_events::{IDEMPOTENCY_TABLE, ORDER_HISTORY_TABLE, sample, story};
use serde_json::{Value, json};

#[tokio::test]
async fn every_function_stores_the_effect_of_its_sample_event() {
    let account = Account::create().await;
    let mut projected = Vec::new();
    for &event_type in EventType::ALL {
        let event = sample(event_type.name());
        let function = account.function(event_type.name()).await;
        let response = function.invoke(event.clone()).await.unwrap();
        assert_eq!(response, json!({"batchItemFailures": []}), "{event_type}");
        projected.extend(events_in(&event));
    }
    account.assert_stored(&projected).await;
}

#[tokio::test]
async fn an_sns_notification_and_an_eventbridge_event_are_unwrapped() {
    let account = Account::create().await;
    let event = sample("wrapped-in-sns-and-eventbridge");
    let function = account.function("OrderCreated").await;
    assert_eq!(function.invoke(event.clone()).await.unwrap(), json!({"batchItemFailures": []}));
    account.assert_stored(&events_in(&event)).await;
}

#[tokio::test]
async fn a_mixed_batch_returns_only_its_bad_messages() {
    let account = Account::create().await;
    let event = sample("failure-mixed-batch");
    let id = |place: usize| event["Records"][place]["messageId"].as_str().unwrap();
    let function = account.function("OrderCreated").await;
    let response = function.invoke(event.clone()).await.unwrap();
    let failures = response["batchItemFailures"].as_array().unwrap();
    let mut failed: Vec<_> = failures.iter().map(|failure| failure["itemIdentifier"].as_str().unwrap()).collect();
    failed.sort_unstable();
    let mut expected = [id(1), id(2), id(5)];
    expected.sort_unstable();
    assert_eq!(failed, expected);

    let log = log_of(function).await;
    let reasons: BTreeMap<_, _> = log
        .iter()
        .filter(|line| line["level"] == "ERROR")
        .map(|line| (line["message_id"].as_str().unwrap(), line["reason"].as_str().unwrap()))
        .collect();
    let expected = [(id(1), "malformed_body"), (id(2), "malformed_payload"), (id(5), "wrong_event_type")];
    assert_eq!(reasons, BTreeMap::from(expected), "each failure is logged once, with its reason");
    let mut good = events_in(&event);
    good.retain(|event| event.event_type() == EventType::OrderCreated);
    assert_eq!(good.len(), 3, "two orders, one of them twice");
    account.assert_stored(&good).await;
}

#[tokio::test]
async fn a_batch_of_one_bad_message_fails_the_invocation() {
    let account = Account::create().await;
    let function = account.function("OrderCreated").await;
    let failures = [
        ("failure-malformed-body", "malformed_body"),
        ("failure-wrong-type", "wrong_event_type"),
        ("failure-unsortable-id", "malformed_header"),
        ("failure-id-of-2099", "date_mismatch"),
    ];
    for (file, reason) in failures {
        let Err(InvokeError::Function(error)) = function.invoke(sample(file)).await else {
            panic!("{file} was not refused");
        };
        assert_eq!(error["errorType"], "BatchFailed");
        assert!(error["errorMessage"].as_str().unwrap().contains(reason), "{error}");
    }

    let log = log_of(function).await;
    let batches: Vec<_> = log.iter().filter(|line| line["message"] == "every message of the batch failed").collect();
    assert_eq!(batches.len(), failures.len());
    for (batch, (_, reason)) in batches.iter().zip(failures) {
        assert_eq!((&batch["messages"], &batch["reasons"]), (&json!(1), &json!(reason)));
        let of_batch = |line: &&Value| line["level"] == "ERROR" && line["request_id"] == batch["request_id"];
        assert_eq!(log.iter().filter(of_batch).count(), 2, "one line for the message, one for the batch");
    }
    assert!(log.iter().all(|line| line["level"] != "ERROR" || line["request_id"].is_string()), "{log:?}");
}

/// A message of 256 KB must not cause log lines of 256 KB.
#[tokio::test]
async fn no_line_of_the_log_is_long() {
    let account = Account::create().await;
    let function = account.function("OrderCreated").await;
    let long = "SECRET".repeat(30_000);
    let headers = |name: &str, value: &str| {
        let mut headers = json!({
            "ID": "0000019ca9450a07-0242ac1200080001", "event-type": "OrderCreated",
            "event-aggregate-type": "Order", "event-aggregate-id": "99",
        });
        headers[name] = json!(value);
        headers
    };
    let mut bodies = vec![
        json!({"payload": format!(r#"{{"{long}":[}}"#), "headers": headers("ID", "0000019ca9450a07-0242ac1200080001")}),
        json!({"payload": "{}", "headers": headers(&long, "")}),
        json!({ &long: [] }),
    ];
    for name in ["ID", "event-type", "event-aggregate-type", "event-aggregate-id", "DATE"] {
        bodies.push(json!({"payload": "{}", "headers": headers(name, &long)}));
    }
    let mut bodies: Vec<_> = bodies.iter().map(Value::to_string).collect();
    bodies.push(format!(r#"{{"headers":{{"{long}":[}}}}"#));
    let record = |(place, body): (usize, &String)| json!({"messageId": format!("{place}-{long}"), "body": body});
    let records: Vec<_> = bodies.iter().enumerate().map(record).collect();
    let result = function.invoke(json!({ "Records": records })).await;
    assert!(matches!(result, Err(InvokeError::Function(_))), "{result:?}");
    let lines = function.stop().await.unwrap();
    assert!(lines.len() > bodies.len());
    for line in lines {
        assert!(line.len() < 3_000, "{} bytes: {}", line.len(), &line[..1_000]);
    }
}

#[tokio::test]
async fn metrics_go_into_the_namespace_of_the_environment() {
    let account = Account::create().await;
    let function = account.function_with("OrderCreated", &[("METRICS_NAMESPACE", "ftgo-staging")]).await;
    function.invoke(sample("OrderCreated")).await.unwrap();
    let log = log_of(function).await;
    let metrics = log.iter().find(|line| line["_aws"].is_object()).unwrap();
    assert_eq!(metrics["_aws"]["CloudWatchMetrics"][0]["Namespace"], "ftgo-staging");
}

/// A negative value would make CloudWatch drop every percentile of `ProjectionLag`.
#[tokio::test]
async fn an_event_of_a_clock_that_is_ahead_has_no_negative_lag_and_is_counted() {
    let account = Account::create().await;
    let function = account.function("OrderAuthorized").await;
    let record = |place: u64, ahead: Duration| {
        let at = (SystemTime::now() + ahead).duration_since(UNIX_EPOCH).unwrap();
        let headers = json!({
            "ID": format!("{:016x}-{place:016x}", at.as_millis()), "event-type": "OrderAuthorized",
            "event-aggregate-type": "Order", "event-aggregate-id": place.to_string(),
        });
        json!({"messageId": place.to_string(), "body": json!({"payload": "{}", "headers": headers}).to_string()})
    };
    let minute = Duration::from_mins(1);
    let records = [record(1, minute), record(2, 2 * minute), record(3, Duration::ZERO)];
    function.invoke(json!({ "Records": records })).await.unwrap();
    function.invoke(sample("OrderAuthorized")).await.unwrap();

    let log = log_of(function).await;
    let metrics: Vec<_> = log.iter().filter(|line| line["_aws"].is_object()).collect();
    assert_eq!(metrics[0]["ClockAhead"], 2);
    let ahead = metrics[0]["ahead_ms"].as_i64().unwrap();
    assert!((100_000..=120_000).contains(&ahead), "two minutes, minus the time of the invocation: {ahead}");
    let lags: Vec<_> =
        metrics[0]["ProjectionLag"].as_array().unwrap().iter().map(|lag| lag.as_i64().unwrap()).collect();
    assert_eq!(lags.iter().filter(|lag| **lag == 0).count(), 2, "{lags:?}");
    assert!(lags.iter().all(|lag| *lag >= 0), "{lags:?}");
    assert_eq!((metrics[1].get("ClockAhead"), metrics[1].get("ahead_ms")), (None, None), "no clock was ahead");
}

#[tokio::test]
async fn the_line_of_a_batch_has_ids_counts_and_metrics_and_no_customer_data() {
    let account = Account::create().await;
    let function = account.function("OrderCreated").await;
    function.invoke(sample("failure-mixed-batch")).await.unwrap();

    let log = log_of(function).await;
    let failures = log.iter().filter(|line| line["level"] == "ERROR").count();
    assert_eq!((log.len(), failures), (4, 3), "one line for each failure, one for the batch: {log:?}");
    let batch = batch_line(&log);
    for field in ["request_id", "timestamp", "level", "message", "slowest_ms"] {
        assert!(!batch[field].is_null(), "no {field} in {batch}");
    }
    assert_eq!(batch["request_id"], log[0]["request_id"]);
    assert_eq!(batch["EventType"], "OrderCreated");
    assert_eq!(batch["Applied"], 2);
    assert_eq!(batch["Duplicate"], 1, "the batch contains the same event twice");
    assert_eq!(batch["Malformed"], 2);
    assert_eq!(batch["Failed"], 1);
    assert_eq!(batch["ProjectionLag"].as_array().unwrap().len(), 2);
    assert_eq!(batch["_aws"]["CloudWatchMetrics"][0]["Namespace"], "FtgoOrderHistory");
    assert_eq!(declared(batch), ["Applied", "Duplicate", "Malformed", "Failed", "ProjectionLag"]);

    let text = serde_json::to_string_pretty(&log).unwrap();
    for private in ["Ajanta", "Vindaloo", "9 Amazing View", "1511300065921", "9.95"] {
        assert!(!text.contains(private), "{private} is in the log:\n{text}");
    }
}

/// Every published metric costs $0.30 per month, even if its value is 0.
#[tokio::test]
async fn a_count_of_zero_is_not_published() {
    let account = Account::create().await;
    let function = account.function("OrderCreated").await;
    let fresh = fresh_orders(1);
    function.invoke(batch(&fresh)).await.unwrap();
    function.invoke(batch(&fresh)).await.unwrap();
    function.invoke(json!({"Records": []})).await.unwrap();

    let log = log_of(function).await;
    assert_eq!(log.len(), 2, "an empty batch has nothing to publish");
    assert_eq!(declared(&log[0]), ["Applied", "ProjectionLag"]);
    assert_eq!(declared(&log[1]), ["Duplicate"]);
    for line in &log {
        for absent in ["Late", "InProgress", "Malformed", "Failed", "ClockAhead"] {
            assert_eq!(line.get(absent), None, "{line}");
        }
    }
}

/// Logs cost $0.50 per gigabyte: 60 bytes per event are $0.03 per million events.
#[tokio::test]
async fn a_full_batch_of_fresh_events_logs_at_most_60_bytes_for_each() {
    let account = Account::create().await;
    // The namespace in `template.yaml`. The longest name of an event type has 16 characters more.
    let function = account.function_with("OrderCreated", &[("METRICS_NAMESPACE", "ftgo-order-history")]).await;
    let events = fresh_orders(10);
    function.invoke(batch(&events)).await.unwrap();

    let lines = function.stop().await.unwrap();
    // Including the line breaks.
    let bytes: usize = lines.iter().map(|line| line.len() + 1).sum();
    println!("{} bytes for each of {} events: {lines:?}", bytes / events.len(), events.len());
    let line: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(line["request_id"].as_str().unwrap().len(), 36, "as long as a request id of Lambda");
    assert_eq!(line["Applied"], 10);
    assert!(bytes <= 60 * events.len(), "{bytes} bytes: {lines:?}");
}

/// An operator uses these ids to find orders whose events arrive late.
#[tokio::test]
async fn the_line_of_a_batch_names_at_most_five_late_events() {
    let account = Account::create().await;
    let created = fresh_orders(6);
    let authorized: Vec<_> = created.iter().map(authorized_after).collect();
    account.function("OrderAuthorized").await.invoke(batch(&authorized)).await.unwrap();
    let function = account.function("OrderCreated").await;
    function.invoke(batch(&created)).await.unwrap();

    let log = log_of(function).await;
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["Late"], 6);
    let named = log[0]["late_event_ids"].as_array().unwrap();
    assert_eq!(named.len(), 5);
    let ids: Vec<_> = created.iter().map(|event| json!(event.id)).collect();
    assert!(named.iter().all(|id| ids.contains(id)), "{named:?}");
}

#[tokio::test]
async fn the_line_of_a_batch_names_events_that_another_invocation_is_processing() {
    let account = Account::create().await;
    let events = fresh_orders(2);
    let records = IdempotencyStore::builder(account.engine.client(), IDEMPOTENCY_TABLE).key_prefix(ORDER_HISTORY_TABLE);
    let message = Message::parse(&events[0].to_message().unwrap()).unwrap();
    let records = records.build().for_at_most(Duration::from_secs(30));
    let claimed = records.claim(&events[0].id.to_string(), &Fingerprint::of(message.content())).await.unwrap();
    assert!(matches!(claimed, Claimed::New(_)), "{claimed:?}");
    let function = account.function("OrderCreated").await;
    let response = function.invoke(batch(&events)).await.unwrap();
    assert_eq!(response["batchItemFailures"].as_array().unwrap().len(), 1);

    let log = log_of(function).await;
    assert_eq!(log.len(), 1, "it has not failed: {log:?}");
    assert_eq!(declared(&log[0]), ["Applied", "InProgress", "ProjectionLag"]);
    assert_eq!(log[0]["in_progress_event_ids"], json!([events[0].id]));
}

#[tokio::test]
async fn metrics_are_printed_at_every_level_and_other_lines_only_at_their_level() {
    let account = Account::create().await;
    let bad = json!({"messageId": "bad", "body": "not JSON"});
    // The variables, and the expected lines for a batch of one good and one bad message.
    let aws = |level: &'static str| vec![("AWS_LAMBDA_LOG_LEVEL", level)];
    let ours = |level: &'static str| vec![("AWS_LAMBDA_LOG_LEVEL", "TRACE"), ("LOG_LEVEL", level)];
    let (details, searchable) = (true, true);
    let cases = [
        (ours("DEBUG"), details, searchable),
        (ours("INFO"), !details, searchable),
        (ours("WARN"), !details, !searchable),
        (ours("ERROR"), !details, !searchable),
        (aws("DEBUG"), details, searchable),
        (aws("WARN"), !details, !searchable),
        (aws("FATAL"), !details, !searchable),
        (vec![("LOG_LEVEL", "")], !details, searchable),
        (vec![], !details, searchable),
    ];
    for (variables, details, searchable) in cases {
        let function = account.function_with("OrderCreated", &variables).await;
        let fresh = fresh_orders(1);
        let mut event = batch(&fresh);
        event["Records"].as_array_mut().unwrap().push(bad.clone());
        function.invoke(event).await.unwrap();

        let log = log_of(function).await;
        let metrics = batch_line(&log);
        assert_eq!(declared(metrics), ["Applied", "Malformed", "ProjectionLag"], "{variables:?}");
        assert_eq!(metrics.get("request_id").is_some(), searchable, "{variables:?}: {metrics}");
        let failures: Vec<_> = log.iter().filter(|line| line["level"] == "ERROR").collect();
        assert_eq!(failures.len(), 1, "{variables:?}");
        for field in ["message_id", "reason", "error", "retryable", "request_id"] {
            assert!(!failures[0][field].is_null(), "no {field} in {}", failures[0]);
        }
        let each: Vec<_> = log.iter().filter(|line| line["level"] == "DEBUG").collect();
        assert_eq!(each.len(), usize::from(details), "{variables:?}: {log:?}");
        for line in &each {
            assert_eq!((&line["event_id"], &line["outcome"]), (&json!(fresh[0].id), &json!("applied")));
            for field in ["request_id", "message_id", "order_id", "lag_ms", "timestamp", "message"] {
                assert!(!line[field].is_null(), "no {field} in {line}");
            }
        }
        assert_eq!(log.len(), 2 + each.len(), "{variables:?}: {log:?}");
    }
}

#[tokio::test]
async fn an_unknown_handler_stops_the_function_at_init_and_the_log_says_what_to_set() {
    let account = Account::create().await;
    let function = account.function("bootstrap").await;
    let Err(InvokeError::Exited { log }) = function.invoke(sample("OrderCreated")).await else {
        panic!("the function starts");
    };
    assert!(log.contains("Handler (_HANDLER) must be one of OrderCreated, "), "{log}");
}

/// The tables, and functions that use them.
struct Account {
    engine: Engine,
}

impl Account {
    async fn create() -> Self {
        let engine = Engine::start();
        let client = engine.client();
        order_store::table::create(&client, ORDER_HISTORY_TABLE).unwrap().send().await.unwrap();
        idempotency::create_table(&client, IDEMPOTENCY_TABLE).await.unwrap();
        Self { engine }
    }

    async fn function(&self, handler: &str) -> Function {
        self.function_with(handler, &[]).await
    }

    async fn function_with(&self, handler: &str, variables: &[(&str, &str)]) -> Function {
        let environment = [
            ("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE.to_owned()),
            ("IDEMPOTENCY_TABLE", IDEMPOTENCY_TABLE.to_owned()),
            ("AWS_ENDPOINT_URL_DYNAMODB", self.engine.endpoint()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "local".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "local".to_owned()),
        ];
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_event-handler"));
        let mut settings = Settings::new(&format!("ftgo-order-history-{handler}"), handler, binary);
        settings.environment = environment.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let more = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        settings.environment.extend(more);
        Function::start(settings).await.unwrap()
    }

    /// Checks that every order of these events is equal to the fold of its events.
    async fn assert_stored(&self, events: &[Event]) {
        let store = OrderStore::new(self.engine.client(), ORDER_HISTORY_TABLE);
        for (order_id, state) in fold(events).unwrap().states {
            let found = store.find_order(&order_id.parse().unwrap()).await.unwrap();
            assert_eq!(found.map(|found| found.state), Some(state));
        }
    }
}

/// `OrderCreated` events of now, each of another order.
fn fresh_orders(n: u64) -> Vec<Event> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let order = |n: u64| Event {
        id: format!("{:016x}-{n:016x}", now.as_millis()).parse().unwrap(),
        aggregate_id: format!("{}-{n}", now.as_nanos()).parse().unwrap(),
        ..story()[0].clone()
    };
    (1..=n).map(order).collect()
}

/// A later event of the same order.
fn authorized_after(created: &Event) -> Event {
    let mut id = created.id.to_string();
    id.replace_range(17..18, "f");
    let authorized = story().into_iter().find(|event| event.event_type() == EventType::OrderAuthorized).unwrap();
    Event { id: id.parse().unwrap(), payload: authorized.payload, ..created.clone() }
}

/// A batch of these events as SQS delivers it.
fn batch(events: &[Event]) -> Value {
    let record = |(place, event): (usize, &Event)| json!({"messageId": format!("059f36b4-87a3-44ab-83d2-{place:012}"), "body": event.to_message().unwrap()});
    json!({"Records": events.iter().enumerate().map(record).collect::<Vec<_>>()})
}

/// The only line with metrics.
fn batch_line(log: &[Value]) -> &Value {
    let mut lines = log.iter().filter(|line| line["_aws"].is_object());
    let line = lines.next().unwrap();
    assert_eq!(lines.next(), None);
    line
}

/// The metrics that a line declares. Each must have a value in the line.
fn declared(line: &Value) -> Vec<&str> {
    let metrics = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap();
    let names: Vec<_> = metrics.iter().map(|metric| metric["Name"].as_str().unwrap()).collect();
    for name in &names {
        assert!(line[name].is_number() || line[name].is_array(), "{name} is declared but has no value");
    }
    names
}

/// The valid events of a batch.
fn events_in(batch: &Value) -> Vec<Event> {
    let records = batch["Records"].as_array().unwrap();
    records
        .iter()
        .filter_map(|record| Message::parse(record["body"].as_str().unwrap()).ok())
        .map(|message| message.event)
        .collect()
}

/// The function's log. Each line must be JSON.
async fn log_of(function: Function) -> Vec<Value> {
    let lines = function.stop().await.unwrap();
    lines.iter().map(|line| serde_json::from_str(line).expect(line)).collect()
}
