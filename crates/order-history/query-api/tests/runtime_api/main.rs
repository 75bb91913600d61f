//! The real binary behind a Lambda Runtime API, with the requests of `events/`.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

use std::path::PathBuf;

use aws_sdk_dynamodb::types::AttributeValue;
use embedded_dynamodb::Engine;
use lambda_host::lambda::{Function, InvokeError, Settings};
use order_events::EventType;
use order_store::{Applied, OrderStore};
use sample_events::{ORDER_HISTORY_TABLE, sample, story};
use serde_json::{Value, json};

/// A function over a table that has the story, with these variables besides.
async fn function(engine: &Engine, variables: &[(&str, &str)]) -> Function {
    let endpoint = engine.endpoint();
    let aws = [
        ("AWS_ENDPOINT_URL_DYNAMODB", endpoint.as_str()),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
    ];
    let environment = aws.iter().chain(variables).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut settings = Settings::new("query-api", "bootstrap", PathBuf::from(env!("CARGO_BIN_EXE_query-api")));
    settings.environment = environment.collect();
    Function::start(settings).await.unwrap()
}

async fn told() -> Engine {
    let engine = Engine::start();
    let client = engine.client();
    order_store::table::create_if_missing(&client, ORDER_HISTORY_TABLE).await.unwrap();
    project_story(&OrderStore::new(client, ORDER_HISTORY_TABLE)).await;
    engine
}

async fn project_story(store: &OrderStore) {
    for event in story() {
        let _: Applied = store.apply(&event).await.unwrap();
    }
}

fn body(answer: &Value) -> Value {
    serde_json::from_str(answer["body"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn the_sample_requests_get_their_answers() {
    let engine = told().await;
    let function = function(&engine, &[("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE)]).await;

    let order = function.invoke(sample("query-order")).await.unwrap();
    assert_eq!(order["statusCode"], 200);
    let told = story().iter().filter(|event| event.event_type() != EventType::DeliveryLocationUpdated).count();
    assert_eq!(body(&order)["timeline"].as_array().unwrap().len(), told);

    let history = function.invoke(sample("query-history")).await.unwrap();
    assert_eq!(history["statusCode"], 200);
    assert_eq!(body(&history)["orders"][0]["orderId"], "99");

    let refused = function.invoke(sample("failure-query-parameters")).await.unwrap();
    assert_eq!(refused["statusCode"], 400);
    assert_eq!(body(&refused)["errors"].as_array().unwrap().len(), 2);

    let unknown = function.invoke(sample("failure-query-unauthenticated")).await.unwrap();
    assert_eq!(unknown["statusCode"], 401);
}

#[tokio::test]
async fn lists_are_read_from_the_index_that_is_set() {
    let engine = Engine::start();
    let client = engine.client();
    let request = order_store::table::create(&client, ORDER_HISTORY_TABLE).unwrap();
    let mut indexes = request.get_global_secondary_indexes().clone().unwrap();
    indexes[0].index_name = "the-second-index".to_owned();
    request.set_global_secondary_indexes(Some(indexes)).send().await.unwrap();
    project_story(&OrderStore::new(client, ORDER_HISTORY_TABLE)).await;

    let second =
        function(&engine, &[("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE), ("ORDER_HISTORY_INDEX", "the-second-index")])
            .await;
    let history = second.invoke(sample("query-history")).await.unwrap();
    assert_eq!(history["statusCode"], 200);
    assert_eq!(body(&history)["orders"][0]["orderId"], "99");

    let default = function(&engine, &[("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE)]).await;
    let history = default.invoke(sample("query-history")).await.unwrap();
    assert_eq!(history["statusCode"], 500, "there is no index of the default name");
}

#[tokio::test]
async fn the_log_names_requests_and_routes_and_nothing_a_customer_wrote() {
    let engine = told().await;
    let function = function(&engine, &[("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE)]).await;
    function.invoke(sample("query-history")).await.unwrap();
    let log = function.stop().await.unwrap().join("\n");
    let line: Value = serde_json::from_str(&log).unwrap();
    assert_eq!(line["route"], "/orders");
    assert_eq!(line["status"], 200);
    assert_eq!(line["request_id"], "Zr1hOh5PoAMEJ9g=");
    for private in ["1511300065921", "vindaloo", "Ajanta", "Bearer"] {
        assert!(!log.contains(private), "{private} is in the log: {log}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_logged_and_counted_without_its_value() {
    let engine = told().await;
    let update = engine
        .client()
        .update_item()
        .table_name(ORDER_HISTORY_TABLE)
        .key("orderId", AttributeValue::S("99".to_owned()));
    let damaged = AttributeValue::S("a secret".to_owned());
    let update = update.update_expression("SET payment = :damaged").expression_attribute_values(":damaged", damaged);
    update.send().await.unwrap();
    let variables = [("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE), ("METRICS_NAMESPACE", "ftgo-staging")];
    let function = function(&engine, &variables).await;
    let order = function.invoke(sample("query-order")).await.unwrap();
    assert_eq!(order["statusCode"], 200);

    let log = function.stop().await.unwrap();
    assert!(!log.join("").contains("secret"), "{log:?}");
    let lines: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let logged: Vec<_> = lines.iter().filter(|line| line["level"] == "WARN").collect();
    assert_eq!(logged.len(), 1, "{lines:?}");
    assert_eq!((&logged[0]["order_id"], &logged[0]["attributes"]), (&json!("99"), &json!("payment")));
    let counted: Vec<_> = lines.iter().filter(|line| line["UnreadableAttributes"] == 1).collect();
    assert_eq!(counted.len(), 1, "{lines:?}");
    assert_eq!((&counted[0]["order_id"], &counted[0]["attributes"]), (&json!("99"), &json!("payment")));
    let declared = &counted[0]["_aws"]["CloudWatchMetrics"][0];
    assert_eq!(declared["Metrics"][0]["Name"], "UnreadableAttributes");
    assert_eq!(declared["Namespace"], "ftgo-staging");
}

#[tokio::test]
async fn a_bad_environment_stops_at_init_and_says_what_to_set() {
    let engine = Engine::start();
    let bad = [
        (vec![], "ORDER_HISTORY_TABLE is not set: set it to"),
        (vec![("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE), ("AUTHORIZATION", "no")], "AUTHORIZATION must be jwt"),
        (
            vec![("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE), ("READ_BUDGET", "0")],
            "READ_BUDGET must be a whole number",
        ),
    ];
    for (variables, text) in bad {
        let function = function(&engine, &variables).await;
        let Err(InvokeError::Exited { log }) = function.invoke(sample("query-order")).await else {
            panic!("it runs with {variables:?}");
        };
        assert!(log.contains(text), "{log}");
    }
}
