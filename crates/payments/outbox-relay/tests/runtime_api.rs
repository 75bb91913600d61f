//! The real binary behind a Lambda Runtime API, with the events of `events/payments/`, a table and a topic.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A failed unwrap fails the test.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use embedded_dynamodb::Engine;
use lambda_host::lambda::{Function, InvokeError, Settings};
use lambda_host::queues::{self, Queue, Queues};
use lambda_host::topics::{Subscription, Topic, Topics};
use outbox::{EventRow, Outbox, create_table};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

const TABLE: &str = "ftgo-payments-outbox";

#[tokio::test]
async fn a_new_row_is_published_with_its_type_and_deleted() {
    let account = Account::create().await;
    let row = account.put_the_samples_row(SystemTime::now()).await;
    let function = account.function("relay", &[]).await;
    assert_eq!(function.invoke(sample("relay")).await.unwrap(), json!({"batchItemFailures": []}));
    assert_eq!(account.received().await, [row.message]);
    assert_eq!(account.rows().await, 0);

    let log = log_of(function).await;
    let [line] = &log[..] else { panic!("{log:?}") };
    assert_eq!((&line["Function"], declared(line)), (&json!("relay"), vec!["Published"]));
    assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Namespace"], "FtgoPayments");
    assert!(line["request_id"].is_string(), "{line}");
}

#[tokio::test]
async fn a_row_that_cannot_be_published_does_not_delay_the_others() {
    let account = Account::create().await;
    let row = account.put_the_samples_row(SystemTime::now()).await;
    let mut event = sample("relay-poison-row");
    event["Records"].as_array_mut().unwrap().push(sample("relay")["Records"][0].clone());
    let function = account.function("relay", &[("METRICS_NAMESPACE", "staging")]).await;
    assert_eq!(function.invoke(event).await.unwrap(), json!({"batchItemFailures": []}));
    assert_eq!(account.received().await, [row.message]);

    let log = log_of(function).await;
    assert_eq!(log.iter().filter(|line| line["reason"] == "row_malformed").count(), 1, "{log:?}");
    let line = log.iter().find(|line| line["_aws"].is_object()).unwrap();
    assert_eq!(declared(line), ["Published", "PoisonRows"]);
    assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Namespace"], "staging");
}

#[tokio::test]
async fn if_nothing_of_a_batch_can_be_published_the_invocation_fails_and_the_rows_stay() {
    let account = Account::create().await;
    account.put_the_samples_row(SystemTime::now()).await;
    let nowhere = "arn:aws:sns:us-east-1:000000000000:nowhere";
    let function = account.function("relay", &[("TOPIC_ARN", nowhere)]).await;
    let Err(InvokeError::Function(error)) = function.invoke(sample("relay")).await else {
        panic!("a row was published")
    };
    assert_eq!(error["errorType"], "NothingPublished");
    assert_eq!(account.rows().await, 1);
    let log = log_of(function).await;
    let line = log.iter().find(|line| line["_aws"].is_object()).unwrap();
    assert_eq!(declared(line), ["PublishFailures"]);
    assert!(log.iter().any(|line| line["reason"] == "topic_rejected"), "{log:?}");
}

#[tokio::test]
async fn the_sweeper_publishes_only_old_rows() {
    let account = Account::create().await;
    let row = account.put_the_samples_row(SystemTime::now() - Duration::from_mins(20)).await;
    let young = EventRow { version: 4, event_id: "young".to_owned(), at: SystemTime::now(), ..row.clone() };
    account.put(&young).await;
    let function = account.function("sweep", &[]).await;
    function.invoke(sample("sweep")).await.unwrap();
    assert_eq!(account.received().await, [row.message]);
    assert_eq!(account.rows().await, 1, "the young row is left to the relay");

    let log = log_of(function).await;
    let [line] = &log[..] else { panic!("{log:?}") };
    assert_eq!((&line["Function"], declared(line)), (&json!("sweep"), vec!["SweptRows", "BacklogRows", "BacklogAge"]));
    assert!((1_200..1_260).contains(&line["BacklogAge"].as_u64().unwrap()), "{line}");

    let at_once = account.function("sweep", &[("SWEEP_AFTER_SECONDS", "0")]).await;
    at_once.invoke(sample("sweep")).await.unwrap();
    assert_eq!(account.rows().await, 0);
}

#[tokio::test]
async fn a_run_of_the_sweeper_that_cannot_read_or_publish_fails() {
    let account = Account::create().await;
    account.put_the_samples_row(SystemTime::now() - Duration::from_mins(20)).await;
    let nowhere = "arn:aws:sns:us-east-1:000000000000:nowhere";
    for (name, value, expected) in [
        ("OUTBOX_TABLE", "nowhere", "the outbox table does not exist"),
        ("TOPIC_ARN", nowhere, "the topic accepted none of the rows"),
    ] {
        let function = account.function("sweep", &[(name, value)]).await;
        let Err(InvokeError::Function(error)) = function.invoke(sample("sweep")).await else {
            panic!("the run succeeded")
        };
        assert_eq!(error["errorType"], "SweepFailed");
        assert!(error["errorMessage"].as_str().unwrap().contains(expected), "{error}");
        let log = log_of(function).await;
        assert_eq!(log.iter().filter(|line| line["reason"].is_string()).count(), 1, "one line has the reason: {log:?}");
    }
}

#[tokio::test]
async fn a_missing_or_wrong_setting_stops_the_function_at_init_and_the_log_says_what_to_set() {
    let account = Account::create().await;
    let cases = [
        ("OUTBOX_TABLE", "", "OUTBOX_TABLE is not set"),
        ("TOPIC_ARN", "", "TOPIC_ARN is not set"),
        ("AWS_REGION", "", "AWS_REGION is not set"),
        ("SWEEP_AFTER_SECONDS", "soon", "SWEEP_AFTER_SECONDS must be"),
    ];
    for (name, value, expected) in cases {
        expect_exit(account.function("relay", &[(name, value)]).await, expected).await;
    }
    expect_exit(account.function("bootstrap", &[]).await, "Handler (_HANDLER) must be relay or sweep").await;
}

async fn expect_exit(function: Function, expected: &str) {
    let Err(InvokeError::Exited { log }) = function.invoke(sample("relay")).await else {
        panic!("the function starts: {expected}")
    };
    assert!(log.contains(expected), "{log}");
}

/// The table, a topic with a queue for requested charges only, and functions that use them.
struct Account {
    engine: Engine,
    queue: Queue,
    topic: Topic,
    sns: String,
    _servers: JoinSet<()>,
}

impl Account {
    async fn create() -> Self {
        let engine = Engine::start();
        create_table(&engine.client(), TABLE).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let queues = Queues::new(address);
        let settings = queues::Settings {
            name: "charge".to_owned(),
            visibility_timeout: 60,
            message_retention_period: 600,
            redrive: None,
        };
        let queue = queues.create(&settings).await.unwrap();
        let topics = Topics::new(address, &queues);
        let topic = topics.create("domain-events").unwrap();
        let filter_policy = Some(json!({"event-type": ["PaymentIntentChargeRequested"]}));
        let subscription = Subscription { queue: "charge".to_owned(), filter_policy, raw_message_delivery: true };
        topic.subscribe(&subscription).unwrap();
        let mut servers = JoinSet::new();
        servers.spawn(async move { topics.serve(listener).await.unwrap() });
        Self { engine, queue, topic, sns: format!("http://{address}"), _servers: servers }
    }

    /// Puts the row of the sample `relay`.
    async fn put_the_samples_row(&self, at: SystemTime) -> EventRow {
        let image = &sample("relay")["Records"][0]["dynamodb"]["NewImage"];
        let text = |name: &str| image[name]["S"].as_str().unwrap().to_owned();
        let pk = text("pk");
        let (aggregate_type, aggregate_id) = pk.split_once('#').unwrap();
        let row = EventRow {
            aggregate_type: aggregate_type.to_owned(),
            aggregate_id: aggregate_id.to_owned(),
            version: image["sk"]["N"].as_str().unwrap().parse().unwrap(),
            event_id: text("eventId"),
            event_type: text("eventType"),
            message: text("message"),
            at,
        };
        self.put(&row).await;
        row
    }

    async fn put(&self, row: &EventRow) {
        let put = Outbox::new(TABLE).put(row).unwrap();
        self.engine.client().transact_write_items().transact_items(put).send().await.unwrap();
    }

    async fn rows(&self) -> usize {
        self.engine.client().scan().table_name(TABLE).send().await.unwrap().items().len()
    }

    async fn received(&self) -> Vec<String> {
        self.queue.receive(10).await.unwrap().into_iter().map(|message| message.body).collect()
    }

    async fn function(&self, handler: &str, variables: &[(&str, &str)]) -> Function {
        let environment = [
            ("OUTBOX_TABLE", TABLE.to_owned()),
            ("TOPIC_ARN", self.topic.arn().to_owned()),
            ("AWS_ENDPOINT_URL_DYNAMODB", self.engine.endpoint()),
            ("AWS_ENDPOINT_URL_SNS", self.sns.clone()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "local".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "local".to_owned()),
        ];
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_outbox-relay"));
        let mut settings = Settings::new(&format!("ftgo-payments-{handler}"), handler, binary);
        settings.environment = environment.map(|(name, value)| (name.to_owned(), value)).to_vec();
        let more = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        settings.environment.extend(more);
        Function::start(settings).await.unwrap()
    }
}

fn sample(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../events/payments").join(format!("{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The metrics that a line declares. Each must have a value in the line.
fn declared(line: &Value) -> Vec<&str> {
    let metrics = line["_aws"]["CloudWatchMetrics"][0]["Metrics"].as_array().unwrap();
    let names: Vec<_> = metrics.iter().map(|metric| metric["Name"].as_str().unwrap()).collect();
    for name in &names {
        assert!(line[name].is_number(), "{name} is declared but has no value");
    }
    names
}

/// The function's log. Each line must be JSON.
async fn log_of(function: Function) -> Vec<Value> {
    let lines = function.stop().await.unwrap();
    lines.iter().map(|line| serde_json::from_str(line).expect(line)).collect()
}
