//! HTTP requests through the gateway to a real function process (`examples/echo.rs`), and back.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use lambda_host::gateway::{self, Integration};
use lambda_host::lambda::{PAYLOAD_LIMIT, Settings};
use lambda_host::route::Route;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::echo::{TIMEOUT, settings};

#[tokio::test]
async fn a_request_is_an_event_of_format_2() {
    let gateway = Gateway::start().await;
    let request = "POST /orders/caf%C3%A9%20%2B1?status=APPROVED&keywords=a%20b&keywords=c+d&flag HTTP/1.1\r\n\
                   host: orders.example\r\n\
                   User-Agent: a-test\r\n\
                   X-Twice: one\r\n\
                   x-twice: two\r\n\
                   Cookie: a=1; b=2\r\n\
                   cookie: c=3\r\n\
                   x-forwarded-for: 192.0.2.1\r\n\
                   content-type: text/plain\r\n\
                   content-length: 5\r\n\
                   connection: close\r\n\r\n\
                   Hello";
    let response = exchange(gateway.address, request.as_bytes()).await;
    let mut event = response.json();

    let context = &mut event["requestContext"];
    let time = context["time"].take();
    let epoch = context["timeEpoch"].take();
    let request_id = context["requestId"].take();
    assert_eq!(
        event,
        json!({
            "version": "2.0",
            "routeKey": "ANY /orders/{orderId}",
            "rawPath": "/orders/café +1",
            "rawQueryString": "status=APPROVED&keywords=a%20b&keywords=c+d&flag",
            "cookies": ["a=1", "b=2", "c=3"],
            "headers": {
                "host": "orders.example",
                "user-agent": "a-test",
                "x-twice": "one,two",
                "content-length": "5",
                "content-type": "text/plain",
                "connection": "close",
                "x-forwarded-for": "192.0.2.1,127.0.0.1",
                "x-forwarded-port": gateway.address.port().to_string(),
                "x-forwarded-proto": "http",
            },
            "queryStringParameters": {"status": "APPROVED", "keywords": "a b,c d", "flag": ""},
            "pathParameters": {"orderId": "café +1"},
            "requestContext": {
                "accountId": "000000000000",
                "apiId": "local",
                "domainName": "localhost",
                "domainPrefix": "localhost",
                "http": {
                    "method": "POST",
                    "path": "/orders/café +1",
                    "protocol": "HTTP/1.1",
                    "sourceIp": "127.0.0.1",
                    "userAgent": "a-test",
                },
                "requestId": null,
                "routeKey": "ANY /orders/{orderId}",
                "stage": "$default",
                "time": null,
                "timeEpoch": null,
            },
            "body": "Hello",
            "isBase64Encoded": false,
        })
    );
    assert_eq!(response.header("apigw-requestid"), request_id.as_str());
    assert!(epoch.as_u64().unwrap() > 1_700_000_000_000, "{epoch} is in milliseconds");
    let shape: String = time.as_str().unwrap().chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let (before, after) = shape.split_at(3);
    assert_eq!((before, &after[3..]), ("00/", "/0000:00:00:00 +0000"), "{time}");
}

#[tokio::test]
async fn an_event_has_only_what_its_request_has() {
    let gateway = Gateway::start().await;
    let event = gateway.send("GET", "/", b"").await.json();
    assert_eq!(event["rawQueryString"], "");
    for absent in ["cookies", "queryStringParameters", "body"] {
        assert_eq!(event.get(absent), None);
    }
    assert_eq!(event["requestContext"].get("authorizer"), None);
    assert_eq!(event["requestContext"]["http"]["userAgent"], "");
}

#[tokio::test]
async fn a_body_is_base64_unless_its_content_type_is_text() {
    let gateway = Gateway::start().await;
    for (content_type, is_base64) in [
        ("content-type: application/json\r\n", false),
        ("Content-Type: Application/JSON; charset=utf-8\r\n", false),
        ("content-type: application/xml\r\n", false),
        ("content-type: application/javascript\r\n", false),
        ("content-type: text/csv\r\n", false),
        ("content-type: application/x-www-form-urlencoded\r\n", true),
        ("content-type: application/octet-stream\r\n", true),
        ("", true),
    ] {
        let head = format!("POST / HTTP/1.1\r\nhost: localhost\r\n{content_type}connection: close\r\n");
        let event = exchange(gateway.address, format!("{head}content-length: 2\r\n\r\n{{}}").as_bytes()).await.json();
        let expected = if is_base64 { "e30=" } else { "{}" };
        assert_eq!(
            (&event["body"], &event["isBase64Encoded"]),
            (&json!(expected), &json!(is_base64)),
            "{content_type}"
        );
    }
}

#[tokio::test]
async fn a_body_that_is_not_utf_8_is_base64_with_any_content_type() {
    let gateway = Gateway::start().await;
    let event = gateway.send("POST", "/", &[0xff, 0x00, 0xfe]).await.json();
    assert_eq!((&event["body"], &event["isBase64Encoded"]), (&json!("/wD+"), &json!(true)));
}

#[tokio::test]
async fn the_request_context_has_what_the_authorizer_returns() {
    let gateway = Gateway::start_with(settings(), 1, |headers| {
        let claims = json!({"sub": headers.get("authorization")?.to_str().ok()?});
        Some(json!({"jwt": {"claims": claims, "scopes": ["orders:read-any"]}}))
    })
    .await;
    let request = "GET / HTTP/1.1\r\nhost: localhost\r\nauthorization: 1511300065921\r\nconnection: close\r\n\r\n";
    let event = exchange(gateway.address, request.as_bytes()).await.json();
    let expected = json!({"jwt": {"claims": {"sub": "1511300065921"}, "scopes": ["orders:read-any"]}});
    assert_eq!(event["requestContext"]["authorizer"], expected);
    let event = gateway.send("GET", "/", b"").await.json();
    assert_eq!(event["requestContext"].get("authorizer"), None, "there is no token");
    let request = "GET /health HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ok\r\nconnection: close\r\n\r\n";
    let event = exchange(gateway.address, request.as_bytes()).await.json();
    assert_eq!(event["requestContext"].get("authorizer"), None, "this route has no authorization");
}

#[test]
fn the_claims_of_a_bearer_token_are_accepted_unverified() {
    let expected = json!({"jwt": {"claims": {"sub": "1"}, "scopes": null}});
    assert_eq!(authorizer(&bearer(r#"{"sub":"1"}"#)), Some(expected));
    for unreadable in ["", "Basic YTpi", "Bearer eyJzdWIiOiIxIn0", "Bearer a.b.c", &bearer("[]")] {
        assert_eq!(authorizer(unreadable), None, "{unreadable}");
    }
    assert_eq!(gateway::unverified_claims(&HeaderMap::new()), None);
}

#[test]
fn claims_are_strings() {
    let claims = r#"{
        "sub": "1511300065921", "exp": 1787996002, "auth_time": 1787992402123, "ratio": 0.5, "email_verified": true,
        "cognito:groups": ["admin", "support"], "levels": [1, true], "none": [], "nobody": null, "address": {"city": "Oakland"}
    }"#;
    let texts = json!({
        "sub": "1511300065921",
        "exp": "1787996002",
        "auth_time": "1787992402123",
        "ratio": "0.5",
        "email_verified": "true",
        "cognito:groups": "[admin support]",
        "levels": "[1 true]",
        "none": "[]",
        "address": r#"{"city":"Oakland"}"#,
    });
    assert_eq!(authorizer(&bearer(claims)), Some(json!({"jwt": {"claims": texts, "scopes": null}})));
}

fn authorizer(authorization: &str) -> Option<Value> {
    gateway::unverified_claims(&HeaderMap::from_iter([(AUTHORIZATION, authorization.parse().unwrap())]))
}

/// A token with these claims and no signature.
fn bearer(claims: &str) -> String {
    let [header, claims] = [r#"{"alg":"none"}"#, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part));
    format!("Bearer {header}.{claims}.")
}

#[tokio::test]
async fn the_functions_response_becomes_the_http_response() {
    let gateway = Gateway::start().await;
    let response = gateway
        .respond(&json!({
            "statusCode": 201,
            "headers": {"Content-Type": "text/html", "X-Its-Own": "1", "Content-Length": "999", "Connection": "upgrade"},
            "multiValueHeaders": {"x-not-in-format-2": ["1"]},
            "cookies": ["a=1; Secure", "b=2"],
            "body": "<p>grüezi</p>",
            "isBase64Encoded": false,
        }))
        .await;
    assert_eq!(response.status, 201);
    assert_eq!(response.header("content-type"), Some("text/html"));
    assert_eq!(response.header("x-its-own"), Some("1"));
    assert_eq!(response.header("content-length"), Some("14"));
    assert_eq!(response.header("connection"), Some("close"));
    assert_eq!(response.header("x-not-in-format-2"), None);
    assert_eq!(response.headers("set-cookie"), ["a=1; Secure", "b=2"]);
    assert_eq!(response.body, "<p>grüezi</p>".as_bytes());
}

#[tokio::test]
async fn a_base64_response_is_decoded() {
    let gateway = Gateway::start().await;
    let response = gateway.respond(&json!({"statusCode": 200, "body": "/wD+", "isBase64Encoded": true})).await;
    assert_eq!(response.body, [0xff, 0x00, 0xfe]);
    assert_eq!(response.header("content-length"), Some("3"));
}

#[tokio::test]
async fn a_response_needs_only_a_status() {
    let gateway = Gateway::start().await;
    let nulls = json!({"statusCode": 404, "headers": null, "cookies": null, "body": null, "isBase64Encoded": null});
    for payload in [json!({"statusCode": 404}), nulls] {
        let response = gateway.respond(&payload).await;
        assert_eq!(response.status, 404);
        assert_eq!(response.header("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(response.header("content-length"), Some("0"));
    }
}

#[tokio::test]
async fn a_response_without_a_status_is_the_body() {
    let gateway = Gateway::start().await;
    for payload in [json!({"orders": []}), json!("text"), json!([1]), Value::Null] {
        let response = gateway.respond(&payload).await;
        assert_eq!((response.status, response.json()), (200, payload));
        assert_eq!(response.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn no_body_is_sent_where_http_has_none() {
    let gateway = Gateway::start().await;
    let with_body = json!({"statusCode": 200, "body": "hello"}).to_string();
    let with_length = json!({"statusCode": 200, "headers": {"content-length": "5"}}).to_string();
    let with_nonsense = json!({"statusCode": 200, "headers": {"content-length": "abc"}, "body": "hello"}).to_string();
    for payload in [with_body, with_length, with_nonsense] {
        let response = gateway.send("HEAD", "/respond", payload.as_bytes()).await;
        assert_eq!((response.status, response.header("content-length")), (200, Some("5")));
        assert_eq!(response.body, b"");
    }
    for status in [204, 304] {
        let response = gateway.respond(&json!({"statusCode": status, "headers": {"etag": "\"1\""}})).await;
        assert_eq!((response.status, response.header("etag")), (status, Some("\"1\"")));
        assert_eq!((response.header("content-length"), response.body.len()), (None, 0));
    }
}

#[tokio::test]
async fn an_invalid_response_is_an_internal_server_error() {
    let gateway = Gateway::start().await;
    let payloads = [
        "not JSON",
        "",
        r#"{"statusCode": null}"#,
        r#"{"statusCode": "teapot"}"#,
        r#"{"statusCode": 100}"#,
        r#"{"statusCode": 1000}"#,
        r#"{"statusCode": 200, "body": {}}"#,
        r#"{"statusCode": 200, "body": "not base64", "isBase64Encoded": true}"#,
        r#"{"statusCode": 200, "headers": {"not a name": "1"}}"#,
        r#"{"statusCode": 200, "headers": {"x-name": "not a\nvalue"}}"#,
        r#"{"statusCode": 200, "cookies": "a=1"}"#,
    ];
    for payload in payloads {
        let response = gateway.send("POST", "/respond", payload.as_bytes()).await;
        response.assert_is_gateway_error(500, "Internal Server Error", payload);
    }
}

#[tokio::test]
async fn a_function_that_failed_or_ended_is_an_internal_server_error_and_the_next_request_is_served() {
    let gateway = Gateway::start().await;
    for path in ["/error", "/exit", "/error", "/exit"] {
        gateway.send("GET", path, b"").await.assert_is_gateway_error(500, "Internal Server Error", path);
        assert_eq!(gateway.send("GET", "/", b"").await.status, 200, "after {path}");
    }
}

#[tokio::test]
async fn a_function_that_timed_out_is_unavailable_and_the_next_request_is_served() {
    let settings = Settings { timeout: Duration::from_secs(1), ..settings() };
    let gateway = Gateway::start_with(settings, 1, |_| None).await;
    let never = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let response = gateway.connect_to(never.local_addr().unwrap()).await;
    response.assert_is_gateway_error(503, "Service Unavailable", "a function that waits");
    assert_eq!(gateway.send("GET", "/", b"").await.status, 200);
}

#[tokio::test]
async fn a_body_may_have_lambdas_payload_limit_and_no_more() {
    let gateway = Gateway::start().await;
    let frame = json!({"statusCode": 200, "body": ""}).to_string().len();
    let largest = json!({"statusCode": 200, "body": "x".repeat(PAYLOAD_LIMIT - frame)}).to_string();
    let response = gateway.send("POST", "/respond", largest.as_bytes()).await;
    assert_eq!((response.status, response.body.len()), (200, PAYLOAD_LIMIT - frame));

    let response = gateway.send("POST", "/respond", (largest + " ").as_bytes()).await;
    response.assert_is_gateway_error(413, "Request Entity Too Large", "one byte more");
}

#[tokio::test]
async fn the_connection_of_an_endless_body_is_closed() {
    let gateway = Gateway::start().await;
    let mut client = TcpStream::connect(gateway.address).await.unwrap();
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n";
    client.write_all(head.as_bytes()).await.unwrap();
    let (mut response, mut body) = client.split();
    let mebibyte = format!("100000\r\n{}\r\n", "x".repeat(1 << 20));
    let send = async {
        for sent in 0..256 {
            // The gateway has closed the connection.
            if body.write_all(mebibyte.as_bytes()).await.is_err() {
                return sent;
            }
        }
        256
    };
    let (mut status, sent) = ([0; 12], send.await);
    assert!(sent < 256, "the gateway accepted {sent} MiB");
    response.read_exact(&mut status).await.unwrap();
    assert_eq!(str::from_utf8(&status), Ok("HTTP/1.1 413"));
    assert_eq!(gateway.send("GET", "/", b"").await.status, 200);

    let head = format!("POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", u64::MAX / 2);
    let response = timeout(TIMEOUT, exchange(gateway.address, head.as_bytes())).await.expect("there was no response");
    response.assert_is_gateway_error(413, "Request Entity Too Large", "a declared length that is never sent");
}

#[tokio::test]
async fn a_function_whose_response_was_rejected_is_replaced_before_the_next_request() {
    let gateway = Gateway::start().await;
    let mut process = gateway.process().await;
    let too_large = vec![b'x'; PAYLOAD_LIMIT];
    for (path, payload) in [("/", too_large.as_slice()), ("/respond", b"not JSON"), ("/", &too_large)] {
        let response = gateway.send("POST", path, payload).await;
        response.assert_is_gateway_error(500, "Internal Server Error", path);
        let next = gateway.process().await;
        assert_ne!(next, process, "after {path}");
        process = next;
    }
}

#[tokio::test]
async fn concurrent_requests_run_in_different_processes() {
    let gateway = Gateway::start_with(settings(), 2, |_| None).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut requests = gateway.two_requests_connect_to(&listener);
    let both = (listener.accept().await.unwrap(), listener.accept().await.unwrap());
    drop(both);
    assert_eq!(processes(&mut requests).await.len(), 2);
}

#[tokio::test]
async fn a_request_waits_for_an_idle_process() {
    let gateway = Gateway::start_with(settings(), 1, |_| None).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut requests = gateway.two_requests_connect_to(&listener);
    for _ in 0..2 {
        drop(listener.accept().await.unwrap());
    }
    assert_eq!(processes(&mut requests).await.len(), 1);
}

#[tokio::test]
async fn a_missing_binary_is_reported_at_the_start() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = Settings { binary: PathBuf::from("/nowhere/bootstrap"), ..settings() };
    let error = gateway::serve(listener, settings, 1, routes(), |_| None).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert!(error.to_string().starts_with("cannot start /nowhere/bootstrap: "), "{error}");
}

#[tokio::test]
async fn a_request_that_no_route_matches_gets_404() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let only = vec![Route { key: "GET /orders".to_owned(), authorization: "NONE".to_owned() }];
    let _server = JoinSet::from_iter([gateway::serve(listener, settings(), 1, only, |_| None)]);
    assert_eq!(send(address, "GET", "/orders", b"").await.status, 200);
    for (method, path) in [("POST", "/orders"), ("GET", "/orders/99"), ("GET", "/")] {
        send(address, method, path, b"").await.assert_is_gateway_error(404, "Not Found", path);
    }
}

/// A gateway with the echo function; both end with this value.
struct Gateway {
    address: SocketAddr,
    _server: JoinSet<std::io::Result<()>>,
}

impl Gateway {
    async fn start() -> Self {
        Self::start_with(settings(), 1, |_| None).await
    }

    async fn start_with(
        settings: Settings,
        concurrency: usize,
        authorizer: impl Fn(&HeaderMap) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut server = JoinSet::new();
        server.spawn(gateway::serve(listener, settings, concurrency, routes(), authorizer));
        Self { address, _server: server }
    }

    async fn send(&self, method: &str, target: &str, body: &[u8]) -> Response {
        send(self.address, method, target, body).await
    }

    /// The response when the function returns this payload.
    async fn respond(&self, payload: &Value) -> Response {
        self.send("POST", "/respond", payload.to_string().as_bytes()).await
    }

    /// The response when the function connects to this address and waits until the connection is closed.
    async fn connect_to(&self, listener: SocketAddr) -> Response {
        self.send("POST", "/connect", listener.to_string().as_bytes()).await
    }

    /// The process that answers now.
    async fn process(&self) -> u64 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (response, ()) = tokio::join!(self.connect_to(address), async { drop(listener.accept().await.unwrap()) });
        response.json()["process"].as_u64().unwrap()
    }

    fn two_requests_connect_to(&self, listener: &TcpListener) -> JoinSet<Response> {
        let (gateway, address) = (self.address, listener.local_addr().unwrap().to_string());
        let request = || {
            let address = address.clone();
            async move { send(gateway, "POST", "/connect", address.as_bytes()).await }
        };
        JoinSet::from_iter([request(), request()])
    }
}

#[tokio::test]
async fn functions_share_a_port_and_the_most_specific_of_all_routes_decides() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let integration = |name: &str, keys: &[&str]| Integration {
        function: Settings { name: name.to_owned(), ..settings() },
        concurrency: 1,
        routes: keys.iter().map(|key| Route { key: (*key).to_owned(), authorization: "NONE".to_owned() }).collect(),
    };
    let integrations = vec![
        integration("orders", &["ANY /orders/{orderId}", "$default"]),
        integration("payments", &["POST /orders/{orderId}", "ANY /payments"]),
    ];
    let _server = JoinSet::from_iter([gateway::serve_all(listener, integrations, |_| None)]);
    for (method, path, expected) in [
        ("GET", "/orders/1", "orders"),
        ("POST", "/orders/1", "payments"),
        ("GET", "/payments", "payments"),
        ("GET", "/elsewhere", "orders"),
    ] {
        let response = send(address, method, path, b"").await;
        assert_eq!(response.header("function-name"), Some(expected), "{method} {path}");
        assert_eq!(response.json()["rawPath"], path);
    }
}

/// The processes that answered.
async fn processes(requests: &mut JoinSet<Response>) -> BTreeSet<u64> {
    let mut processes = BTreeSet::new();
    while let Some(response) = requests.join_next().await {
        processes.insert(response.unwrap().json()["process"].as_u64().unwrap());
    }
    processes
}

/// A route with a parameter, one without authorization, and one for all other requests.
fn routes() -> Vec<Route> {
    [("ANY /orders/{orderId}", "JWT"), ("ANY /health", "NONE"), ("$default", "JWT")]
        .map(|(key, authorization)| Route { key: key.to_owned(), authorization: authorization.to_owned() })
        .to_vec()
}

async fn send(gateway: SocketAddr, method: &str, target: &str, body: &[u8]) -> Response {
    let length = body.len();
    let head = format!(
        "{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    exchange(gateway, &[head.as_bytes(), body].concat()).await
}

/// Sends one request, and returns the whole response.
async fn exchange(gateway: SocketAddr, request: &[u8]) -> Response {
    let mut stream = TcpStream::connect(gateway).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await.unwrap();

    let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("the response has no head");
    let head = String::from_utf8(response[..end].to_vec()).unwrap();
    let body = response.split_off(end + 4);
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers = lines.map(|line| line.split_once(": ").unwrap());
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let response = Response { status, headers, body };
    assert!(response.header("apigw-requestid").is_some(), "the response has no request id");
    response
}

struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Response {
    fn headers(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let values = self.headers(name);
        assert!(values.len() <= 1, "{name} came {} times", values.len());
        values.first().copied()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    #[track_caller]
    fn assert_is_gateway_error(&self, status: u16, message: &str, after: &str) {
        assert_eq!((self.status, self.json()), (status, json!({"message": message})), "after {after}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        assert_eq!(self.header("content-length"), Some(self.body.len().to_string().as_str()));
    }
}
