//! The results of a batch: one log line for the batch, one for each failure, and the response to the queue.

use std::collections::BTreeSet;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use idempotency::sqs::{BatchObserver, MessageError, MessageOutcome, ProcessedMessage};
use lambda_boot::{Clock, Line, cut, is_logged, with_causes};
use order_events::{Event, EventType, Timestamp};
use order_store::Applied;
use tracing::Level;

use crate::failure::Reason;
use crate::metrics::BatchCounts;
use crate::{BatchFailed, Failure};

/// Collects the results of one batch.
pub(crate) struct Report<'a> {
    event_type: EventType,
    request_id: &'a str,
    clock: &'a Clock,
    counts: BatchCounts,
    reasons: BTreeSet<&'static str>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(event_type: EventType, request_id: &'a str, clock: &'a Clock) -> Self {
        Self { event_type, request_id, clock, counts: BatchCounts::default(), reasons: BTreeSet::new() }
    }

    /// Prints a line for one message that did not fail.
    fn log_detail(&self, message_id: &str, event: Option<&Event>, outcome: &str, lag_ms: Option<i64>) {
        if !is_logged(Level::DEBUG) {
            return;
        }
        let line = Line::new(Level::DEBUG, self.clock.now())
            .with("message", "message processed")
            .with("request_id", self.request_id)
            .with("message_id", cut(message_id))
            .with("event_id", event.map(|event| event.id.to_string()))
            .with("order_id", event.map(|event| event.order_id().to_string()))
            .with("outcome", outcome)
            .with("lag_ms", lag_ms);
        println!("{line}");
    }

    /// Prints the line of the batch and returns the response.
    pub(crate) fn close(
        self,
        metrics_namespace: &str,
        response: Result<SqsBatchResponse, idempotency::sqs::BatchFailed>,
    ) -> Result<SqsBatchResponse, BatchFailed> {
        for line in self.counts.lines(self.event_type, self.request_id, metrics_namespace, self.clock.now()) {
            println!("{line}");
        }
        response.map_err(|failed| {
            let failed = BatchFailed { messages: failed.messages, reasons: self.reasons.into_iter().collect() };
            let (request_id, messages, reasons) = (self.request_id, failed.messages, failed.reasons.join(", "));
            tracing::error!(request_id, messages, reasons, "every message of the batch failed");
            failed
        })
    }

    /// Notes an event whose effect is stored, by this invocation or by an earlier one.
    fn note_stored(&mut self, message_id: &str, event: Option<&Event>, applied: Applied) {
        let lag_ms = event.map(|event| self.now().as_millis() - event.at().as_millis());
        let outcome = self.counts.note_stored(applied, event.map(|event| event.id), lag_ms);
        self.log_detail(message_id, event, outcome, lag_ms);
    }

    fn note_failed(&mut self, message_id: &str, event: Option<&Event>, error: &MessageError<Failure>) {
        match error {
            MessageError::Parse(Failure::Malformed(_)) => self.counts.malformed += 1,
            _ => self.counts.failed += 1,
        }
        let reason = Reason(error);
        self.reasons.insert(reason.code());
        tracing::error!(
            request_id = self.request_id,
            message_id = cut(message_id),
            event_id = event.map(|event| display(event.id)),
            order_id = event.map(|event| display(event.order_id())),
            outcome = "failed",
            reason = reason.code(),
            retryable = reason.is_retryable(),
            error = reason.text(),
            "message not projected"
        );
    }

    fn now(&self) -> Timestamp {
        self.clock.now().into()
    }
}

impl BatchObserver<Event, Applied, Failure> for Report<'_> {
    fn processed(&mut self, message: ProcessedMessage<'_, Event, Applied, Failure>) {
        let ProcessedMessage { message_id, value: event, outcome, .. } = message;
        match outcome {
            MessageOutcome::New(applied) => self.note_stored(message_id, event, *applied),
            MessageOutcome::Completed => self.note_stored(message_id, event, Applied::Duplicate),
            MessageOutcome::InProgress { .. } => {
                self.counts.note_in_progress(event.map(|event| event.id));
                self.log_detail(message_id, event, "in_progress", None);
            }
            MessageOutcome::Failed(error) => self.note_failed(message_id, event, error),
        }
    }

    /// Only a warning: the next attempt must wait until the record expires. The failure itself is logged separately.
    fn not_released(&mut self, _: &[String], event: &Event, error: &idempotency::Error) {
        let (request_id, reason, error) = (self.request_id, error.code(), with_causes(error));
        tracing::warn!(request_id, event_id = %event.id, reason, error, "idempotency record not released");
    }

    /// Only a warning: the effects are stored. If an event is delivered again after its record has expired, one more update is sent, and
    /// it changes nothing.
    fn not_completed(&mut self, _: &[String], events: &[Event], error: &idempotency::Error) {
        let records = events.len();
        let (request_id, reason, error) = (self.request_id, error.code(), with_causes(error));
        tracing::warn!(request_id, records, reason, error, "idempotency records not completed");
    }
}
