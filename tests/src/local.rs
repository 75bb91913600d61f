//! The system of `make run`, in its own process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_http_client::Builder as HttpClientBuilder;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use order_events::EventType;
use sample_events::IDEMPOTENCY_TABLE;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use uuid::Uuid;

use crate::aws::Aws;
use crate::order::PublishedEvent;
use crate::system::{Environment, System, eventually};

const PORTS: [&str; 6] = ["HTTP_PORT", "DYNAMODB_PORT", "SQS_PORT", "SNS_PORT", "S3_PORT", "GATEWAY_PORT"];

/// The topic of all events.
const TOPIC: &str = "arn:aws:sns:us-east-1:000000000000:domain-events";

/// The largest number of messages that one request publishes: <https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html>.
const BATCH: usize = 10;

/// The process of `make run` and its data. Both are removed with this value.
#[derive(Debug)]
pub struct Local {
    process: Child,
    data: DataDir,
    dynamodb: String,
    sns: Option<Aws>,
    /// Kept, because the process cannot write after its output is closed.
    #[allow(dead_code)]
    output: Option<Lines<BufReader<ChildStdout>>>,
}

/// A folder that is removed with this value.
#[derive(Debug)]
pub struct DataDir(PathBuf);

impl DataDir {
    /// The path of a new folder, which does not exist yet.
    #[must_use]
    pub fn new() -> Self {
        Self(std::env::temp_dir().join(format!("end-to-end-{}", Uuid::new_v4())))
    }

    /// The folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Default for DataDir {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        // The folder does not exist if the start failed.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Starts an empty system with a short visibility timeout.
pub async fn start() -> System<Local> {
    start_on(DataDir::new(), 4).await
}

/// Starts a system on this data, with a visibility timeout in seconds. It requires tokens, as in production.
pub async fn start_on(data: DataDir, visibility_timeout: u32) -> System<Local> {
    let mut command = command(data.path());
    command.env("DEMO", "0").env("VISIBILITY_TIMEOUT", visibility_timeout.to_string());
    start_with(command, data).await
}

/// Starts a system with the demo on this data.
pub async fn start_with_demo_on(data: DataDir) -> System<Local> {
    start_with(command(data.path()), data).await
}

/// The command that starts a system on this data, at free ports.
#[must_use]
pub fn command(data: &Path) -> Command {
    let mut command = Command::new(built_binary("local"));
    command.envs(PORTS.map(|variable| (variable, "0"))).env("DATA_DIR", data).env("AUTHORIZATION", "jwt");
    command
}

/// Starts a system with this command on this data.
pub async fn start_with(mut command: Command, data: DataDir) -> System<Local> {
    fs::create_dir_all(&data.0).unwrap();
    let process = command
        .stdout(Stdio::piped())
        .stderr(fs::File::options().create(true).append(true).open(data.0.join("stderr.log")).unwrap())
        .spawn()
        .unwrap();
    // From here on the process ends with this value, also after a panic.
    let mut local = Local { process, data, dynamodb: String::new(), sns: None, output: None };
    let errors = local.data.0.join("stderr.log");
    let errors = || fs::read_to_string(&errors).unwrap();
    let mut output = BufReader::new(local.process.stdout.take().unwrap()).lines();
    let ready = output.next_line().await.unwrap().unwrap_or_else(|| panic!("the system does not start: {}", errors()));
    let api = ready.strip_prefix("ready ").unwrap_or_else(|| panic!("unexpected first line: {ready}")).to_owned();
    let endpoints = loop {
        let line = output.next_line().await.unwrap().expect("the system does not print its endpoints");
        if line.starts_with("DynamoDB at ") {
            break line;
        }
    };
    let endpoint = |service: &str| {
        let (_, rest) =
            endpoints.split_once(&format!("{service} at ")).unwrap_or_else(|| panic!("no {service} in {endpoints}"));
        rest.split_once(',').unwrap().0.to_owned()
    };
    let sqs = endpoint("SQS");
    let queues = format!("{sqs}/000000000000/ftgo-order-history-");
    local.dynamodb = endpoint("DynamoDB");
    local.sns = Some(Aws::new(&endpoint("SNS"), "us-east-1", "local", "local"));
    local.output = Some(output);
    let (payments, gateway) = (api.clone(), endpoint("the payment gateway"));
    System::new(local, Aws::new(&sqs, "us-east-1", "local", "local"), api, queues, payments, gateway)
}

/// The path of a binary that `cargo test --workspace` builds.
pub(crate) fn built_binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let binary = test.ancestors().nth(2).unwrap().join(name);
    assert!(
        binary.exists(),
        "there is no {}: `cargo test --workspace` builds it, and so do `make storm` and `make run`",
        binary.display()
    );
    binary
}

impl System<Local> {
    /// Stops the system as Ctrl-C does, and returns its data after all its processes have ended.
    pub async fn stop(mut self) -> DataDir {
        let functions = self.functions().await;
        assert!(!functions.is_empty(), "the system has no functions");
        let process = self.process().to_string();
        kill("-INT", &process).await;
        assert!(self.environment.process.wait().await.unwrap().success(), "the system ends with an error");
        eventually("its functions to end", async || {
            let output = Command::new("ps").args(["-o", "pid=", "-p", &functions.join(",")]).output().await.unwrap();
            output.stdout.is_empty().then_some(())
        })
        .await;
        std::mem::take(&mut self.environment.data)
    }

    /// The id of the system's process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.environment.process.id().expect("it runs")
    }

    /// Kills the system as a crash does, and returns its data.
    pub async fn crash(mut self) -> DataDir {
        self.environment.process.kill().await.unwrap();
        std::mem::take(&mut self.environment.data)
    }

    /// The folder with its data.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.environment.data.path()
    }

    /// The ids of its functions' processes.
    pub async fn functions(&self) -> Vec<String> {
        let process = self.process().to_string();
        let output =
            Command::new("pgrep").args(["-P", &process]).output().await.expect("pgrep (package procps) is needed");
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
    }

    /// The log of an event type's function.
    #[must_use]
    pub fn log(&self, event_type: EventType) -> String {
        let file = Path::new("logs").join(format!("ftgo-order-history-{event_type}.log"));
        fs::read_to_string(self.environment.data.0.join(file)).unwrap_or_default()
    }

    /// The number of messages in the charge handler's queue.
    pub async fn charges_waiting(&self) -> u64 {
        let queue = self.queues.replace("ftgo-order-history-", "ftgo-payments-charge");
        self.depth(&queue).await
    }

    /// The number of events that are not published yet.
    pub async fn outbox_rows(&self) -> u64 {
        count(self.tables().scan().table_name("ftgo-payments-outbox")).await
    }

    /// The number of locks that are held. A killed function's lock is free when its lease has expired; its record stays until another
    /// owner takes it or the time to live deletes it.
    pub async fn locks_held(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
        let held = self.tables().scan().table_name("ftgo-payments-locks").filter_expression("#expiresAt >= :now");
        let now = AttributeValue::N(now.to_string());
        count(held.expression_attribute_names("#expiresAt", "expiresAt").expression_attribute_values(":now", now)).await
    }

    /// Publishes messages to the topic, each with its event type as an attribute, by which the topic selects the queue.
    pub async fn publish_messages(&self, messages: &[(String, String)]) {
        let sns = self.environment.sns.as_ref().expect("it runs");
        for batch in messages.chunks(BATCH) {
            let mut parameters = vec![("TopicArn".to_owned(), TOPIC.to_owned())];
            for (number, (event_type, body)) in (1..).zip(batch) {
                let entry = format!("PublishBatchRequestEntries.member.{number}");
                let attribute = format!("{entry}.MessageAttributes.entry.1");
                parameters.extend([
                    (format!("{entry}.Id"), number.to_string()),
                    (format!("{entry}.Message"), body.clone()),
                    (format!("{attribute}.Name"), "event-type".to_owned()),
                    (format!("{attribute}.Value.DataType"), "String".to_owned()),
                    (format!("{attribute}.Value.StringValue"), event_type.clone()),
                ]);
            }
            let parameters: Vec<_> = parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let response = sns.query("sns", "2010-03-31", "PublishBatch", &parameters).await;
            assert_eq!(response.matches("<MessageId>").count(), batch.len(), "{response}");
        }
    }

    /// The URL of its DynamoDB.
    #[must_use]
    pub fn dynamodb(&self) -> &str {
        &self.environment.dynamodb
    }

    pub(crate) fn tables(&self) -> Client {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(&self.environment.dynamodb)
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "end-to-end"))
            .http_client(HttpClientBuilder::new().build_http());
        Client::from_conf(config.build())
    }
}

async fn count(scan: ScanFluentBuilder) -> u64 {
    let pages: Vec<_> = scan.consistent_read(true).into_paginator().send().collect::<Result<_, _>>().await.unwrap();
    pages.iter().map(|page| u64::try_from(page.count).unwrap()).sum()
}

/// Sends a signal to a process, which may have ended.
pub async fn kill(signal: &str, process: &str) {
    let _ = Command::new("kill").args([signal, "--", process]).stderr(Stdio::null()).status().await;
}

impl Drop for Local {
    fn drop(&mut self) {
        // SIGTERM, not SIGKILL: the system must stop its functions.
        if let Some(process) = self.process.id() {
            let _ = std::process::Command::new("kill").args(["-TERM", &process.to_string()]).status();
            while matches!(self.process.try_wait(), Ok(None)) {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
        }
    }
}

impl Environment for Local {
    /// Publishes to the topic, which selects the queues.
    async fn publish(system: &System<Self>, events: &[PublishedEvent]) {
        let messages: Vec<_> = events.iter().map(|event| (event.type_name.clone(), event.body.clone())).collect();
        system.publish_messages(&messages).await;
    }

    /// The local system does not check signatures.
    fn token(&self, claims: &Value) -> String {
        let parts =
            [json!({"alg": "none"}), claims.clone()].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()));
        format!("{}.", parts.join("."))
    }

    /// No function can work without the table of idempotency records.
    async fn break_function(system: &System<Self>, _: EventType) {
        system.tables().delete_table().table_name(IDEMPOTENCY_TABLE).send().await.unwrap();
    }

    async fn repair_function(system: &System<Self>, _: EventType) {
        idempotency::create_table(&system.tables(), IDEMPOTENCY_TABLE).await.unwrap();
    }

    async fn redrive(system: &System<Self>, event_type: EventType) {
        let source = format!("arn:aws:sqs:us-east-1:000000000000:ftgo-order-history-{event_type}-dlq");
        system.aws.sqs("StartMessageMoveTask", &json!({"SourceArn": source})).await;
    }
}
