//! The real binary behind a Lambda Runtime API, with the events of `events/payments/`.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A failed unwrap fails the test.

use std::path::{Path, PathBuf};

use embedded_dynamodb::Engine;
use idempotency::Fingerprint;
use lambda_boot::Clock;
use lambda_host::lambda::{Function, InvokeError, Settings};
use payment_intents::{Amount, Currency, NewIntent, PaymentIntent, PaymentIntentId, StateName};
use payment_store::{CommandResult, Decision, PaymentStore, RequestKey, Tables, create_tables};
use serde_json::{Value, json};
use stand_in_gateway::StandIn;
use tokio::net::TcpListener;

const SECRET: &str = "tok-en-4711";

/// The intent of the samples.
const INTENT: &str = "3f1c9a52-7f0e-4a53-9d7e-2b6f0c8e4d11";

#[tokio::test]
async fn the_sample_of_a_requested_charge_is_charged_and_logs_one_line_of_metrics() {
    let account = Account::create().await;
    account.request(INTENT, 6_543).await;
    let function = account.function("charge", &[]).await;
    assert_eq!(function.invoke(sample("charge")).await.unwrap(), json!({"batchItemFailures": []}));
    assert_eq!(account.gateway.charges().len(), 1);
    assert_eq!(account.state(INTENT).await, StateName::Charged);
    assert_eq!(function.invoke(sample("charge")).await.unwrap(), json!({"batchItemFailures": []}));

    let log = log_of(function).await;
    assert_eq!(log.len(), 2, "one line for each batch: {log:?}");
    for (line, metric) in log.iter().zip(["Charged", "NothingToDo"]) {
        assert_eq!(line["Function"], "charge");
        assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Namespace"], "FtgoPayments");
        assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([["Function"]]));
        assert_eq!((declared(line), &line[metric]), (vec![metric], &json!(1)));
        assert!(line["request_id"].is_string(), "{line}");
    }
}

#[tokio::test]
async fn a_mixed_batch_returns_its_bad_messages_and_logs_each_once_without_its_content() {
    let account = Account::create().await;
    account.request(INTENT, 6_543).await;
    let mut event = sample("charge");
    let bad = sample("failure-charge-malformed-body")["Records"][0].clone();
    let bad_id = bad["messageId"].clone();
    event["Records"].as_array_mut().unwrap().push(bad);
    let function = account.function("charge", &[]).await;
    let response = function.invoke(event).await.unwrap();
    assert_eq!(response, json!({"batchItemFailures": [{"itemIdentifier": bad_id}]}));

    let log = log_of(function).await;
    let errors: Vec<_> = log.iter().filter(|line| line["level"] == "ERROR").collect();
    let [error] = errors[..] else { panic!("{log:?}") };
    assert_eq!((&error["message_id"], &error["reason"]), (&bad_id, &json!("malformed_body")));
    assert_eq!((&error["retryable"], error["request_id"].is_string()), (&json!(false), true));
    let line = log.iter().find(|line| line["_aws"].is_object()).unwrap();
    assert_eq!(declared(line), ["Charged", "Malformed"]);
    let text = format!("{log:?}");
    for private in ["6543", "not JSON", "order"] {
        assert!(!text.contains(private), "{private} is in the log: {text}");
    }
}

#[tokio::test]
async fn a_refused_secret_fails_the_invocation_and_is_not_logged() {
    let account = Account::create().await;
    account.request(INTENT, 6_543).await;
    let function = account.function("charge", &[("GATEWAY_SECRET", "wr-ong-4711"), ("LOG_LEVEL", "DEBUG")]).await;
    let Err(InvokeError::Function(error)) = function.invoke(sample("charge")).await else {
        panic!("the gateway did not refuse the secret")
    };
    assert_eq!(error["errorType"], "BatchFailed");
    assert!(error["errorMessage"].as_str().unwrap().contains("gateway_refused_secret"), "{error}");
    assert_eq!(account.state(INTENT).await, StateName::ChargeRequested);

    let log = log_of(function).await;
    let line = log.iter().find(|line| line["_aws"].is_object()).unwrap();
    assert_eq!(declared(line), ["GatewayUnknown", "GatewayRefusedUs"]);
    let failed = log.iter().find(|line| line["message"] == "charge not finished").unwrap();
    assert_eq!((&failed["reason"], &failed["payment_intent_id"]), (&json!("gateway_refused_secret"), &json!(INTENT)));
    assert!(!format!("{log:?}").contains("wr-ong"), "{log:?}");
}

#[tokio::test]
async fn the_reconciler_finishes_open_charges_and_fails_if_it_cannot() {
    let account = Account::create().await;
    account.request(INTENT, 6_543).await;
    let at_once = ("RECONCILE_AFTER_SECONDS", "0");
    let closed = account.function("reconcile", &[at_once, ("GATEWAY_URL", "http://127.0.0.1:9")]).await;
    let Err(InvokeError::Function(error)) = closed.invoke(sample("reconcile")).await else {
        panic!("the charge was finished")
    };
    assert_eq!(error["errorType"], "Unfinished");
    let log = log_of(closed).await;
    let line = log.iter().find(|line| line["_aws"].is_object()).unwrap();
    assert_eq!(declared(line), ["GatewayUnknown", "ChargesOverdue"]);

    let young = account.function("reconcile", &[]).await;
    young.invoke(sample("reconcile")).await.unwrap();
    assert_eq!(account.state(INTENT).await, StateName::ChargeRequested, "its message is still in the queue");

    let function = account.function("reconcile", &[at_once, ("METRICS_NAMESPACE", "staging")]).await;
    function.invoke(sample("reconcile")).await.unwrap();
    assert_eq!(account.state(INTENT).await, StateName::Charged);
    let log = log_of(function).await;
    let [line] = &log[..] else { panic!("{log:?}") };
    assert_eq!((&line["Function"], declared(line)), (&json!("reconcile"), vec!["Charged"]));
    assert_eq!(line["_aws"]["CloudWatchMetrics"][0]["Namespace"], "staging");
}

#[tokio::test]
async fn a_missing_or_wrong_setting_stops_the_function_at_init_and_the_log_says_what_to_set() {
    let account = Account::create().await;
    let cases = [
        ("PAYMENTS_TABLE", "", "PAYMENTS_TABLE is not set"),
        ("OUTBOX_TABLE", "", "OUTBOX_TABLE is not set"),
        ("LOCKS_TABLE", "", "LOCKS_TABLE is not set"),
        ("AWS_REGION", "", "AWS_REGION is not set"),
        ("GATEWAY_URL", "", "GATEWAY_URL is not set"),
        ("GATEWAY_URL", "gateway", "GATEWAY_URL is not valid: it must be an http or https URL"),
        ("GATEWAY_SECRET", "", "GATEWAY_SECRET is not set"),
        ("GATEWAY_SECRET", "two words", "GATEWAY_SECRET is not valid"),
        ("GATEWAY_CA_BUNDLE", "/nowhere", "GATEWAY_CA_BUNDLE names /nowhere, which cannot be read"),
        ("GATEWAY_CA_BUNDLE", "Cargo.toml", "which must contain root certificates in PEM"),
        ("RECONCILE_AFTER_SECONDS", "soon", "RECONCILE_AFTER_SECONDS must be"),
    ];
    for (name, value, expected) in cases {
        expect_exit(account.function("charge", &[(name, value)]).await, expected).await;
    }
    expect_exit(account.function("bootstrap", &[]).await, "Handler (_HANDLER) must be charge or reconcile").await;
}

async fn expect_exit(function: Function, expected: &str) {
    let Err(InvokeError::Exited { log }) = function.invoke(sample("charge")).await else {
        panic!("the function starts: {expected}")
    };
    assert!(log.contains(expected), "{log}");
    assert!(!log.contains("two words"), "{log}");
}

/// The tables, a gateway, and functions that use them.
struct Account {
    engine: Engine,
    tables: Tables,
    gateway: StandIn,
}

impl Account {
    async fn create() -> Self {
        let engine = Engine::start();
        let tables = Tables::with_prefix("ftgo-payments");
        create_tables(&engine.client(), &tables).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = stand_in_gateway::Settings { secret: Some(SECRET.to_owned()), ..Default::default() };
        Self { engine, tables, gateway: StandIn::start(listener, settings).unwrap() }
    }

    fn store(&self) -> PaymentStore {
        PaymentStore::new(self.engine.client(), self.tables.clone(), Clock::system())
    }

    /// Creates an intent, and requests its charge.
    async fn request(&self, id: &str, amount: i64) {
        let id: PaymentIntentId = id.parse().unwrap();
        let new = NewIntent {
            id,
            order_id: "99".parse().unwrap(),
            consumer_id: "1".parse().unwrap(),
            amount: Amount::parse(amount).unwrap(),
            currency: Currency::parse("USD").unwrap(),
        };
        let request = |key: &str| RequestKey { key: key.to_owned(), fingerprint: Fingerprint::of(key) };
        let created: CommandResult<()> = self
            .store()
            .create(
                &new.order_id,
                &request("create"),
                |input| Decision::Change(Box::new(PaymentIntent::create(new.clone(), input.now))),
                |_| String::new(),
            )
            .await
            .unwrap();
        let requested: CommandResult<()> = self
            .store()
            .change(
                id,
                &request("charge"),
                |found| found.ok_or(()),
                |input| {
                    let change = input.found.intent.request_charge(input.now);
                    Decision::Change(Box::new(change.unwrap()))
                },
                |_| String::new(),
            )
            .await
            .unwrap();
        assert_eq!((created, requested), (CommandResult::Now(String::new()), CommandResult::Now(String::new())));
    }

    async fn state(&self, id: &str) -> StateName {
        self.store().find(id.parse().unwrap()).await.unwrap().unwrap().intent.state().name()
    }

    async fn function(&self, handler: &str, variables: &[(&str, &str)]) -> Function {
        let environment = [
            ("PAYMENTS_TABLE", self.tables.payments.clone()),
            ("OUTBOX_TABLE", self.tables.outbox.clone()),
            ("LOCKS_TABLE", self.tables.locks.clone()),
            ("GATEWAY_URL", self.gateway.url()),
            ("GATEWAY_SECRET", SECRET.to_owned()),
            ("AWS_ENDPOINT_URL_DYNAMODB", self.engine.endpoint()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "local".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "local".to_owned()),
        ];
        let binary = PathBuf::from(env!("CARGO_BIN_EXE_charge-handler"));
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
