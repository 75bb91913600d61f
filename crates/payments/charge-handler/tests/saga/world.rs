//! Tables, a clock that the test sets, a gateway, and functions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_http_client::tls::TlsContext;
use charge_handler::{BatchFailed, ChargeHandler, Charger, Config, Reconciler, Role, Unfinished};
use embedded_dynamodb::{Engine, Wire};
use idempotency::Fingerprint;
use lambda_boot::Clock;
use outbox::EventRow;
use payment_gateway::{Gateway, HttpGateway, RequestPolicy, Secret};
use payment_intents::{Amount, Currency, NewIntent, PaymentIntent, PaymentIntentId, StateName};
use payment_store::{CommandResult, Decision, Error, PaymentStore, RequestKey, StoredIntent, Tables, create_tables};
use serde_json::{Value, json};
use stand_in_gateway::{Settings, StandIn};
use tokio::net::TcpListener;

/// The time from the start of an invocation to its deadline.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// How long a slow charge takes at the gateway.
pub(crate) const SLOW: Duration = Duration::from_millis(500);

const SECRET: &str = "s3cret";

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) client: Client,
    pub(crate) tables: Tables,
    pub(crate) gateway: StandIn,
    /// Milliseconds since the clock's start.
    time: Arc<AtomicU64>,
}

impl World {
    pub(crate) async fn create() -> Self {
        let engine = Engine::start();
        let client = engine.client();
        let tables = Tables::with_prefix("ftgo-payments");
        create_tables(&client, &tables).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let settings = Settings { secret: Some(SECRET.to_owned()), slow: SLOW, file: None };
        let gateway = StandIn::start(listener, settings).unwrap();
        Self { engine, client, tables, gateway, time: Arc::default() }
    }

    pub(crate) fn clock(&self) -> Clock {
        let time = Arc::clone(&self.time);
        let start = SystemTime::UNIX_EPOCH + Duration::from_mins(29_540_000);
        Clock::from_fn(move || start + Duration::from_millis(time.load(Ordering::SeqCst)))
    }

    pub(crate) fn advance_clock(&self, time: Duration) {
        self.time.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    /// The deadline of an invocation that begins now.
    pub(crate) fn deadline(&self) -> SystemTime {
        self.clock().now() + TIMEOUT
    }

    pub(crate) fn store(&self) -> PaymentStore {
        self.store_over(&self.client)
    }

    pub(crate) fn store_over(&self, client: &Client) -> PaymentStore {
        PaymentStore::new(client.clone(), self.tables.clone(), self.clock())
    }

    /// A client of the stand-in gateway that does not retry.
    pub(crate) fn http_gateway(&self) -> Arc<dyn Gateway> {
        self.http_gateway_within(Duration::from_secs(20))
    }

    /// The same, with this time for one request.
    pub(crate) fn http_gateway_within(&self, attempt_timeout: Duration) -> Arc<dyn Gateway> {
        let policy = RequestPolicy { attempt_timeout, attempts: 1, ..RequestPolicy::default() };
        let secret = Secret::fixed(SECRET).unwrap();
        Arc::new(HttpGateway::new(&self.gateway.url(), TlsContext::default(), secret, policy).unwrap())
    }

    pub(crate) fn function(&self) -> Function {
        self.function_with(self.http_gateway())
    }

    pub(crate) fn function_with(&self, gateway: Arc<dyn Gateway>) -> Function {
        self.function_over(&self.client, gateway)
    }

    /// A function whose requests to DynamoDB go over `wire`.
    pub(crate) fn function_on(&self, wire: &Wire) -> Function {
        self.function_over(&self.engine.client_over(wire), self.http_gateway())
    }

    pub(crate) fn function_over(&self, client: &Client, gateway: Arc<dyn Gateway>) -> Function {
        let charger = Charger::new(client, &self.tables, gateway, self.clock());
        Function { handler: ChargeHandler::new(charger, "test", self.clock()), clock: self.clock() }
    }

    pub(crate) async fn reconcile(&self, gateway: Arc<dyn Gateway>) -> Result<usize, Unfinished> {
        self.reconciler(&self.client, gateway).run("request-1", self.deadline()).await
    }

    pub(crate) fn reconciler(&self, client: &Client, gateway: Arc<dyn Gateway>) -> Reconciler {
        let config = Config {
            role: Role::Reconcile,
            tables: self.tables.clone(),
            metrics_namespace: "test".to_owned(),
            reconcile_after: Duration::from_mins(5),
        };
        Reconciler::new(Charger::new(client, &self.tables, gateway, self.clock()), &config, self.clock())
    }

    /// An intent whose charge is requested.
    pub(crate) async fn requested(&self, amount: i64) -> PaymentIntentId {
        let id = self.created(amount).await;
        charge(&self.store(), id).await.unwrap();
        id
    }

    /// An intent whose charge is not requested.
    pub(crate) async fn created(&self, amount: i64) -> PaymentIntentId {
        self.created_as(PaymentIntentId::random(), amount).await
    }

    pub(crate) async fn created_as(&self, id: PaymentIntentId, amount: i64) -> PaymentIntentId {
        let order_id = order_of(id).parse().unwrap();
        let new = NewIntent {
            id,
            order_id,
            consumer_id: "1".parse().unwrap(),
            amount: Amount::parse(amount).unwrap(),
            currency: Currency::parse("USD").unwrap(),
        };
        let request = RequestKey { key: format!("create {id}"), fingerprint: Fingerprint::of("create") };
        let result: CommandResult<()> = self
            .store()
            .create(
                &new.order_id,
                &request,
                |input| Decision::Change(Box::new(PaymentIntent::create(new.clone(), input.now))),
                |_| "created".to_owned(),
            )
            .await
            .unwrap();
        assert_eq!(result, CommandResult::Now("created".to_owned()));
        id
    }

    pub(crate) async fn find(&self, id: PaymentIntentId) -> StoredIntent {
        self.store().find(id).await.unwrap().unwrap()
    }

    pub(crate) async fn state(&self, id: PaymentIntentId) -> StateName {
        self.find(id).await.intent.state().name()
    }

    /// The types of the unpublished events, for each intent oldest first.
    pub(crate) async fn unpublished(&self) -> Vec<String> {
        self.rows().await.into_iter().map(|row| row.event_type).collect()
    }

    pub(crate) async fn rows(&self) -> Vec<EventRow> {
        let rows = self.client.scan().table_name(&self.tables.outbox).send().await.unwrap();
        rows.items().iter().map(|row| EventRow::from_item(row).unwrap()).collect()
    }

    /// When the lease of an intent's lock ends.
    pub(crate) async fn lease_end(&self, id: PaymentIntentId) -> AttributeValue {
        let read = self.client.get_item().table_name(&self.tables.locks).consistent_read(true);
        let key = AttributeValue::S(PaymentStore::lock_key(id));
        read.key("id", key).send().await.unwrap().item.unwrap().remove("expiresAt").unwrap()
    }

    pub(crate) async fn assert_no_lock_is_held(&self) {
        let locks = self.client.scan().table_name(&self.tables.locks).send().await.unwrap();
        for lock in locks.items() {
            assert!(!lock.contains_key("owner"), "a lock is held: {lock:?}");
        }
    }

    /// The message in the outbox that requests the charge of an intent.
    pub(crate) async fn message(&self, id: PaymentIntentId) -> String {
        let is_of = |row: &EventRow| row.aggregate_id == id.to_string() && row.event_type.ends_with("ChargeRequested");
        self.rows().await.into_iter().find(is_of).unwrap().message
    }
}

/// Advances the timers of this runtime by `time`. The world's clock does not change.
pub(crate) async fn skip(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// The order that an intent of these tests pays for.
pub(crate) fn order_of(id: PaymentIntentId) -> String {
    format!("order-of-{id}")
}

/// Sends the charge command, always with the same idempotency key.
pub(crate) async fn charge(store: &PaymentStore, id: PaymentIntentId) -> Result<(), Error> {
    let request = RequestKey { key: format!("charge {id}"), fingerprint: Fingerprint::of("charge") };
    let result: CommandResult<()> = store
        .change(
            id,
            &request,
            |found| found.ok_or(()),
            |input| {
                let change = input.found.intent.request_charge(input.now);
                change.map_or_else(
                    |_| Decision::Record("refused".to_owned()),
                    |change| Decision::Change(Box::new(change)),
                )
            },
            |_| "requested".to_owned(),
        )
        .await?;
    match result {
        CommandResult::Now(response) | CommandResult::Replayed(response) => {
            assert_eq!(response, "requested", "the recorded response");
        }
        other => panic!("{other:?}"),
    }
    Ok(())
}

pub(crate) struct Function {
    handler: ChargeHandler,
    clock: Clock,
}

impl Function {
    pub(crate) async fn invoke(&self, bodies: &[String]) -> Result<SqsBatchResponse, BatchFailed> {
        self.invoke_within(bodies, TIMEOUT).await
    }

    pub(crate) async fn invoke_within(
        &self,
        bodies: &[String],
        timeout: Duration,
    ) -> Result<SqsBatchResponse, BatchFailed> {
        self.handler.handle(batch(bodies), "request-1", self.clock.now() + timeout).await
    }

    /// Invokes the function with one message, and expects success.
    pub(crate) async fn expect_done(&self, body: &str) {
        let result = self.invoke(&[body.to_owned()]).await;
        assert_eq!(result.map(|response| failures(&response)), Ok(vec![]));
    }

    /// Invokes the function with one message, and expects the message to fail for this reason.
    pub(crate) async fn expect_failed(&self, body: &str, reason: &'static str) {
        let failed = self.invoke(&[body.to_owned()]).await.unwrap_err();
        assert_eq!(failed, BatchFailed { messages: 1, reasons: vec![reason] });
    }
}

/// A batch of SQS messages. Each message id is the index of its body.
pub(crate) fn batch(bodies: &[String]) -> SqsEvent {
    let record = |(place, body): (usize, &String)| json!({"messageId": place.to_string(), "body": body});
    let records: Vec<Value> = bodies.iter().enumerate().map(record).collect();
    serde_json::from_value(json!({ "Records": records })).unwrap()
}

/// The indexes of the messages that the queue delivers again.
pub(crate) fn failures(response: &SqsBatchResponse) -> Vec<usize> {
    let mut failures: Vec<usize> =
        response.batch_item_failures.iter().map(|failure| failure.item_identifier.parse().unwrap()).collect();
    failures.sort_unstable();
    failures
}
