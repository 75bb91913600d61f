//! Tables, the API in both modes, a gateway that counts its calls, and requests.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::AttributeValue;
use charge_handler::{ChargeResult, Charger};
use dynamodb_locks::Lock;
use embedded_dynamodb::{Engine, Wire};
use lambda_boot::Clock;
use order_events::{ConsistencyToken, Message};
use payment_api::{Api, Authorization, Mode, Response, Settings};
use payment_gateway::{ChargeRequest, Gateway, GatewayFuture, Outcome, Unknown};
use payment_intents::{ChargeId, Decline};
use payment_store::{PaymentStore, StoredIntent, Tables, create_tables};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::gate::Gate;

pub(crate) struct World {
    pub(crate) engine: Arc<Engine>,
    pub(crate) gateway: Arc<CountingGateway>,
    /// Milliseconds since 1970.
    clock: Arc<Mutex<u64>>,
}

/// 2026-11-17T12:00:00Z.
const NOW: u64 = 1_794_916_800_000;

/// The time from the start of an invocation to its deadline, in milliseconds.
const TIMEOUT: u64 = 29_000;

pub(crate) fn tables() -> Tables {
    Tables::with_prefix("ftgo-payments")
}

impl World {
    pub(crate) async fn create() -> Self {
        let engine = Arc::new(Engine::start());
        create_tables(&engine.client(), &tables()).await.unwrap();
        Self { engine, gateway: Arc::default(), clock: Arc::new(Mutex::new(NOW)) }
    }

    /// Both modes, each with its own tables.
    pub(crate) async fn both() -> [(Self, TestApi); 2] {
        let (one, other) = (Self::create().await, Self::create().await);
        let apis = (one.saga(), other.locked());
        [(one, apis.0), (other, apis.1)]
    }

    pub(crate) fn clock(&self) -> Clock {
        let clock = Arc::clone(&self.clock);
        Clock::from_fn(move || SystemTime::UNIX_EPOCH + Duration::from_millis(*clock.lock().unwrap()))
    }

    /// Advances the clock by `time`.
    pub(crate) fn advance_clock(&self, time: Duration) {
        *self.clock.lock().unwrap() += u64::try_from(time.as_millis()).unwrap();
    }

    pub(crate) fn client(&self) -> Client {
        self.engine.client()
    }

    pub(crate) fn store(&self) -> PaymentStore {
        PaymentStore::new(self.client(), tables(), self.clock())
    }

    pub(crate) fn saga(&self) -> TestApi {
        self.api(self.client(), Mode::Saga, Authorization::Off)
    }

    pub(crate) fn locked(&self) -> TestApi {
        self.api(self.client(), self.locked_mode(), Authorization::Off)
    }

    pub(crate) fn locked_mode(&self) -> Mode {
        Mode::Locked(Arc::clone(&self.gateway) as Arc<dyn Gateway>)
    }

    /// The API in one mode, over a wire.
    pub(crate) fn over(&self, wire: &Wire, mode: Mode) -> TestApi {
        self.api(self.engine.client_over(wire), mode, Authorization::Off)
    }

    /// The API in saga mode, with this client.
    pub(crate) fn with_client(&self, client: Client) -> TestApi {
        self.api(client, Mode::Saga, Authorization::Off)
    }

    /// The API whose requests to DynamoDB wait at the gate.
    pub(crate) fn gated(&self, gate: &Gate, mode: Mode) -> TestApi {
        let config = self.engine.config().http_client(gate.clone()).retry_config(RetryConfig::disabled());
        self.api(Client::from_conf(config.build()), mode, Authorization::Off)
    }

    /// The API with authorization, as in production.
    pub(crate) fn guarded(&self, mode: Mode) -> TestApi {
        self.guarded_over(&Wire::watched(), mode)
    }

    pub(crate) fn guarded_over(&self, wire: &Wire, mode: Mode) -> TestApi {
        let authorization = Authorization::Jwt { consumer_id_claim: "sub".to_owned() };
        self.api(self.engine.client_over(wire), mode, authorization)
    }

    /// Both modes with authorization, each with its own tables.
    pub(crate) async fn both_guarded() -> [(Self, TestApi); 2] {
        let (one, other) = (Self::create().await, Self::create().await);
        let apis = (one.guarded(Mode::Saga), other.guarded(other.locked_mode()));
        [(one, apis.0), (other, apis.1)]
    }

    /// Takes an intent's lock, as another process would.
    pub(crate) async fn take_lock(&self, id: &str) -> Lock {
        let key = PaymentStore::lock_key(id.parse().unwrap());
        self.store().locks().exclusive(key).acquire().await.unwrap().granted().unwrap()
    }

    fn api(&self, client: Client, mode: Mode, authorization: Authorization) -> TestApi {
        let settings =
            Settings { authorization, metrics_namespace: "Test".to_owned(), function_version: "1".to_owned() };
        let store = PaymentStore::new(client, tables(), self.clock());
        let is_locked = matches!(mode, Mode::Locked(_));
        let api = Arc::new(Api::new(store, mode, settings, self.clock()));
        let gateway = Arc::clone(&self.gateway);
        let handler = Charger::new(&self.client(), &tables(), Arc::<CountingGateway>::clone(&gateway), self.clock());
        TestApi { api, is_locked, clock: self.clock(), store: self.store(), gateway, handler }
    }

    /// The event rows, oldest first.
    pub(crate) async fn events(&self) -> Vec<Message> {
        let mut rows = self.scan(&tables().outbox).await;
        rows.sort_by_key(|row| row["eventId"].as_s().unwrap().clone());
        rows.iter().map(|row| Message::parse(row["message"].as_s().unwrap()).unwrap()).collect()
    }

    pub(crate) async fn scan(&self, table: &str) -> Vec<HashMap<String, AttributeValue>> {
        self.client().scan().table_name(table).consistent_read(true).send().await.unwrap().items.unwrap()
    }

    /// The intents, without the guards.
    pub(crate) async fn intents(&self) -> Vec<HashMap<String, AttributeValue>> {
        let items = self.scan(&tables().payments).await;
        items.into_iter().filter(|item| item["pk"].as_s().unwrap().starts_with("PaymentIntent#")).collect()
    }

    /// How many locks are held.
    pub(crate) async fn held_locks(&self) -> usize {
        self.scan(&tables().locks).await.iter().filter(|lock| lock.contains_key("owner")).count()
    }
}

/// A gateway that charges once for each key and remembers every request.
#[derive(Debug, Default)]
pub(crate) struct CountingGateway {
    pub(crate) requests: Mutex<Vec<ChargeRequest>>,
    charges: Mutex<HashMap<String, Outcome>>,
    pub(crate) behaviour: Mutex<Behaviour>,
    /// Ends a stall.
    pub(crate) resume: Notify,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Behaviour {
    #[default]
    Charge,
    Decline,
    /// Charges, but the response is lost.
    LoseResponse,
    /// Does not answer before `resume` is notified.
    Stall,
}

pub(crate) fn charged_as(charge_id: &str) -> Outcome {
    Outcome::Charged { charge_id: ChargeId::parse(charge_id).unwrap() }
}

pub(crate) fn declined() -> Outcome {
    Outcome::Declined(Decline::new(None, "card_declined", Some("Your card was declined.")))
}

impl CountingGateway {
    pub(crate) fn now(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    pub(crate) fn calls(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// The amounts that were really charged, in minor units.
    pub(crate) fn charged(&self) -> Vec<i64> {
        let requests = self.requests.lock().unwrap();
        let charges = self.charges.lock().unwrap();
        let of_key = |key: &String| requests.iter().find(|request| request.charge_key.as_str() == key).unwrap();
        let charged = charges.iter().filter(|(_, outcome)| matches!(outcome, Outcome::Charged { .. }));
        charged.map(|(key, _)| of_key(key).amount.minor_units()).collect()
    }
}

impl Gateway for CountingGateway {
    fn charge<'a>(&'a self, request: &'a ChargeRequest, _: Instant) -> GatewayFuture<'a, Outcome> {
        Box::pin(async move {
            self.requests.lock().unwrap().push(request.clone());
            let behaviour = *self.behaviour.lock().unwrap();
            if behaviour == Behaviour::Stall {
                self.resume.notified().await;
            }
            // Other tasks run during the call.
            tokio::task::yield_now().await;
            let mut charges = self.charges.lock().unwrap();
            let charge_id = format!("ch_{}", charges.len() + 1);
            let outcome = charges.entry(request.charge_key.to_string()).or_insert_with(|| match behaviour {
                Behaviour::Decline => declined(),
                Behaviour::Charge | Behaviour::LoseResponse | Behaviour::Stall => charged_as(&charge_id),
            });
            if behaviour == Behaviour::LoseResponse { Err(Unknown::Timeout) } else { Ok(outcome.clone()) }
        })
    }

    fn look_up<'a>(&'a self, request: &'a ChargeRequest, _: Instant) -> GatewayFuture<'a, Option<ChargeId>> {
        let found = self.charges.lock().unwrap().get(request.charge_key.as_str()).cloned();
        Box::pin(async move {
            Ok(match found {
                Some(Outcome::Charged { charge_id }) => Some(charge_id),
                Some(Outcome::Declined(_)) | None => None,
            })
        })
    }
}

/// The API, its store, its gateway and the charge handler.
#[derive(Clone)]
pub(crate) struct TestApi {
    api: Arc<Api>,
    pub(crate) is_locked: bool,
    clock: Clock,
    store: PaymentStore,
    pub(crate) gateway: Arc<CountingGateway>,
    handler: Charger,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply(pub(crate) Response);

impl Reply {
    pub(crate) fn status(&self) -> u16 {
        self.0.status_code
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.0.headers.get(name).map(String::as_str)
    }

    pub(crate) fn body<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(self.0.body.as_deref().unwrap()).unwrap()
    }

    pub(crate) fn member(&self, name: &str) -> Value {
        self.body::<Value>()[name].clone()
    }

    pub(crate) fn id(&self) -> String {
        self.member("paymentIntentId").as_str().unwrap().to_owned()
    }

    pub(crate) fn is_replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    /// The last part of the problem's type.
    pub(crate) fn problem(&self) -> String {
        let kind = self.member("type").as_str().unwrap().to_owned();
        kind.strip_prefix("urn:ftgo:payments:problem:").unwrap().to_owned()
    }

    #[track_caller]
    pub(crate) fn expect_problem(&self, status: u16, problem: &str) {
        assert_eq!((self.status(), self.problem().as_str()), (status, problem), "{self:?}");
        assert_eq!(self.member("status"), status);
    }

    pub(crate) fn token(&self) -> ConsistencyToken {
        self.header("consistency-token").unwrap().parse().unwrap()
    }
}

/// A request as API Gateway sends it to the function.
#[derive(Debug, Clone)]
pub(crate) struct RequestBuilder(pub(crate) Value);

impl RequestBuilder {
    pub(crate) fn new(method: &str, path: &str) -> Self {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        Self(json!({
            "version": "2.0", "rawPath": path, "rawQueryString": query, "headers": {},
            "requestContext": {"requestId": "request-1", "stage": "$default", "http": {"method": method, "path": path}},
        }))
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0["headers"][name] = value.into();
        self
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("idempotency-key", format!("\"{key}\""))
    }

    pub(crate) fn body(mut self, body: &Value) -> Self {
        self.0["body"] = body.to_string().into();
        self
    }

    pub(crate) fn text(mut self, body: &str) -> Self {
        self.0["body"] = body.into();
        self
    }

    pub(crate) fn by(mut self, claims: &Value) -> Self {
        self.0["requestContext"]["authorizer"] = json!({"jwt": {"claims": claims, "scopes": null}});
        self
    }
}

pub(crate) fn create(order_id: &str, amount: i64) -> RequestBuilder {
    let body = json!({"orderId": order_id, "amount": amount, "currency": "USD", "consumerId": "7"});
    RequestBuilder::new("POST", "/payment-intents").body(&body)
}

pub(crate) fn change(id: &str, amount: i64) -> RequestBuilder {
    RequestBuilder::new("PATCH", &format!("/payment-intents/{id}")).body(&json!({"amount": amount}))
}

pub(crate) fn charge(id: &str) -> RequestBuilder {
    RequestBuilder::new("POST", &format!("/payment-intents/{id}/charge"))
}

impl TestApi {
    pub(crate) async fn send(&self, request: RequestBuilder) -> Reply {
        let deadline = self.clock.now() + Duration::from_millis(TIMEOUT);
        Reply(self.api.handle(serde_json::from_value(request.0).unwrap(), deadline).await)
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.send(RequestBuilder::new("GET", path)).await
    }

    pub(crate) async fn find(&self, id: &str) -> Reply {
        self.get(&format!("/payment-intents/{id}")).await
    }

    pub(crate) async fn state(&self, id: &str) -> String {
        self.find(id).await.member("state").as_str().unwrap().to_owned()
    }

    /// Creates an intent.
    pub(crate) async fn created(&self, order_id: &str, amount: i64) -> String {
        let created = self.send(create(order_id, amount).key(&format!("create-{order_id}"))).await;
        assert_eq!(created.status(), 201, "{created:?}");
        created.id()
    }

    pub(crate) async fn found(&self, id: &str) -> StoredIntent {
        self.store.find(id.parse().unwrap()).await.unwrap().unwrap()
    }

    /// Charges the intent. In saga mode, the charge handler then finishes the charge.
    pub(crate) async fn charge_and_settle(&self, id: &str, key: &str) -> Reply {
        let reply = self.send(charge(id).key(key)).await;
        if !self.is_locked && reply.status() == 202 {
            self.settle_pending(id).await;
        }
        reply
    }

    /// Lets the charge handler finish an open charge.
    pub(crate) async fn settle_pending(&self, id: &str) {
        assert_ne!(self.handle_message(id).await, ChargeResult::HeldByAnother);
    }

    /// Lets the charge handler process one message.
    pub(crate) async fn handle_message(&self, id: &str) -> ChargeResult {
        let deadline = self.clock.now() + Duration::from_millis(TIMEOUT);
        self.handler.finish(id.parse().unwrap(), deadline).await.unwrap()
    }
}
