//! A batch of messages into the view: each parses, runs and fails alone.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use aws_sdk_dynamodb::Client;
use futures_util::StreamExt;
use futures_util::stream;
use idempotency::{Claim, Claimed, Fingerprint, IdempotencyStore};
use lambda_boot::{Clock, with_causes};
use order_events::{EventId, EventType, Message};
use order_store::{Applied, OrderStore};
use tokio::time::{Instant, timeout_at};

use crate::outcome::Outcome;
use crate::report::Report;
use crate::{BatchFailed, Config, Failure};

/// How many events of a batch are processed at once: all ten of a usual one. More would only wait for the same core, and each
/// may open a connection, whose TLS handshake takes most of a millisecond of CPU.
const CONCURRENCY: usize = 10;

/// Reserved at the end of the invocation's time, to complete the records and answer.
const TO_COMPLETE: Duration = Duration::from_secs(1);

/// Reserved at the end of the invocation's time, to answer.
const TO_ANSWER: Duration = Duration::from_millis(200);

/// Projects the events of one type into the view.
pub struct Projector {
    event_type: EventType,
    orders: OrderStore,
    records: IdempotencyStore,
    metrics_namespace: String,
    clock: Clock,
}

/// The messages of a batch that bring the same event: a queue may deliver a message twice in one batch.
struct Delivery {
    message: Message,
    message_ids: Vec<String>,
}

impl Projector {
    /// A projector on the tables that `config` names.
    #[must_use]
    pub fn new(config: &Config, client: &Client, clock: Clock) -> Self {
        Self {
            event_type: config.event_type,
            orders: OrderStore::new(client.clone(), &config.order_history_table),
            // The record names the view as well as the event, so that a second view of the same events is not starved.
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
        // In the order of their ids, so that messages that came in order are begun in order.
        let mut deliveries: BTreeMap<(EventId, String), Delivery> = BTreeMap::new();
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

        let invocation = Invocation { projector: self, records: self.records.until(deadline), request_id, deadline };
        let mut projected = stream::iter(deliveries)
            .map(|((_, content), delivery)| invocation.project_in_time(delivery, content))
            .buffer_unordered(CONCURRENCY);
        let mut claims = Vec::new();
        while let Some((delivery, outcome, claim)) = projected.next().await {
            claims.extend(claim);
            report.note_event(&delivery.message_ids, &delivery.message.event, &outcome);
        }
        drop(projected);
        invocation.complete(claims).await;
        report.close(&self.metrics_namespace)
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
}

/// One invocation of the function.
struct Invocation<'a> {
    projector: &'a Projector,
    /// Its claims refuse others until the deadline.
    records: IdempotencyStore,
    request_id: &'a str,
    deadline: SystemTime,
}

impl Invocation<'_> {
    /// Projects an event unless time runs out. If a claim is returned, the caller must complete it.
    async fn project_in_time(&self, delivery: Delivery, content: String) -> (Delivery, Outcome, Option<Claim>) {
        let project = self.project(&delivery.message, &content);
        let (outcome, claim) =
            timeout_at(self.leaving(TO_COMPLETE), project).await.unwrap_or((Outcome::Failed(Failure::OutOfTime), None));
        (delivery, outcome, claim)
    }

    async fn project(&self, message: &Message, content: &str) -> (Outcome, Option<Claim>) {
        let event = &message.event;
        let claim = match self.records.claim(&event.id.to_string(), &Fingerprint::of(content)).await {
            Ok(Claimed::New(claim)) => claim,
            Ok(Claimed::Completed { .. }) => return (Outcome::Stored(Applied::Duplicate), None),
            Ok(Claimed::InProgress { .. }) => return (Outcome::InProgress, None),
            Err(error) => return (Outcome::Failed(error.into()), None),
        };
        match self.projector.orders.apply(event).await {
            Ok(applied) => (Outcome::Stored(applied), Some(claim)),
            Err(error) => {
                // Unreleased, the record only holds up the next try until it expires; the failure itself is reported.
                if let Err(error) = self.records.release(claim).await {
                    let (request_id, reason, error) = (self.request_id, error.code(), with_causes(&error));
                    tracing::warn!(request_id, event_id = %event.id, reason, error, "idempotency record not released");
                }
                (Outcome::Failed(error.into()), None)
            }
        }
    }

    /// Completes the records of events whose effects are stored.
    ///
    /// The effects leave no result, so that COMPLETED is true whoever owns the claims by now, and they may be completed in
    /// one go. A record that stays in progress only costs the next duplicate an update that finds no news; it is no
    /// reason to process the messages again.
    async fn complete(&self, claims: Vec<Claim>) {
        let records = claims.len();
        let completed = timeout_at(self.leaving(TO_ANSWER), self.records.complete_all(claims)).await;
        let (reason, error) = match completed {
            Ok(Ok(())) => return,
            Ok(Err(error)) => (error.code(), with_causes(&error)),
            Err(_) => (Failure::OutOfTime.code(), Failure::OutOfTime.to_string()),
        };
        tracing::warn!(request_id = self.request_id, records, reason, error, "idempotency records not completed");
    }

    /// When to stop, to leave `time` for what follows: at the deadline Lambda ends the invocation without an answer, and
    /// the queue delivers every message of the batch again.
    fn leaving(&self, time: Duration) -> Instant {
        let left = self.deadline.duration_since(self.projector.clock.now()).unwrap_or_default();
        Instant::now() + left - time.min(left / 4)
    }
}
