//! A batch of messages into the view: each parses, runs and fails alone.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use aws_sdk_dynamodb::Client;
use futures_util::StreamExt;
use futures_util::stream;
use idempotency::{Claim, Claimed, Fingerprint, IdempotencyStore};
use lambda_boot::with_causes;
use order_events::{EventId, EventType, Message};
use order_store::{Applied, OrderStore};
use order_view::Effect;
use tokio::time::{Instant, timeout_at};

use crate::report::Report;
use crate::{BatchFailed, Config, Failure};

/// How many events of a batch are under way at once. More would only wait for the same core and connections.
const CONCURRENCY: usize = 32;

/// Kept back from the invocation's time, to complete the records, log and answer.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// Says what the time is.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// Projects the events of one type into the view.
pub struct Projector {
    event_type: EventType,
    orders: OrderStore,
    records: IdempotencyStore,
    clock: Clock,
}

/// What became of an event.
pub(crate) enum Outcome {
    /// Its effect is stored: by us, now; or it is known to have been before.
    Stored(Applied),
    /// Another invocation is at it.
    InProgress,
    /// It was not projected.
    Failed(Failure),
}

/// The messages of a batch that bring the same event: a queue may deliver a message twice in one batch.
struct Delivery {
    message: Message,
    message_ids: Vec<String>,
}

impl Projector {
    /// A projector on the tables that `config` names.
    pub async fn connect(config: &Config) -> Self {
        let client = order_store::client::connect().await;
        Self::new(config, &client, Arc::new(SystemTime::now))
    }

    /// A projector over a given client and clock.
    #[must_use]
    pub fn new(config: &Config, client: &Client, clock: Clock) -> Self {
        let time = Arc::clone(&clock);
        Self {
            event_type: config.event_type,
            orders: OrderStore::new(client.clone(), &config.order_history_table),
            // The record names the view as well as the event, so that a second view of the same events is not starved.
            records: IdempotencyStore::builder(client.clone(), &config.idempotency_table)
                .key_prefix(&config.order_history_table)
                .clock(move || time())
                .build(),
            clock,
        }
    }

    /// Projects a batch, and names the messages that must come again.
    pub async fn handle(
        &self,
        batch: SqsEvent,
        request_id: &str,
        deadline: SystemTime,
    ) -> Result<SqsBatchResponse, BatchFailed> {
        let mut report = Report::new(self.event_type, request_id, (self.clock)());
        let mut deliveries: HashMap<(EventId, String), Delivery> = HashMap::new();
        for message in batch.records {
            let message_id = message.message_id.clone().unwrap_or_default();
            match self.parse(message) {
                Ok(message) => deliveries
                    .entry((message.event.id, message.content()))
                    .or_insert_with(|| Delivery { message, message_ids: Vec::new() })
                    .message_ids
                    .push(message_id),
                Err(failure) => report.note(&message_id, None, &Outcome::Failed(failure)),
            }
        }

        let records = self.records.until(deadline);
        let cut_off = self.cut_off(deadline);
        let mut projected = stream::iter(deliveries)
            .map(|((_, content), delivery)| {
                let records = &records;
                async move {
                    let project = self.project(records, &delivery.message, &content);
                    let (outcome, claim) =
                        timeout_at(cut_off, project).await.unwrap_or((Outcome::Failed(Failure::OutOfTime), None));
                    (delivery, outcome, claim)
                }
            })
            .buffer_unordered(CONCURRENCY);
        let mut claims = Vec::new();
        while let Some((delivery, outcome, claim)) = projected.next().await {
            claims.extend(claim);
            report.note_event(&delivery.message_ids, &delivery.message.event, &outcome);
        }

        // The effects are stored, whoever owns the claims by now, and leave no result, so the records may be completed
        // in one go. One that stays in progress only costs the next duplicate an update that finds no news.
        if let Err(error) = records.complete_all(claims).await {
            let (reason, error) = (error.code(), with_causes(&error));
            tracing::warn!(request_id, reason, error, "idempotency records not completed");
        }
        report.close()
    }

    fn parse(&self, message: SqsMessage) -> Result<Message, Failure> {
        let message = Message::parse(&message.body.unwrap_or_default())?;
        let came = message.event.event_type();
        if came != self.event_type {
            let serves = self.event_type;
            return Err(Failure::WrongType { serves, came });
        }
        Ok(message)
    }

    /// Claims the event's record and applies its effect. A claim that comes back is to be completed.
    async fn project(&self, records: &IdempotencyStore, message: &Message, content: &str) -> (Outcome, Option<Claim>) {
        let event = &message.event;
        let claim = match records.claim(&event.id.to_string(), &Fingerprint::of(content)).await {
            Ok(Claimed::New(claim)) => claim,
            Ok(Claimed::Completed { .. }) => return (Outcome::Stored(Applied::Duplicate), None),
            Ok(Claimed::InProgress { .. }) => return (Outcome::InProgress, None),
            Err(error) => return (Outcome::Failed(error.into()), None),
        };
        match self.orders.apply(Effect::of(event)).await {
            Ok(applied) => (Outcome::Stored(applied), Some(claim)),
            Err(error) => {
                // Unreleased, the record only holds up the next try until it expires; the failure itself is reported.
                if let Err(error) = records.release(claim).await {
                    let (reason, error) = (error.code(), with_causes(&error));
                    tracing::warn!(event_id = %event.id, reason, error, "idempotency record not released");
                }
                (Outcome::Failed(error.into()), None)
            }
        }
    }

    /// When to stop projecting and answer: Lambda would end the invocation without an answer, and every message of the
    /// batch would come again.
    fn cut_off(&self, deadline: SystemTime) -> Instant {
        let left = deadline.duration_since((self.clock)()).unwrap_or_default();
        Instant::now() + left - CLOSING_TIME.min(left / 4)
    }
}
