//! The real binary behind a Lambda Runtime API, with the events of `events/`.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on should stop there.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use embedded_dynamodb::Engine;
use lambda_host::lambda::{Function, InvokeError, Settings};
use order_events::{Event, EventType, Message};
use order_store::OrderStore;
use order_view::fold;
use sample_events::{IDEMPOTENCY_TABLE, ORDER_HISTORY_TABLE, sample};
use serde_json::{Value, json};

#[tokio::test]
async fn all_functions_take_their_sample_event_and_leave_its_effect() {
    let account = Account::create().await;
    let mut projected = Vec::new();
    for &event_type in EventType::ALL {
        let event = sample(event_type.name());
        let function = account.function(event_type.name()).await;
        let response = function.invoke(event.clone()).await.unwrap();
        assert_eq!(response, json!({"batchItemFailures": []}), "{event_type}");
        projected.extend(events_in(&event));
    }
    account.assert_holds(&projected).await;
}

#[tokio::test]
async fn an_sns_notification_and_an_eventbridge_event_are_unwrapped() {
    let account = Account::create().await;
    let event = sample("wrapped-in-sns-and-eventbridge");
    let function = account.function("OrderCreated").await;
    assert_eq!(function.invoke(event.clone()).await.unwrap(), json!({"batchItemFailures": []}));
    account.assert_holds(&events_in(&event)).await;
}

#[tokio::test]
async fn a_mixed_batch_gives_back_only_its_bad_messages() {
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
    assert_eq!(reasons, BTreeMap::from(expected), "each failure once, with its reason");
    let mut good = events_in(&event);
    good.retain(|event| event.event_type() == EventType::OrderCreated);
    assert_eq!(good.len(), 3, "two orders, one of them twice");
    account.assert_holds(&good).await;
}

#[tokio::test]
async fn a_batch_of_one_bad_message_is_the_functions_error() {
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
        assert_eq!(log.iter().filter(of_batch).count(), 2, "one line for its message, one for the batch");
    }
    assert!(log.iter().all(|line| line["level"] != "ERROR" || line["request_id"].is_string()), "{log:?}");
}

/// 256 KB of somebody's text must not become log lines of 256 KB.
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
    let answer = function.invoke(json!({ "Records": records })).await;
    assert!(matches!(answer, Err(InvokeError::Function(_))), "{answer:?}");
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
    let lags: Vec<_> =
        metrics[0]["ProjectionLag"].as_array().unwrap().iter().map(|lag| lag.as_i64().unwrap()).collect();
    assert_eq!(lags.iter().filter(|lag| **lag == 0).count(), 2, "{lags:?}");
    assert!(lags.iter().all(|lag| *lag >= 0), "{lags:?}");
    assert_eq!(metrics[1].get("ClockAhead"), None, "no clock was ahead");
}

#[tokio::test]
async fn every_line_is_json_with_ids_and_outcome_metrics_and_no_customer_data() {
    let account = Account::create().await;
    let function = account.function("OrderCreated").await;
    function.invoke(sample("failure-mixed-batch")).await.unwrap();

    let log = log_of(function).await;
    let projected = log.iter().find(|line| line["outcome"] == "applied").unwrap();
    for field in ["request_id", "message_id", "event_id", "order_id", "lag_ms", "timestamp", "level"] {
        assert!(!projected[field].is_null(), "no {field} in {projected}");
    }
    let metrics = log.iter().find(|line| line["_aws"].is_object()).unwrap();
    assert_eq!(metrics["EventType"], "OrderCreated");
    assert_eq!(metrics["Applied"], 2);
    assert_eq!(metrics["Duplicate"], 1, "the same event twice in the batch");
    assert_eq!(metrics["Malformed"], 2);
    assert_eq!(metrics["Failed"], 1);
    assert_eq!(metrics["ProjectionLag"].as_array().unwrap().len(), 2);
    let declared = &metrics["_aws"]["CloudWatchMetrics"][0];
    assert_eq!(declared["Namespace"], "FtgoOrderHistory");
    for metric in declared["Metrics"].as_array().unwrap() {
        let name = metric["Name"].as_str().unwrap();
        assert!(!metrics[name].is_null(), "{name} is declared but has no value");
    }

    let text = serde_json::to_string_pretty(&log).unwrap();
    for private in ["Ajanta", "Vindaloo", "9 Amazing View", "1511300065921", "9.95"] {
        assert!(!text.contains(private), "{private} is in the log:\n{text}");
    }
}

#[tokio::test]
async fn an_unknown_handler_stops_at_init_and_says_what_to_set() {
    let account = Account::create().await;
    let function = account.function("bootstrap").await;
    let Err(InvokeError::Exited { log }) = function.invoke(sample("OrderCreated")).await else {
        panic!("it runs");
    };
    assert!(log.contains("Handler (_HANDLER) names no event type"), "{log}");
}

/// Both tables, and functions that know where they are.
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

    /// Every order of these events is what `fold` makes of them.
    async fn assert_holds(&self, events: &[Event]) {
        let store = OrderStore::new(self.engine.client(), ORDER_HISTORY_TABLE);
        for (order_id, state) in fold(events).unwrap().states {
            let found = store.find_order(&order_id.parse().unwrap()).await.unwrap();
            assert_eq!(found.map(|found| found.state), Some(state));
        }
    }
}

/// The events in a batch that are well-formed.
fn events_in(batch: &Value) -> Vec<Event> {
    let records = batch["Records"].as_array().unwrap();
    records
        .iter()
        .filter_map(|record| Message::parse(record["body"].as_str().unwrap()).ok())
        .map(|message| message.event)
        .collect()
}

/// All that the function printed: each line must be JSON.
async fn log_of(function: Function) -> Vec<Value> {
    let lines = function.stop().await.unwrap();
    lines.iter().map(|line| serde_json::from_str(line).expect(line)).collect()
}
