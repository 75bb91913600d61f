//! Projects a batch of messages into the view. Each message is parsed, processed and reported independently.

use std::time::SystemTime;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use aws_sdk_dynamodb::Client;
use idempotency::sqs::{KeyedMessage, SqsBatch};
use idempotency::{Fingerprint, IdempotencyStore};
use lambda_boot::Clock;
use order_events::{Event, EventType, Message};
use order_store::OrderStore;

use crate::report::Report;
use crate::{BatchFailed, Config, Failure};

/// Projects the events of one type into the view.
pub struct Projector {
    event_type: EventType,
    orders: OrderStore,
    records: IdempotencyStore,
    metrics_namespace: String,
    clock: Clock,
}

impl Projector {
    /// Creates a projector on the tables that `config` names.
    #[must_use]
    pub fn new(config: &Config, client: &Client, clock: Clock) -> Self {
        Self {
            event_type: config.event_type,
            orders: OrderStore::new(client.clone(), &config.order_history_table),
            // The key of a record contains the view and the event. A second view of the same events therefore has its own records.
            records: IdempotencyStore::builder(client.clone(), &config.idempotency_table)
                .key_prefix(&config.order_history_table)
                .clock(clock.as_fn())
                .build(),
            metrics_namespace: config.metrics_namespace.clone(),
            clock,
        }
    }

    /// Projects a batch, and returns the messages that the queue must deliver again.
    pub async fn handle(
        &self,
        batch: SqsEvent,
        request_id: &str,
        deadline: SystemTime,
    ) -> Result<SqsBatchResponse, BatchFailed> {
        let mut report = Report::new(self.event_type, request_id, &self.clock);
        let records = self.records.until(deadline);
        let apply = async |event: &Event| self.orders.apply(event).await.map_err(Failure::from);
        // Keys are event ids, so events are started in the order in which they were published. To apply an event twice changes nothing.
        let batch = SqsBatch::new(&records, batch).in_key_order().complete_together();
        let response = batch.process(|message| self.parse(message), apply, &mut report).await;
        report.close(&self.metrics_namespace, response)
    }

    fn parse(&self, message: &SqsMessage) -> Result<KeyedMessage<Event>, Failure> {
        let message = Message::parse(message.body.as_deref().unwrap_or_default())?;
        let (expected, actual) = (self.event_type, message.event.event_type());
        if actual != expected {
            return Err(Failure::WrongType { expected, actual });
        }
        let fingerprint = Fingerprint::of(message.content());
        Ok(KeyedMessage { key: message.event.id.to_string(), fingerprint, value: message.event })
    }
}
