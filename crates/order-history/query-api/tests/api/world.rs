//! A table, the API, and orders.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use embedded_dynamodb::{Engine, Wire};
use lambda_boot::Clock;
use order_events::{Event, Message, Timestamp};
use order_store::{Applied, OrderStore};
use query_api::{Api, Authorization, Config, Response, WebPage};
use sample_events::ORDER_HISTORY_TABLE;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// 2026-03-02T00:00:00Z, the day after the events of `events/story.json`.
pub(crate) const NOW: u64 = 1_772_409_600_000;

pub(crate) struct World {
    pub(crate) engine: Arc<Engine>,
    pub(crate) store: OrderStore,
}

impl World {
    pub(crate) async fn create() -> Self {
        let engine = Arc::new(Engine::start());
        let client = engine.client();
        order_store::table::create(&client, ORDER_HISTORY_TABLE).unwrap().send().await.unwrap();
        Self { engine, store: OrderStore::new(client, ORDER_HISTORY_TABLE) }
    }

    /// The API without authorization.
    pub(crate) fn open(&self) -> TestApi {
        self.api(Authorization::Off, self.store.clone())
    }

    /// The API with authorization, as in production.
    pub(crate) fn guarded(&self) -> TestApi {
        self.api(Authorization::Jwt { consumer_id_claim: "sub".to_owned() }, self.store.clone())
    }

    /// The API without authorization, over `wire`.
    pub(crate) fn open_over(&self, wire: &Wire) -> TestApi {
        self.api(Authorization::Off, OrderStore::new(self.engine.client_over(wire), ORDER_HISTORY_TABLE))
    }

    /// The API without authorization, this many milliseconds later.
    pub(crate) fn open_later(&self, millis: u64) -> TestApi {
        self.api_at(NOW + millis, Authorization::Off, self.store.clone())
    }

    pub(crate) fn api(&self, authorization: Authorization, store: OrderStore) -> TestApi {
        self.api_at(NOW, authorization, store)
    }

    fn api_at(&self, now: u64, authorization: Authorization, store: OrderStore) -> TestApi {
        self.api_with(now, Config { authorization, ..config() }, store)
    }

    /// The API without authorization, over `wire`, with this setting.
    pub(crate) fn open_with_max_wait(&self, max_wait: Duration, wire: &Wire) -> TestApi {
        let store = OrderStore::new(self.engine.client_over(wire), ORDER_HISTORY_TABLE);
        self.api_with(NOW, Config { max_wait, ..config() }, store)
    }

    /// The API with these settings of the page.
    pub(crate) fn with_page(&self, authorization: Authorization, web_page: WebPage) -> TestApi {
        self.api_with(NOW, Config { authorization, web_page, ..config() }, self.store.clone())
    }

    fn api_with(&self, now: u64, config: Config, store: OrderStore) -> TestApi {
        let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now);
        TestApi { api: Api::new(store, config, Clock::from_fn(move || now)), now, _engine: Arc::clone(&self.engine) }
    }

    pub(crate) async fn project(&self, events: &[Event]) {
        for event in events {
            let _: Applied = self.store.apply(event).await.unwrap();
        }
    }
}

fn config() -> Config {
    Config {
        order_history_table: ORDER_HISTORY_TABLE.to_owned(),
        order_history_index: order_store::table::INDEX.to_owned(),
        authorization: Authorization::Off,
        read_budget: 1_000,
        max_wait: Duration::from_secs(10),
        web_page: web_page(),
        metrics_namespace: order_store::METRICS_NAMESPACE.to_owned(),
        function_version: "1".to_owned(),
    }
}

/// The default settings of the page.
pub(crate) fn web_page() -> WebPage {
    WebPage { sign_in: None, currency: "USD".to_owned(), sample_consumers: Vec::new(), console: None }
}

/// An API and its clock.
pub(crate) struct TestApi {
    api: Api,
    now: SystemTime,
    /// Keeps the engine running.
    _engine: Arc<Engine>,
}

/// A request as API Gateway sends it to the function.
#[derive(Debug, Clone)]
pub(crate) struct RequestBuilder(Value);

impl RequestBuilder {
    /// `GET` of a path with its query string.
    pub(crate) fn get(path: &str) -> Self {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        Self(json!({
            "version": "2.0", "rawPath": path, "rawQueryString": query, "headers": {},
            "requestContext": {"requestId": "request-1", "stage": "$default", "http": {"method": "GET", "path": path}},
        }))
    }

    pub(crate) fn method(mut self, method: &str) -> Self {
        self.0["requestContext"]["http"]["method"] = method.into();
        self
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0["headers"][name] = value.into();
        self
    }

    pub(crate) fn claims(self, claims: Value) -> Self {
        let jwt = Value::from_iter([("claims", claims)]);
        self.context("authorizer", Value::from_iter([("jwt", jwt)]))
    }

    pub(crate) fn context(mut self, name: &str, value: Value) -> Self {
        self.0["requestContext"][name] = value;
        self
    }

    pub(crate) fn event(&mut self) -> &mut Map<String, Value> {
        self.0.as_object_mut().unwrap()
    }
}

impl TestApi {
    pub(crate) async fn send(&self, request: RequestBuilder) -> Response {
        self.send_within(request, Duration::from_secs(30)).await
    }

    pub(crate) async fn send_within(&self, request: RequestBuilder, timeout: Duration) -> Response {
        let request = serde_json::from_value(request.0).unwrap();
        self.api.handle(request, self.now + timeout).await
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.send(RequestBuilder::get(path)).await
    }

    /// Expects status 200.
    pub(crate) async fn json(&self, path: &str) -> Value {
        let response = self.get(path).await;
        assert_eq!(response.status_code, 200, "{path}: {response:?}");
        body(&response)
    }

    /// Reads all pages of a list. Calls `meanwhile` between two pages.
    pub(crate) async fn walk(&self, list: &str, mut meanwhile: impl AsyncFnMut()) -> Vec<Value> {
        let mut pages = Vec::new();
        let mut path = list.to_owned();
        loop {
            let page = self.json(&path).await;
            let next = page["startKey"].as_str().map(|start_key| format!("{list}&startKey={start_key}"));
            pages.push(page);
            assert!(pages.len() < 10_000, "{list} does not end");
            match next {
                Some(next) => path = next,
                None => return pages,
            }
            meanwhile().await;
        }
    }
}

pub(crate) fn body(response: &Response) -> Value {
    serde_json::from_str(response.body.as_deref().unwrap()).unwrap()
}

/// The ids of the orders on these pages.
pub(crate) fn ids(pages: &[Value]) -> Vec<String> {
    let orders = pages.iter().flat_map(|page| page["orders"].as_array().unwrap());
    orders.map(|order| order["orderId"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
pub(crate) fn assert_problem(response: &Response, status: u16, kind: &str) -> Value {
    assert_eq!(response.status_code, status, "{response:?}");
    assert_eq!(response.headers["content-type"], "application/problem+json");
    let problem = body(response);
    assert_eq!(problem["type"], format!("urn:ftgo:order-history:problem:{kind}"));
    assert_eq!(problem["status"], status);
    assert_eq!(problem["requestId"], "request-1");
    assert!(problem["detail"].as_str().unwrap().len() > 10);
    problem
}

/// `OrderCreated` number `n` of a consumer, `ago` milliseconds before now.
pub(crate) fn created(consumer_id: &str, n: u64, ago: u64, restaurant: &str) -> Event {
    let payload = json!({
        "orderDetails": {
            "consumerId": consumer_id, "restaurantId": 1, "orderTotal": "9.95",
            "lineItems": [{"menuItemId": "1", "name": "Soup of the day", "price": "9.95", "quantity": 1}],
        },
        "restaurantName": restaurant,
    });
    event("OrderCreated", n, ago, &payload)
}

/// `OrderAuthorized` of the same order, at the same time.
pub(crate) fn authorized(n: u64, ago: u64) -> Event {
    event("OrderAuthorized", n, ago, &json!({}))
}

fn event(event_type: &str, n: u64, ago: u64, payload: &Value) -> Event {
    let place = if event_type == "OrderCreated" { 0 } else { 1_u64 << 40 };
    let message = json!({
        "payload": payload.to_string(),
        "headers": {
            "ID": format!("{:016x}-{:016x}", NOW - ago, place + n),
            "event-type": event_type, "event-aggregate-type": "Order", "event-aggregate-id": n.to_string(),
        },
    });
    Message::parse(&message.to_string()).unwrap().event
}

/// A forged page token (tokens are not signed): bound to the list of a consumer, `since`, status and keywords, with its own `since`
/// and a position.
pub(crate) fn forged_token(
    consumer_id: &str,
    since: i64,
    status: &str,
    keywords: &[String],
    own_since: i64,
    position_time: i64,
    order_id: &str,
) -> String {
    let since = Timestamp::from_millis(since).unwrap().to_string();
    let parts = [consumer_id, &since, status].into_iter().chain(keywords.iter().map(String::as_str));
    let list: String = parts.flat_map(|part| [part, "\n"]).collect();
    let mut token = vec![1];
    token.extend(&Sha256::digest(list)[..8]);
    token.extend(own_since.to_be_bytes());
    token.extend(position_time.to_be_bytes());
    token.extend(order_id.as_bytes());
    URL_SAFE_NO_PAD.encode(token)
}
