//! The real binary behind a Lambda Runtime API, with the requests of `events/`.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::types::AttributeValue;
use embedded_dynamodb::Engine;
use lambda_host::gateway;
use lambda_host::lambda::{Function, InvokeError, Settings};
use lambda_host::route::Route;
use order_events::{ConsistencyToken, Event, EventType, Payload};
use order_store::{Applied, OrderStore};
use sample_events::{ORDER_HISTORY_TABLE, sample, story};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A function with these additional variables.
async fn function(engine: &Engine, variables: &[(&str, &str)]) -> Function {
    Function::start(settings(&engine.endpoint(), variables)).await.unwrap()
}

fn settings(endpoint: &str, variables: &[(&str, &str)]) -> Settings {
    let aws = [
        ("AWS_ENDPOINT_URL_DYNAMODB", endpoint),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
    ];
    let environment = aws.iter().chain(variables).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let mut settings = Settings::new("query-api", "bootstrap", PathBuf::from(env!("CARGO_BIN_EXE_query-api")));
    settings.environment = environment.collect();
    settings
}

async fn engine_with_story() -> Engine {
    let engine = Engine::start();
    let client = engine.client();
    order_store::table::create_if_missing(&client, ORDER_HISTORY_TABLE).await.unwrap();
    project_story(&OrderStore::new(client, ORDER_HISTORY_TABLE)).await;
    engine
}

async fn project_story(store: &OrderStore) {
    project(store, &story()).await;
}

async fn project(store: &OrderStore, events: &[Event]) {
    for event in events {
        let _: Applied = store.apply(event).await.unwrap();
    }
}

/// An `OrderCreated` like that of the story. Each is one millisecond later.
fn created(n: u64, restaurant: &str) -> Event {
    let mut event = story()[0].clone();
    let Payload::OrderCreated(created) = &mut event.payload else { panic!("the story starts with another event") };
    restaurant.clone_into(&mut created.restaurant_name);
    let millis = event.at().as_millis() + i64::try_from(n).unwrap();
    event.id = format!("{millis:016x}-{n:016x}").parse().unwrap();
    event.aggregate_id = format!("large-{n}").parse().unwrap();
    event
}

fn body(response: &Value) -> Value {
    serde_json::from_str(response["body"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn the_sample_requests_are_answered() {
    let engine = engine_with_story().await;
    let function = function(&engine, &[("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE)]).await;

    let order = function.invoke(sample("query-order")).await.unwrap();
    assert_eq!(order["statusCode"], 200);
    let in_timeline = story().iter().filter(|event| event.event_type() != EventType::DeliveryLocationUpdated).count();
    assert_eq!(body(&order)["timeline"].as_array().unwrap().len(), in_timeline);

    let history = function.invoke(sample("query-history")).await.unwrap();
    assert_eq!(history["statusCode"], 200);
    assert_eq!(body(&history)["orders"][0]["orderId"], "99");

    let page = function.invoke(sample("query-page")).await.unwrap();
    assert_eq!((&page["statusCode"], &page["headers"]["content-encoding"]), (&json!(200), &json!("gzip")));

    let refused = function.invoke(sample("failure-query-parameters")).await.unwrap();
    assert_eq!(refused["statusCode"], 400);
    assert_eq!(body(&refused)["errors"].as_array().unwrap().len(), 2);

    let unknown = function.invoke(sample("failure-query-unauthenticated")).await.unwrap();
    assert_eq!(unknown["statusCode"], 401);
}

#[tokio::test]
async fn lists_are_read_from_the_configured_index() {
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

/// The alarm `NewVersionServerErrors` in `template.yaml` uses this metric to roll back.
#[tokio::test]
async fn a_server_error_is_counted_by_version() {
    let engine = engine_with_story().await;
    let function = function(&engine, &[("ORDER_HISTORY_TABLE", "a-table-that-is-not-there")]).await;
    let failed = function.invoke(sample("query-order")).await.unwrap();
    assert_eq!(failed["statusCode"], 500);

    let log = function.stop().await.unwrap();
    let lines: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let counted: Vec<_> = lines.iter().filter(|line| line["ServerErrors"] == 1).collect();
    assert_eq!(counted.len(), 1, "{lines:?}");
    assert_eq!((&counted[0]["Function"], &counted[0]["Version"]), (&json!("query-api"), &json!("$LATEST")));
    assert_eq!(counted[0]["_aws"]["CloudWatchMetrics"][0]["Dimensions"], json!([["Function", "Version"]]));
}

#[tokio::test]
async fn the_log_contains_requests_and_routes_but_no_customer_data() {
    let engine = engine_with_story().await;
    let function = function(&engine, &[("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE), ("LOG_LEVEL", "DEBUG")]).await;
    function.invoke(sample("query-history")).await.unwrap();
    let log = function.stop().await.unwrap().join("\n");
    let line: Value = serde_json::from_str(&log).unwrap();
    assert_eq!((&line["message"], &line["level"]), (&json!("answered"), &json!("DEBUG")));
    assert_eq!((&line["method"], &line["route"], &line["status"]), (&json!("GET"), &json!("/orders"), &json!(200)));
    assert_eq!(line["request_id"], "Zr1hOh5PoAMEJ9g=");
    for private in ["1511300065921", "vindaloo", "Ajanta", "Bearer"] {
        assert!(!log.contains(private), "{private} is in the log: {log}");
    }
}

/// API Gateway's access log contains all responses.
#[tokio::test]
async fn only_a_slow_response_is_logged_at_the_default_level() {
    let engine = engine_with_story().await;
    let function = function(&engine, &[("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE)]).await;
    for name in ["query-order", "query-history", "failure-query-parameters"] {
        function.invoke(sample(name)).await.unwrap();
    }
    let mut request = sample("query-order");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let token = ConsistencyToken {
        event_type: EventType::OrderRevised,
        event_id: format!("{now:016x}-{:016x}", 1).parse().unwrap(),
        order_id: story()[0].order_id(),
    };
    request["headers"]["consistency-token"] = json!(token.to_string());
    request["headers"]["prefer"] = json!("wait=1");
    let response = function.invoke(request).await.unwrap();
    assert_eq!(response["statusCode"], 412, "{response}");

    let log = function.stop().await.unwrap();
    assert_eq!(log.len(), 1, "{log:?}");
    let line: Value = serde_json::from_str(&log[0]).unwrap();
    assert_eq!((&line["message"], &line["status"]), (&json!("slow response"), &json!(412)));
    assert!(line["took_ms"].as_u64().unwrap() >= 1_000, "{line}");
}

#[tokio::test]
async fn unreadable_attributes_are_logged_and_counted_without_their_values() {
    let engine = engine_with_story().await;
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
    assert_eq!(logged[0]["request_id"], "Zr1hOh5PoAMEJ9g=");
    let counted: Vec<_> = lines.iter().filter(|line| line["UnreadableAttributes"] == 1).collect();
    assert_eq!(counted, logged, "one line has both");
    let declared = &counted[0]["_aws"]["CloudWatchMetrics"][0];
    assert_eq!(declared["Metrics"][0]["Name"], "UnreadableAttributes");
    assert_eq!(declared["Namespace"], "ftgo-staging");
}

#[tokio::test]
async fn a_bad_setting_stops_the_function_at_init_and_the_log_says_what_to_set() {
    let engine = Engine::start();
    let bad = [
        (vec![], "ORDER_HISTORY_TABLE is not set: set it to"),
        (vec![("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE), ("AUTHORIZATION", "no")], "AUTHORIZATION must be jwt"),
        (
            vec![("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE), ("READ_BUDGET", "0")],
            "READ_BUDGET must be a whole number",
        ),
        (
            vec![("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE), ("MAX_WAIT_SECONDS", "11")],
            "MAX_WAIT_SECONDS must be a whole number from 0 to 10",
        ),
        (
            vec![("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE), ("SIGN_IN_CLIENT_ID", "page")],
            "SIGN_IN_ISSUER and SIGN_IN_CLIENT_ID: set both or neither",
        ),
        (
            vec![
                ("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE),
                ("SIGN_IN_ISSUER", "http://login.example"),
                ("SIGN_IN_CLIENT_ID", "page"),
            ],
            "SIGN_IN_ISSUER must be a URL without a query, such as https://login.ftgo.example/users (http is allowed only for this machine)",
        ),
        (
            vec![("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE), ("CURRENCY", "euro")],
            "CURRENCY must be an ISO 4217 code such as EUR",
        ),
    ];
    for (variables, text) in bad {
        let function = function(&engine, &variables).await;
        let Err(InvokeError::Exited { log }) = function.invoke(sample("query-order")).await else {
            panic!("the function starts with {variables:?}");
        };
        assert!(log.contains(text), "{log}");
    }
}

/// Through the gateway, as a browser gets it.
#[tokio::test]
async fn over_http_the_page_is_served_compressed_and_uncompressed() {
    let engine = Engine::start();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    // As in template.yaml.
    let routes = ["ANY /", "ANY /assets/{file+}", "ANY /config.json"];
    let routes = routes.map(|key| Route { key: key.to_owned(), authorization: "NONE".to_owned() }).to_vec();
    let settings = settings(&engine.endpoint(), &[("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE)]);
    let _server = JoinSet::from_iter([gateway::serve(listener, settings, 1, routes, |_| None)]);

    let get = async |target: &str, headers: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = Vec::new();
        stream.read_to_end(&mut response).await.unwrap();
        let end = response.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
        (String::from_utf8(response[..end].to_vec()).unwrap(), response[end + 4..].to_vec())
    };
    for file in web::PAGE.files {
        let (head, body) = get(file.path, "accept-encoding: gzip\r\n").await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("\r\ncontent-encoding: gzip\r\n"), "{head}");
        assert!(head.contains(&format!("\r\ncontent-length: {}", file.gzip.len())), "{head}");
        assert_eq!(body, file.gzip, "{}", file.path);
        let (head, body) = get(file.path, "").await;
        assert!(!head.contains("content-encoding"), "{head}");
        assert_eq!(body, file.plain, "{}", file.path);
    }
    let (_, settings) = get("/config.json", "").await;
    assert_eq!(serde_json::from_slice::<Value>(&settings).unwrap(), json!({"authorization": "jwt", "currency": "USD"}));
    assert!(get("/assets/none.js", "").await.0.starts_with("HTTP/1.1 404"));
}

/// Lambda refused these two pages in the past: 100 orders of 75 KB, and 30 orders of 55 KB of quotes.
#[tokio::test]
async fn a_list_larger_than_lambda_accepts_is_cut_and_logged() {
    for (count, text, size) in [(100, "€", 75_000), (30, "\"", 55_000)] {
        let engine = engine_with_story().await;
        let store = OrderStore::new(engine.client(), ORDER_HISTORY_TABLE);
        let restaurant = text.repeat(size / text.len());
        let events: Vec<_> = (1..=count).map(|n| created(n, &restaurant)).collect();
        project(&store, &events).await;
        let function = function(&engine, &[("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE)]).await;

        let mut request = sample("query-history");
        let mut found = Vec::new();
        let mut query = "since=0&pageSize=100".to_owned();
        let mut sizes = Vec::new();
        loop {
            request["rawQueryString"] = query.into();
            let page = function.invoke(request.clone()).await.unwrap();
            assert_eq!(page["statusCode"], 200);
            let page = body(&page);
            let orders = page["orders"].as_array().unwrap();
            sizes.push(orders.len());
            found.extend(orders.iter().map(|order| order["orderId"].as_str().unwrap().to_owned()));
            let Some(start_key) = page["startKey"].as_str() else { break };
            query = format!("since=0&pageSize=100&startKey={start_key}");
        }
        let expected: Vec<_> = (1..=count).rev().map(|n| format!("large-{n}")).chain(["99".to_owned()]).collect();
        assert_eq!(found, expected, "{text}");

        let log = function.stop().await.unwrap();
        assert!(!log.join("").contains(text.repeat(3).as_str()), "{text}");
        let lines: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let cuts: Vec<_> = lines.iter().filter(|line| line["cut"].is_u64()).collect();
        assert_eq!(cuts.len(), sizes.len() - 1, "{text}: each cut is logged once");
        assert_eq!((&cuts[0]["shown"], &cuts[0]["request_id"]), (&json!(sizes[0]), &json!("Zr1hOh5PoAMEJ9g=")));
    }
}

#[tokio::test]
async fn if_dynamodb_does_not_answer_the_request_is_503_before_lambda_stops_the_function() {
    // A server that accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", silent.local_addr().unwrap());
    let mut settings = settings(&endpoint, &[("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE)]);
    settings.timeout = Duration::from_secs(2);
    let function = Function::start(settings).await.unwrap();
    let response = function.invoke(sample("query-order")).await.unwrap();
    assert_eq!((&response["statusCode"], &response["headers"]["retry-after"]), (&json!(503), &json!("1")));
    assert_eq!(body(&response)["type"], "urn:ftgo:order-history:problem:unavailable");

    let log = function.stop().await.unwrap().join("\n");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let errors: Vec<_> = lines.iter().filter(|line| line["level"] == "ERROR").collect();
    assert_eq!(errors.len(), 1, "{log}");
    assert_eq!((&errors[0]["reason"], &errors[0]["request_id"]), (&json!("out_of_time"), &json!("Zr1hOh5PoAMEJ9g=")));
}

#[tokio::test]
async fn over_http_an_order_id_may_contain_slashes_and_head_has_the_length_of_get() {
    let engine = engine_with_story().await;
    let ids = [("a/b", "a%2Fb"), ("a%2Fb", "a%252Fb"), ("100%", "100%25"), ("ü/", "%C3%BC%2F"), ("c/d", "c/d")];
    let store = OrderStore::new(engine.client(), ORDER_HISTORY_TABLE);
    for (id, _) in ids {
        let mut event = created(1, "Ajanta");
        event.aggregate_id = id.parse().unwrap();
        project(&store, &[event]).await;
    }
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let variables = [("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE), ("AUTHORIZATION", "off")];
    // As in template.yaml.
    let routes = ["ANY /orders", "ANY /orders/{orderId+}"];
    let routes = routes.map(|key| Route { key: key.to_owned(), authorization: "JWT".to_owned() }).to_vec();
    let settings = settings(&engine.endpoint(), &variables);
    let _server = JoinSet::from_iter([gateway::serve(listener, settings, 1, routes, |_| None)]);

    let get = async |method: &str, target: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!("{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).map(str::to_owned);
        (head[9..12].to_owned(), length, body.to_owned())
    };
    for (id, encoded) in ids {
        let target = format!("/orders/{encoded}");
        let (status, length, body) = get("GET", &target).await;
        assert_eq!(status, "200", "{target}: {body}");
        let order: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(order["orderId"], id);
        assert_eq!(length, Some(body.len().to_string()));
        assert_eq!(get("HEAD", &target).await, (status, length, String::new()), "{target}");
    }
    let (_, length, body) = get("GET", "/orders?consumerId=1511300065921&since=0").await;
    assert_eq!(length, Some(body.len().to_string()));
    assert_eq!(get("HEAD", "/orders?consumerId=1511300065921&since=0").await.1, length);
}
