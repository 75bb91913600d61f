//! The real binary behind a Lambda Runtime API, with an S3 in this process.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A failed unwrap fails the test.

#[cfg(target_os = "linux")] // It reads /proc.
mod killed;

use std::path::{Path, PathBuf};

use archive::{Store, read};
use lambda_host::buckets::{Buckets, SECRET};
use lambda_host::lambda::{Function, InvokeError, Settings};
use sample_events::sample;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use uuid::Uuid;

const BUCKET: &str = "ftgo-order-history-archive";

#[tokio::test]
async fn every_sample_is_archived_unchanged() {
    let account = Account::create().await;
    let function = account.function(&[]).await;
    let names = ["OrderCreated", "failure-mixed-batch", "wrapped-in-sns-and-eventbridge", "failure-malformed-body"];
    let mut expected = Vec::new();
    for name in names {
        let event = sample(name);
        assert_eq!(function.invoke(event.clone()).await.unwrap(), json!({"batchItemFailures": []}), "{name}");
        let records = event["Records"].as_array().unwrap().iter();
        expected.extend(records.map(|record| record["body"].as_str().unwrap().to_owned()));
    }
    let mut archived = account.records().await;
    for record in &mut archived {
        // A text that is not a JSON object is kept as a JSON string.
        if let Ok(Value::String(text)) = serde_json::from_str(record) {
            *record = text;
        }
    }
    archived.sort_unstable();
    expected.sort_unstable();
    assert_eq!(archived, expected);
    assert_eq!(account.store().list("events/dt=").await.unwrap().len(), names.len(), "an object for each batch");
}

#[tokio::test]
async fn the_log_line_of_a_batch_contains_its_object_and_metrics_but_no_customer_data() {
    let account = Account::create().await;
    let function = account.function(&[("METRICS_NAMESPACE", "ftgo-staging")]).await;
    let event = sample("failure-mixed-batch");
    function.invoke(event.clone()).await.unwrap();
    function.invoke(json!({"Records": []})).await.unwrap();

    let log = log_of(function).await;
    assert_eq!(log.len(), 1, "an empty batch is not logged: {log:?}");
    let line = &log[0];
    assert_eq!(line["Archived"], event["Records"].as_array().unwrap().len());
    assert_eq!(line["object"], account.store().list("").await.unwrap()[0].key);
    for field in ["request_id", "timestamp", "level", "message", "bytes"] {
        assert!(!line[field].is_null(), "no {field} in {line}");
    }
    let metrics = &line["_aws"]["CloudWatchMetrics"][0];
    assert_eq!(metrics["Namespace"], "ftgo-staging");
    assert_eq!(metrics["Metrics"], json!([{"Name": "Archived", "Unit": "Count"}]));
    assert_eq!((&metrics["Dimensions"], &line["Function"]), (&json!([["Function"]]), &json!("archiver")));

    let text = serde_json::to_string(&log).unwrap();
    for private in ["Ajanta", "Vindaloo", "9 Amazing View", "1511300065921", "9.95"] {
        assert!(!text.contains(private), "{private} is in the log:\n{text}");
    }
}

/// The queue keeps every message of a batch whose function failed, and an alarm sees it.
#[tokio::test]
async fn a_batch_that_cannot_be_stored_fails_the_invocation() {
    let account = Account::create().await;
    let function = account.function(&[("ARCHIVE_BUCKET", "no-such-bucket")]).await;
    let Err(InvokeError::Function(error)) = function.invoke(sample("OrderCreated")).await else {
        panic!("the batch was acknowledged");
    };
    assert_eq!(error["errorType"], "NotArchived");
    let message = error["errorMessage"].as_str().unwrap();
    assert!(message.contains("archive_bucket_missing") && message.contains("no-such-bucket"), "{message}");

    let log = log_of(function).await;
    assert_eq!(log.len(), 2, "{log:?}");
    assert_eq!(log[0]["Failed"], 1);
    assert_eq!((&log[1]["level"], &log[1]["reason"]), (&json!("ERROR"), &json!("archive_bucket_missing")));
    for field in ["request_id", "messages", "retryable", "error"] {
        assert!(!log[1][field].is_null(), "no {field} in {}", log[1]);
    }
    assert!(!serde_json::to_string(&log).unwrap().contains("Ajanta"));
}

#[tokio::test]
async fn missing_credentials_and_a_missing_network_are_different_errors() {
    let account = Account::create().await;
    for (variables, reason) in [
        ([("AWS_ACCESS_KEY_ID", ""), ("AWS_SECRET_ACCESS_KEY", "")], "archive_credentials"),
        ([("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1"), ("LOG_LEVEL", "INFO")], "archive_unavailable"),
    ] {
        let function = account.function(&variables).await;
        let Err(InvokeError::Function(error)) = function.invoke(sample("OrderCreated")).await else {
            panic!("the batch was acknowledged");
        };
        let message = error["errorMessage"].as_str().unwrap();
        assert!(message.contains(reason), "{message}");
    }
}

#[tokio::test]
async fn objects_are_stored_under_the_configured_prefix() {
    let account = Account::create().await;
    let function = account.function(&[("ARCHIVE_PREFIX", "/order-history/")]).await;
    function.invoke(sample("OrderCreated")).await.unwrap();
    let objects = account.store().list("").await.unwrap();
    assert_eq!(objects.len(), 1);
    assert!(objects[0].key.starts_with("order-history/events/dt="), "{objects:?}");
}

#[tokio::test]
async fn a_missing_variable_stops_the_function_at_init_and_the_log_says_what_to_set() {
    let account = Account::create().await;
    let function = account.function(&[("ARCHIVE_BUCKET", "")]).await;
    let Err(InvokeError::Exited { log }) = function.invoke(sample("OrderCreated")).await else {
        panic!("the function starts");
    };
    assert!(
        log.contains("environment variable ARCHIVE_BUCKET is not set: set it to the name of the archive's bucket"),
        "{log}"
    );
}

/// A bucket, and functions that use it.
struct Account {
    root: PathBuf,
    endpoint: String,
    _server: JoinSet<()>,
}

impl Account {
    async fn create() -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("archiver-{}", Uuid::new_v4()));
        let buckets = Buckets::open(&root).unwrap();
        buckets.create(BUCKET).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let mut server = JoinSet::new();
        server.spawn(async move { buckets.serve(listener).await.unwrap() });
        Self { root, endpoint, _server: server }
    }

    async fn function(&self, variables: &[(&str, &str)]) -> Function {
        Function::start(self.settings(variables)).await.unwrap()
    }

    fn settings(&self, variables: &[(&str, &str)]) -> Settings {
        let environment = [
            ("ARCHIVE_BUCKET", BUCKET),
            ("AWS_ENDPOINT_URL_S3", &self.endpoint),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
        ];
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_archiver"));
        let mut settings = Settings::new("ftgo-order-history-archiver", "bootstrap", binary);
        let variables = environment.iter().chain(variables);
        settings.environment = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        settings
    }

    /// The bucket's objects are files.
    fn store(&self) -> Store {
        Store::folder(self.root.join(BUCKET))
    }

    async fn records(&self) -> Vec<String> {
        let mut records = Vec::new();
        for object in self.store().list("").await.unwrap() {
            let bytes = self.store().get(&object.key).await.unwrap().unwrap();
            read(&bytes, |record| records.push(String::from_utf8(record.text.to_vec()).unwrap())).unwrap();
        }
        records
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// The function's log. Each line must be JSON.
async fn log_of(function: Function) -> Vec<Value> {
    let lines = function.stop().await.unwrap();
    lines.iter().map(|line| serde_json::from_str(line).expect(line)).collect()
}
