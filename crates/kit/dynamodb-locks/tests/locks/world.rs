//! What every test starts from: an engine with an empty lock table, a table of protected items, a clock, and locks on them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, Put, ScalarAttributeType,
    TransactWriteItem,
};
use dynamodb_locks::{Acquired, AcquiredAll, Error, Holder, Key, Lock, LockSet, Locks, LocksBuilder, Takeover};
use dynamodb_locks::{Cancellation, create_table};
use embedded_dynamodb::{Disturbance, Engine, Wire};

pub(crate) const LOCKS: &str = "locks";
/// Items with a partition key `pk` only.
pub(crate) const ITEMS: &str = "items";
/// Items with a partition key `pk` and a sort key `sk`, a number.
pub(crate) const SORTED: &str = "sorted";

pub(crate) const LEASE: Duration = Duration::from_secs(10);
pub(crate) const SKEW: Duration = Duration::from_secs(1);
pub(crate) const A_MILLISECOND: Duration = Duration::from_millis(1);
pub(crate) const START: Duration = Duration::from_millis(1_700_000_000_500);

/// What the embedded engine never answers: another transaction is writing the item.
pub(crate) const CONFLICT: Disturbance = Disturbance::Respond(
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException","message":"ongoing"}"#,
);

pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) clock: Clock,
}

impl World {
    pub(crate) async fn start() -> Self {
        let engine = Engine::start();
        let client = engine.client();
        create_table(&client, LOCKS).await.expect("the table is created");
        create_items(&client, ITEMS, false).await;
        create_items(&client, SORTED, true).await;
        Self { engine, clock: Clock::default() }
    }

    /// Locks with the world's clock, over this client.
    pub(crate) fn builder(&self, client: Client) -> LocksBuilder {
        builder_at(client, &self.clock)
    }

    pub(crate) fn locks(&self) -> Locks {
        self.builder(self.engine.client()).build()
    }

    pub(crate) fn locks_over(&self, wire: &Wire) -> Locks {
        self.builder(self.engine.client_over(wire)).build()
    }

    /// A client that retries, as the default one does, but without its pauses of up to a second.
    pub(crate) fn retrying_client_over(&self, wire: &Wire) -> Client {
        let retries = RetryConfig::standard().with_initial_backoff(A_MILLISECOND);
        let config = self.engine.config().http_client(wire.clone());
        Client::from_conf(config.retry_config(retries).build())
    }

    /// The raw record, straight from the table.
    pub(crate) async fn record(&self, key: &str) -> Option<Item> {
        self.item(LOCKS, [("id", s(key))]).await
    }

    pub(crate) async fn item<const N: usize>(&self, table: &str, key: [(&str, AttributeValue); N]) -> Option<Item> {
        let key = key.map(|(name, value)| (name.to_owned(), value));
        let request = self.engine.client().get_item().table_name(table).set_key(Some(key.into()));
        request.consistent_read(true).send().await.expect("the item is read").item
    }

    /// Writes an item as some other program would.
    pub(crate) async fn put<const N: usize>(&self, table: &str, attributes: [(&str, AttributeValue); N]) {
        let item = attributes.map(|(name, value)| (name.to_owned(), value));
        let request = self.engine.client().put_item().table_name(table).set_item(Some(item.into()));
        request.send().await.expect("the item is written");
    }

    /// Commits `item` together with a write of `value` under the key `data`.
    pub(crate) async fn commit(&self, guard: TransactWriteItem, value: &str) -> Result<(), Cancellation> {
        self.commit_over(&self.engine.client(), vec![guard], value).await
    }

    pub(crate) async fn commit_over(
        &self,
        client: &Client,
        guards: Vec<TransactWriteItem>,
        value: &str,
    ) -> Result<(), Cancellation> {
        match transaction(client, guards, value).await {
            Ok(()) => Ok(()),
            Err(error) => Err(Cancellation::of(&error).expect("a cancelled transaction")),
        }
    }

    /// What the last commit wrote.
    pub(crate) async fn data(&self) -> Option<String> {
        let item = self.item(ITEMS, [("pk", s("data"))]).await?;
        item["value"].as_s().ok().cloned()
    }
}

/// Locks of a caller with a clock of its own.
pub(crate) fn builder_at(client: Client, clock: &Clock) -> LocksBuilder {
    let clock = clock.clone();
    Locks::builder(client, LOCKS)
        .lease(LEASE)
        .takeover(Takeover::ByClock { max_skew: SKEW })
        .polling(Duration::from_millis(1), Duration::from_millis(20))
        .clock(move || clock.now())
}

pub(crate) async fn transaction(
    client: &Client,
    guards: Vec<TransactWriteItem>,
    value: &str,
) -> Result<(), SdkError<TransactWriteItemsError>> {
    let put = Put::builder().table_name(ITEMS).item("pk", s("data")).item("value", s(value)).build();
    let put = TransactWriteItem::builder().put(put.expect("a put")).build();
    let request = client.transact_write_items().set_transact_items(Some(guards)).transact_items(put);
    Box::pin(request.send()).await.map(drop)
}

async fn create_items(client: &Client, table: &str, sorted: bool) {
    let attribute = |name: &str, of_type| {
        let definition = AttributeDefinition::builder().attribute_name(name).attribute_type(of_type);
        definition.build().expect("a definition")
    };
    let key = |name: &str, of_type| {
        KeySchemaElement::builder().attribute_name(name).key_type(of_type).build().expect("a key")
    };
    let mut request = client
        .create_table()
        .table_name(table)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(attribute("pk", ScalarAttributeType::S))
        .key_schema(key("pk", KeyType::Hash));
    if sorted {
        request = request
            .attribute_definitions(attribute("sk", ScalarAttributeType::N))
            .key_schema(key("sk", KeyType::Range));
    }
    request.send().await.expect("the table is created");
}

/// Milliseconds since the epoch.
#[derive(Clone)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Default for Clock {
    fn default() -> Self {
        Self::at(START)
    }
}

impl Clock {
    pub(crate) fn at(since_epoch: Duration) -> Self {
        let clock = Self(Arc::default());
        clock.set(since_epoch);
        clock
    }

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

/// Asks for an exclusive lock once, and gets it.
#[track_caller]
pub(crate) fn granted(acquired: Result<Acquired, Error>) -> Lock {
    match acquired {
        Ok(Acquired::Granted(lock)) => lock,
        other => panic!("expected a lock, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn held(acquired: Result<Acquired, Error>) -> Holder {
    match acquired {
        Ok(Acquired::Held(holder)) => holder,
        other => panic!("expected to be refused, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn all_granted(acquired: Result<AcquiredAll, Error>) -> LockSet {
    match acquired {
        Ok(AcquiredAll::Granted(locks)) => locks,
        other => panic!("expected locks, got {other:?}"),
    }
}

#[track_caller]
pub(crate) fn one_held(acquired: Result<AcquiredAll, Error>) -> (Key, Holder) {
    match acquired {
        Ok(AcquiredAll::Held { key, holder }) => (key, holder),
        other => panic!("expected to be refused, got {other:?}"),
    }
}

/// What should end by itself must not hang the tests if it does not.
pub(crate) async fn in_time<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(30), future).await.expect("it ends in time")
}

pub(crate) fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(crate) fn n(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

pub(crate) fn millis(since_epoch: Duration) -> AttributeValue {
    AttributeValue::N(since_epoch.as_millis().to_string())
}
