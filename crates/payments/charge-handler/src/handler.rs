//! A batch of requested charges. Each message is parsed, processed and reported independently.

use std::collections::BTreeMap;
use std::time::SystemTime;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use futures_util::{StreamExt, stream};
use lambda_boot::Clock;
use order_events::{EventType, Message};
use payment_intents::PaymentIntentId;

use crate::report::{Report, Subject};
use crate::{BatchFailed, ChargeResult, Charger, Failure, Role};

/// How many charges run at the same time. They mostly wait for the gateway.
pub(crate) const CONCURRENCY: usize = 10;

/// Makes the charges that the messages of a queue request.
pub struct ChargeHandler {
    charger: Charger,
    metrics_namespace: String,
    clock: Clock,
}

impl ChargeHandler {
    /// Creates a handler. Its metrics go to `metrics_namespace`.
    #[must_use]
    pub fn new(charger: Charger, metrics_namespace: &str, clock: Clock) -> Self {
        Self { charger, metrics_namespace: metrics_namespace.to_owned(), clock }
    }

    /// Finishes the charges of a batch, and returns the messages that the queue must deliver again.
    pub async fn handle(
        &self,
        batch: SqsEvent,
        request_id: &str,
        deadline: SystemTime,
    ) -> Result<SqsBatchResponse, BatchFailed> {
        let messages = batch.records.len();
        let mut report = Report::new(Role::Charge, request_id);
        let mut response = SqsBatchResponse::default();
        // A batch may contain a message twice. The second one would only find the lock held.
        let mut message_ids: BTreeMap<PaymentIntentId, Vec<String>> = BTreeMap::new();
        for message in batch.records {
            let message_id = message.message_id.clone().unwrap_or_default();
            match parse(message) {
                Ok(intent) => message_ids.entry(intent).or_default().push(message_id),
                Err((intent, failure)) => {
                    report.count_failure(Subject { message_id: Some(&message_id), intent }, &failure);
                    response.add_failure(message_id);
                }
            }
        }

        let mut finished = stream::iter(message_ids)
            .map(async |(intent, message_ids)| (intent, message_ids, self.charger.finish(intent, deadline).await))
            .buffer_unordered(CONCURRENCY);
        while let Some((intent, message_ids, finished)) = finished.next().await {
            let is_kept = match &finished {
                Ok(ChargeResult::HeldByAnother) | Err(_) => true,
                Ok(ChargeResult::Charged | ChargeResult::Declined | ChargeResult::Expired | ChargeResult::Nothing) => {
                    false
                }
            };
            let first = message_ids.first().map(String::as_str);
            match &finished {
                Ok(done) => report.count_result(intent, *done),
                Err(failure) => report.count_failure(Subject { message_id: first, intent: Some(intent) }, failure),
            }
            for message_id in message_ids.iter().filter(|_| is_kept) {
                response.add_failure(message_id);
            }
        }
        drop(finished);

        if messages > 0 {
            println!("{}", report.line(&self.metrics_namespace, self.clock.now()));
        }
        // A message whose lock another worker holds has not failed: a batch of only such messages is not an error.
        let reasons = report.reasons();
        if response.batch_item_failures.len() == messages && !reasons.is_empty() {
            tracing::error!(request_id, messages, reasons = reasons.join(", "), "every message of the batch failed");
            return Err(BatchFailed { messages, reasons });
        }
        Ok(response)
    }
}

/// The intent whose charge a message requests. A failure contains the intent if it could be read.
fn parse(message: SqsMessage) -> Result<PaymentIntentId, (Option<PaymentIntentId>, Failure)> {
    let event = Message::parse(&message.body.unwrap_or_default()).map_err(|malformed| (None, malformed.into()))?.event;
    let intent = event.aggregate_id.as_str().parse().ok();
    match event.event_type() {
        EventType::PaymentIntentChargeRequested => intent.ok_or((None, Failure::NotAnIntent)),
        other => Err((intent, Failure::WrongType(other))),
    }
}
