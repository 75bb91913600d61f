//! The real binary behind a Lambda Runtime API, over HTTP, in both modes.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

use std::path::PathBuf;

use embedded_dynamodb::Engine;
use lambda_host::lambda::{Function, InvokeError, Settings};
use payment_store::{Tables, create_tables};
use serde_json::{Value, json};
use stand_in_gateway::StandIn;
use tokio::net::TcpListener;

const SECRET: &str = "a-secret-of-one-machine";

async fn tables(engine: &Engine) -> Tables {
    let tables = Tables::with_prefix("ftgo-payments");
    create_tables(&engine.client(), &tables).await.unwrap();
    tables
}

fn settings(engine: &Engine, tables: &Tables, variables: &[(&str, &str)]) -> Settings {
    let endpoint = engine.endpoint();
    let all = [
        ("AWS_ENDPOINT_URL_DYNAMODB", endpoint.as_str()),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
        ("PAYMENTS_TABLE", &tables.payments),
        ("OUTBOX_TABLE", &tables.outbox),
        ("LOCKS_TABLE", &tables.locks),
        ("IDEMPOTENCY_TABLE", &tables.idempotency),
        ("AUTHORIZATION", "off"),
    ];
    let environment = all.iter().chain(variables).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut settings = Settings::new("payment-api", "bootstrap", PathBuf::from(env!("CARGO_BIN_EXE_payment-api")));
    settings.environment = environment.collect();
    settings
}

fn request(method: &str, path: &str, body: &Value) -> Value {
    json!({
        "version": "2.0", "rawPath": path, "rawQueryString": "", "headers": {"idempotency-key": "\"key-of-a-customer\""},
        "requestContext": {"requestId": "Zr1hOh5PoAMEJ9g=", "stage": "$default", "http": {"method": method, "path": path}},
        "body": body.to_string(), "isBase64Encoded": false,
    })
}

fn body(response: &Value) -> Value {
    serde_json::from_str(response["body"].as_str().unwrap()).unwrap()
}

async fn create(function: &Function, amount: i64) -> String {
    let new = json!({"orderId": "99", "amount": amount, "currency": "USD", "consumerId": "1511300065921"});
    let created = function.invoke(request("POST", "/payment-intents", &new)).await.unwrap();
    assert_eq!(created["statusCode"], 201, "{created}");
    body(&created)["paymentIntentId"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn in_saga_mode_a_charge_is_accepted_and_a_repetition_gets_the_same_response() {
    let engine = Engine::start();
    let tables = tables(&engine).await;
    let function = Function::start(settings(&engine, &tables, &[("LOG_LEVEL", "DEBUG")])).await.unwrap();
    let id = create(&function, 6_063).await;
    let charge = request("POST", &format!("/payment-intents/{id}/charge"), &json!({}));
    let accepted = function.invoke(charge.clone()).await.unwrap();
    assert_eq!((&accepted["statusCode"], &body(&accepted)["state"]), (&json!(202), &json!("CHARGE_REQUESTED")));
    assert!(accepted["headers"]["consistency-token"].is_string());
    let again = function.invoke(charge).await.unwrap();
    assert_eq!(again["body"], accepted["body"]);
    assert_eq!(again["headers"]["idempotent-replayed"], "true");
    let log = function.stop().await.unwrap().join("\n");
    assert!(log.contains("/payment-intents/{paymentIntentId}/charge"), "{log}");
    for private in ["key-of-a-customer", "1511300065921", "6063"] {
        assert!(!log.contains(private), "{private} is in the log: {log}");
    }
}

#[tokio::test]
async fn in_locked_mode_the_response_has_the_result() {
    let engine = Engine::start();
    let tables = tables(&engine).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settled =
        stand_in_gateway::Settings { secret: Some(SECRET.to_owned()), ..stand_in_gateway::Settings::default() };
    let gateway = StandIn::start(listener, settled).unwrap();
    let variables = [("CHARGE_MODE", "locked"), ("GATEWAY_URL", &gateway.url()), ("GATEWAY_SECRET", SECRET)];
    let function = Function::start(settings(&engine, &tables, &variables)).await.unwrap();
    let id = create(&function, 6_063).await;
    let charge = request("POST", &format!("/payment-intents/{id}/charge"), &json!({}));
    let charged = function.invoke(charge).await.unwrap();
    assert_eq!((&charged["statusCode"], &body(&charged)["state"]), (&json!(200), &json!("CHARGED")), "{charged}");
    let charges: Vec<_> = gateway.charges().iter().map(|charge| charge.amount).collect();
    assert_eq!(charges, [6_063]);
}

#[tokio::test]
async fn in_locked_mode_a_response_of_the_gateway_that_is_not_definite_is_logged_and_counted() {
    let engine = Engine::start();
    let tables = tables(&engine).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settled =
        stand_in_gateway::Settings { secret: Some("another".to_owned()), ..stand_in_gateway::Settings::default() };
    let gateway = StandIn::start(listener, settled).unwrap();
    let variables = [
        ("CHARGE_MODE", "locked"),
        ("GATEWAY_URL", &gateway.url()),
        ("GATEWAY_SECRET", SECRET),
        ("METRICS_NAMESPACE", "staging"),
    ];
    let function = Function::start(settings(&engine, &tables, &variables)).await.unwrap();
    let id = create(&function, 6_063).await;
    let charge = request("POST", &format!("/payment-intents/{id}/charge"), &json!({}));
    let accepted = function.invoke(charge).await.unwrap();
    assert_eq!((&accepted["statusCode"], &body(&accepted)["state"]), (&json!(202), &json!("CHARGE_REQUESTED")));
    let log = function.stop().await.unwrap();
    let lines: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((&line["GatewayUnknown"], &line["GatewayRefusedUs"]), (&json!(1), &json!(1)));
    assert_eq!((&line["reason"], &line["payment_intent_id"]), (&json!("gateway_refused_secret"), &json!(id)));
    let metrics = &line["_aws"]["CloudWatchMetrics"][0];
    assert_eq!((&metrics["Namespace"], &metrics["Dimensions"]), (&json!("staging"), &json!([["Function"]])));
    assert_eq!(line["Function"], "payment-api");
}

#[tokio::test]
async fn a_missing_setting_stops_the_function_at_init_and_the_log_names_it() {
    let engine = Engine::start();
    let tables = tables(&engine).await;
    for (variables, name) in [
        (vec![("OUTBOX_TABLE", "")], "OUTBOX_TABLE"),
        (vec![("CHARGE_MODE", "sometimes")], "CHARGE_MODE"),
        (vec![("CHARGE_MODE", "locked")], "GATEWAY_URL"),
        (vec![("AUTHORIZATION", "maybe")], "AUTHORIZATION"),
    ] {
        let function = Function::start(settings(&engine, &tables, &variables)).await.unwrap();
        let Err(InvokeError::Exited { log }) = function.invoke(request("GET", "/payments/health", &json!({}))).await
        else {
            panic!("the function starts with {variables:?}");
        };
        assert!(log.contains(name), "{log}");
    }
}

#[tokio::test]
async fn a_server_error_is_counted_by_version() {
    let engine = Engine::start();
    let tables = tables(&engine).await;
    let variables = [("PAYMENTS_TABLE", "a-table-that-is-not-there")];
    let function = Function::start(settings(&engine, &tables, &variables)).await.unwrap();
    let path = "/payment-intents/00000000-0000-4000-8000-000000000000";
    let failed = function.invoke(request("GET", path, &json!({}))).await.unwrap();
    assert_eq!(failed["statusCode"], 500);
    let log = function.stop().await.unwrap();
    let lines: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let counted: Vec<_> = lines.iter().filter(|line| line["ServerErrors"] == 1).collect();
    assert_eq!(counted.len(), 1, "{lines:?}");
    assert_eq!((&counted[0]["Function"], &counted[0]["Version"]), (&json!("payment-api"), &json!("$LATEST")));
    assert!(lines.iter().any(|line| line["reason"] == "store_table_missing"), "{lines:?}");
}
