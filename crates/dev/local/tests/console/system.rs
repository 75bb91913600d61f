//! Starts the system of `make run` in its own process, and calls its console.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};

const PORTS: [&str; 6] = ["HTTP_PORT", "DYNAMODB_PORT", "SQS_PORT", "SNS_PORT", "S3_PORT", "GATEWAY_PORT"];

/// The longest wait for a condition.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A running system. It ends with this value.
pub(crate) struct System {
    process: Child,
    folder: PathBuf,
    pub(crate) client: Client,
    /// The URL of the HTTP API.
    pub(crate) http: String,
    sns: String,
    dynamodb: String,
    /// Kept, because the process cannot write after its output is closed.
    _output: Lines<BufReader<ChildStdout>>,
}

impl System {
    /// Starts a system with these variables.
    pub(crate) fn start(name: &str, environment: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("console-{}-{name}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_local"));
        assert!(binary.with_file_name("event-handler").exists(), "`cargo test --workspace` builds the functions");
        let mut process = Command::new(binary)
            .envs(PORTS.map(|variable| (variable, "0")))
            .env("DATA_DIR", &folder)
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(folder.join("stderr.log")).unwrap())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut lines = output.by_ref().map(Result::unwrap);
        let ready = lines.next().unwrap_or_else(|| fs::read_to_string(folder.join("stderr.log")).unwrap());
        let http = ready.strip_prefix("ready ").unwrap_or_else(|| panic!("{ready}")).to_owned();
        let places = lines.find(|line| line.starts_with("DynamoDB at ")).unwrap();
        let place = |service: &str| {
            let (_, rest) = places.split_once(&format!("{service} at ")).unwrap();
            rest.split_once(',').unwrap().0.to_owned()
        };
        let (sns, dynamodb) = (place("SNS"), place("DynamoDB"));
        Self { process, folder, client: Client::new(), http, sns, dynamodb, _output: output }
    }

    /// A GET of a path of the console.
    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}/console/{path}", self.http))
    }

    /// A POST of JSON to the console.
    pub(crate) fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        let request = self.client.post(format!("{}/console/{path}", self.http));
        request.header("content-type", "application/json").body(body.to_string())
    }

    /// The response to a GET of the API, which must succeed.
    pub(crate) async fn read(&self, path: &str) -> Value {
        let (status, response) = send(self.get(&format!("api/{path}"))).await;
        assert_eq!(status, StatusCode::OK, "{response}");
        response
    }

    /// The response to a POST of the API, which must succeed.
    pub(crate) async fn act(&self, path: &str, body: Value) -> Value {
        let (status, response) = send(self.post(&format!("api/{path}"), &body)).await;
        assert_eq!(status, StatusCode::OK, "{response}");
        response
    }

    /// Waits until the console's response meets a condition.
    pub(crate) async fn eventually<T>(&self, path: &str, find: impl Fn(&Value) -> Option<T>) -> T {
        eventually(|| self.get(&format!("api/{path}")), find).await
    }

    /// Publishes a message of an event type to the topic.
    pub(crate) async fn publish(&self, event_type: &str, message: &str) {
        let state = self.read("state").await;
        let form = [
            ("Action", "Publish"),
            ("Version", "2010-03-31"),
            ("TopicArn", state["topic"]["arn"].as_str().unwrap()),
            ("Message", message),
            ("MessageAttributes.entry.1.Name", "event-type"),
            ("MessageAttributes.entry.1.Value.DataType", "String"),
            ("MessageAttributes.entry.1.Value.StringValue", event_type),
        ];
        let encode = |text: &str| text.bytes().fold(String::new(), |text, byte| format!("{text}%{byte:02X}"));
        let form: Vec<_> = form.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        let request = self.client.post(&self.sns).header("content-type", "application/x-www-form-urlencoded");
        let response = request.body(form.join("&")).send().await.unwrap();
        assert!(response.status().is_success(), "{}", response.text().await.unwrap());
    }

    /// Adds an attribute directly to an order's item.
    pub(crate) async fn add_attribute(&self, order_id: &str, attribute: &str) {
        let update = json!({
            "TableName": "ftgo-order-history",
            "Key": {"orderId": {"S": order_id}},
            "UpdateExpression": "SET #name = :value",
            "ExpressionAttributeNames": {"#name": attribute},
            "ExpressionAttributeValues": {":value": {"S": "changed"}},
        });
        let request = self.client.post(&self.dynamodb).header("x-amz-target", "DynamoDB_20120810.UpdateItem");
        let request = request.header("content-type", "application/x-amz-json-1.0").body(update.to_string());
        // The signature is not checked, but it must exist.
        let signature = "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0";
        let request = request.header("authorization", signature).header("x-amz-date", "20260101T000000Z");
        let response = request.send().await.unwrap();
        assert!(response.status().is_success(), "{}", response.text().await.unwrap());
    }

    /// Runs a shuffle to its end, and returns its last state.
    pub(crate) async fn shuffle(&self, seed: u64) -> Value {
        let started = self.act("shuffles", json!({"seed": seed})).await;
        self.shuffled(started["id"].as_str().unwrap()).await
    }

    /// Waits for the end of a shuffle, and returns its last state.
    pub(crate) async fn shuffled(&self, id: &str) -> Value {
        self.eventually(&format!("shuffles/{id}"), |shown| (shown["running"] == false).then(|| shown.clone())).await
    }
}

/// Repeats a request until its response meets a condition.
pub(crate) async fn eventually<T>(request: impl Fn() -> RequestBuilder, find: impl Fn(&Value) -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        let (status, shown) = send(request()).await;
        assert_eq!(status, StatusCode::OK, "{shown}");
        if let Some(found) = find(&shown) {
            return found;
        }
        assert!(began.elapsed() < TIMEOUT, "the condition was not met in time: {shown}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Sends a request; returns the status and the JSON of its response.
pub(crate) async fn send(request: RequestBuilder) -> (StatusCode, Value) {
    let response = request.send().await.unwrap();
    let (status, text) = (response.status(), response.text().await.unwrap());
    (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("{status}: {text}")))
}

impl Drop for System {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", fs::read_to_string(self.folder.join("stderr.log")).unwrap_or_default());
        }
        // SIGTERM, not SIGKILL: the system must stop its functions.
        let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
