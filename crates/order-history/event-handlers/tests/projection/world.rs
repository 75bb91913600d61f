//! Tables on their own engine, a clock that the test sets, and batches.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use aws_sdk_dynamodb::Client;
use embedded_dynamodb::{Engine, Wire};
use event_handlers::{BatchFailed, Config, Projector};
use lambda_boot::Clock;
use order_events::{Event, EventType, OrderId};
use order_store::OrderStore;
use projection::State;
use sample_events::{IDEMPOTENCY_TABLE, ORDER_HISTORY_TABLE, story};
use serde_json::{Value, json};

const SECOND_VIEW: &str = "ftgo-order-history-2";

/// The time from the start of an invocation to its deadline.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct World {
    engine: Engine,
    pub(crate) client: Client,
    /// Seconds since the clock's start.
    clock: Arc<AtomicU64>,
}

impl World {
    pub(crate) async fn create() -> Self {
        let engine = Engine::start();
        let client = engine.client();
        for table in [ORDER_HISTORY_TABLE, SECOND_VIEW] {
            order_store::table::create(&client, table).unwrap().send().await.unwrap();
        }
        idempotency::create_table(&client, IDEMPOTENCY_TABLE).await.unwrap();
        let clock = Arc::default();
        Self { engine, client, clock }
    }

    /// A function for one event type whose requests go over `wire`.
    pub(crate) fn function(&self, event_type: EventType, wire: &Wire) -> Function {
        self.function_of(ORDER_HISTORY_TABLE, event_type, wire)
    }

    /// The same for a second view of the same events. Both views use the same table of idempotency records.
    pub(crate) fn function_of_second_view(&self, event_type: EventType, wire: &Wire) -> Function {
        self.function_of(SECOND_VIEW, event_type, wire)
    }

    fn function_of(&self, view: &str, event_type: EventType, wire: &Wire) -> Function {
        let config = Config {
            event_type,
            order_history_table: view.to_owned(),
            idempotency_table: IDEMPOTENCY_TABLE.to_owned(),
            metrics_namespace: order_store::METRICS_NAMESPACE.to_owned(),
        };
        let clock = Arc::clone(&self.clock);
        let now = Clock::from_fn(move || time(&clock));
        Function {
            projector: Projector::new(&config, &self.engine.client_over(wire), now),
            clock: Arc::clone(&self.clock),
        }
    }

    /// Advances the clock until every claim has expired.
    pub(crate) fn expire_claims(&self) {
        self.clock.fetch_add(2 * TIMEOUT.as_secs(), Ordering::SeqCst);
    }

    pub(crate) async fn state(&self, order_id: &OrderId) -> Option<State> {
        self.state_in(ORDER_HISTORY_TABLE, order_id).await
    }

    pub(crate) async fn second_state(&self, order_id: &OrderId) -> Option<State> {
        self.state_in(SECOND_VIEW, order_id).await
    }

    async fn state_in(&self, table: &str, order_id: &OrderId) -> Option<State> {
        let found = OrderStore::new(self.client.clone(), table).find_order(order_id).await.unwrap()?;
        assert_eq!(found.unreadable, []);
        Some(found.state)
    }
}

pub(crate) struct Function {
    projector: Projector,
    clock: Arc<AtomicU64>,
}

impl Function {
    pub(crate) async fn invoke(&self, batch: &Batch) -> Result<SqsBatchResponse, BatchFailed> {
        self.invoke_within(batch, TIMEOUT).await
    }

    pub(crate) async fn invoke_within(
        &self,
        batch: &Batch,
        timeout: Duration,
    ) -> Result<SqsBatchResponse, BatchFailed> {
        let deadline = time(&self.clock) + timeout;
        self.projector.handle(batch.to_sqs(), "request-1", deadline).await
    }
}

fn time(clock: &AtomicU64) -> SystemTime {
    let start = SystemTime::UNIX_EPOCH + Duration::from_mins(29_540_000);
    start + Duration::from_secs(clock.load(Ordering::SeqCst))
}

/// Messages by their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Batch(pub(crate) BTreeMap<String, String>);

impl Batch {
    /// A batch of these messages. Their ids are `message-0`, `message-1` and so on.
    pub(crate) fn of(bodies: impl IntoIterator<Item = String>) -> Self {
        Self(bodies.into_iter().enumerate().map(|(place, body)| (format!("message-{place}"), body)).collect())
    }

    pub(crate) fn of_events<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        Self::of(events.into_iter().map(|event| event.to_message().unwrap()))
    }

    fn to_sqs(&self) -> SqsEvent {
        let records: Vec<Value> = self.0.iter().map(|(id, body)| json!({"messageId": id, "body": body})).collect();
        serde_json::from_value(json!({ "Records": records })).unwrap()
    }

    /// The messages that stay in the queue after this response.
    pub(crate) fn not_acknowledged(&self, result: &Result<SqsBatchResponse, BatchFailed>) -> Self {
        let mut left = self.clone();
        if let Ok(response) = result {
            let failed: Vec<_> = response.batch_item_failures.iter().map(|failure| &failure.item_identifier).collect();
            left.0.retain(|id, _| failed.contains(&id));
        }
        left
    }
}

/// The ids of the messages that the queue delivers again.
pub(crate) fn failures(response: &SqsBatchResponse) -> Vec<&str> {
    let mut failures: Vec<_> =
        response.batch_item_failures.iter().map(|failure| failure.item_identifier.as_str()).collect();
    failures.sort_unstable();
    failures
}

/// `OrderCreated` for orders 1 to n, each with its own event id.
pub(crate) fn orders_created(n: u64) -> Vec<Event> {
    let created = &story()[0];
    (1..=n)
        .map(|n| Event {
            id: format!("{:016x}-{n:016x}", created.at().as_millis()).parse().unwrap(),
            aggregate_id: n.to_string().parse().unwrap(),
            ..created.clone()
        })
        .collect()
}
