//! What every test starts from: an engine with an empty table, a clock, and stores on them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextMut;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::types::AttributeValue;
use embedded_dynamodb::{Engine, Request, Wire};
use idempotency::{Claim, Claimed, Error, Fingerprint, IdempotencyStore, StoreBuilder, TimedStore, create_table};

pub(crate) const TABLE: &str = "records";
pub(crate) const IN_PROGRESS_FOR: Duration = Duration::from_secs(10);
pub(crate) const RETENTION: Duration = Duration::from_secs(100);

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) clock: Clock,
}

impl World {
    pub(crate) async fn start() -> Self {
        let engine = Engine::start();
        create_table(&engine.client(), TABLE).await.expect("the table is created");
        Self { engine, clock: Clock::default() }
    }

    pub(crate) fn builder(&self, client: Client) -> StoreBuilder {
        let clock = self.clock.clone();
        IdempotencyStore::builder(client, TABLE).retention(RETENTION).clock(move || clock.now())
    }

    pub(crate) fn store(&self) -> TimedStore {
        timed(self.builder(self.engine.client()))
    }

    pub(crate) fn store_over(&self, wire: &Wire) -> TimedStore {
        timed(self.builder(self.engine.client_over(wire)))
    }

    /// A client that retries, as the default one does, but without its pauses of up to a second.
    pub(crate) fn retrying_client_over(&self, wire: &Wire) -> Client {
        let retries = RetryConfig::standard().with_initial_backoff(Duration::from_millis(1));
        let config = self.engine.config().http_client(wire.clone());
        Client::from_conf(config.retry_config(retries).build())
    }

    /// A client that gets the responses `forge` makes up, where it makes one up. One request at a time.
    pub(crate) fn client_with_responses(
        &self,
        wire: &Wire,
        forge: impl Fn(&Request) -> Option<Forged> + Send + Sync + 'static,
    ) -> Client {
        let config = self.engine.config().http_client(wire.clone());
        let config = config.retry_config(RetryConfig::disabled());
        let forger = Forger { wire: wire.clone(), forge: Box::new(forge) };
        Client::from_conf(config.interceptor(forger).build())
    }

    /// The raw record, straight from the table.
    pub(crate) async fn record(&self, id: &str) -> Option<HashMap<String, AttributeValue>> {
        let client = self.engine.client();
        let request = client.get_item().table_name(TABLE).key("id", s(id));
        let found = request.consistent_read(true).send().await;
        found.expect("the record is read").item
    }

    pub(crate) async fn status(&self, id: &str) -> Option<String> {
        let record = self.record(id).await?;
        record["status"].as_s().ok().cloned()
    }

    /// Writes a record as some other program would.
    pub(crate) async fn put<const N: usize>(&self, attributes: [(&str, AttributeValue); N]) {
        let client = self.engine.client();
        let item = attributes.map(|(name, value)| (name.to_owned(), value));
        let request = client.put_item().table_name(TABLE);
        let put = request.set_item(Some(item.into())).send().await;
        put.expect("the record is written");
    }
}

/// A store whose claims expire after [`IN_PROGRESS_FOR`].
pub(crate) fn timed(builder: StoreBuilder) -> TimedStore {
    builder.build().for_at_most(IN_PROGRESS_FOR)
}

/// Milliseconds since the epoch, at first in the middle of a second.
#[derive(Clone)]
pub(crate) struct Clock(Arc<AtomicU64>);

pub(crate) const START: Duration = Duration::from_millis(1_700_000_000_500);

impl Default for Clock {
    fn default() -> Self {
        let clock = Self(Arc::default());
        clock.set(START);
        clock
    }
}

impl Clock {
    pub(crate) fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::SeqCst))
    }

    pub(crate) fn set(&self, since_epoch: Duration) {
        let millis = since_epoch.as_millis().try_into().expect("a near time");
        self.0.store(millis, Ordering::SeqCst);
    }

    pub(crate) fn advance(&self, by: Duration) {
        let millis = by.as_millis().try_into().expect("a short time");
        self.0.fetch_add(millis, Ordering::SeqCst);
    }
}

/// A made-up response of the server.
pub(crate) struct Forged {
    pub(crate) status: u16,
    pub(crate) body: String,
}

type Forge = dyn Fn(&Request) -> Option<Forged> + Send + Sync;

struct Forger {
    wire: Wire,
    forge: Box<Forge>,
}

impl Intercept for Forger {
    fn name(&self) -> &'static str {
        "Forger"
    }

    fn modify_before_deserialization(
        &self,
        context: &mut BeforeDeserializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let answered = self.wire.requests().pop().expect("a request");
        if let Some(Forged { status, body }) = (self.forge)(&answered) {
            *context.response_mut() = HttpResponse::new(status.try_into()?, body.into());
        }
        Ok(())
    }
}

impl fmt::Debug for Forger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Forger")
    }
}

#[track_caller]
pub(crate) fn expect_new(claimed: Result<Claimed, Error>) -> Claim {
    match claimed {
        Ok(Claimed::New(claim)) => claim,
        other => panic!("expected a new claim, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn expect_completed(claimed: Result<Claimed, Error>) -> Option<String> {
    match claimed {
        Ok(Claimed::Completed { data }) => data,
        other => panic!("expected completed work, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn expect_in_progress(claimed: Result<Claimed, Error>) -> Option<SystemTime> {
    match claimed {
        Ok(Claimed::InProgress { until }) => until,
        other => panic!("expected work in progress, got {other:?}"),
    }
}

pub(crate) fn payload() -> Fingerprint {
    Fingerprint::of("payload")
}

pub(crate) fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(crate) fn n(number: u128) -> AttributeValue {
    AttributeValue::N(number.to_string())
}
