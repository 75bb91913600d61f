//! What became of a batch: a log line for the batch and for each failure, and the answer to the queue.

use std::collections::BTreeSet;

use aws_lambda_events::event::sqs::SqsBatchResponse;
use lambda_boot::{Clock, Line, cut, is_logged, with_causes};
use order_events::{Event, EventType, Timestamp};
use order_store::Applied;
use tracing::Level;

use crate::metrics::Tally;
use crate::outcome::Outcome;
use crate::{BatchFailed, Failure};

/// Collects the outcomes of one batch.
pub(crate) struct Report<'a> {
    event_type: EventType,
    request_id: &'a str,
    clock: &'a Clock,
    messages: usize,
    tally: Tally,
    reasons: BTreeSet<&'static str>,
    response: SqsBatchResponse,
}

impl<'a> Report<'a> {
    pub(crate) fn new(event_type: EventType, request_id: &'a str, clock: &'a Clock) -> Self {
        Self {
            event_type,
            request_id,
            clock,
            messages: 0,
            tally: Tally::default(),
            reasons: BTreeSet::new(),
            response: SqsBatchResponse::default(),
        }
    }

    /// Notes the outcome of an event for every message that brought it.
    pub(crate) fn note_event(&mut self, message_ids: &[String], event: &Event, outcome: &Outcome) {
        let again = Outcome::Stored(Applied::Duplicate);
        let mut outcome = outcome;
        for message_id in message_ids {
            self.note(message_id, Some(event), outcome);
            if matches!(outcome, Outcome::Stored(_)) {
                outcome = &again;
            }
        }
    }

    /// Notes the outcome of one message; `event` is what could be read of it.
    pub(crate) fn note(&mut self, message_id: &str, event: Option<&Event>, outcome: &Outcome) {
        self.messages += 1;
        match outcome {
            Outcome::Stored(applied) => {
                let lag_ms = event.map(|event| self.now().as_millis() - event.at().as_millis());
                let outcome = self.tally.note_stored(*applied, event.map(|event| event.id), lag_ms);
                self.log_detail(message_id, event, outcome, lag_ms);
            }
            Outcome::InProgress => {
                self.tally.note_in_progress(event.map(|event| event.id));
                // The answer needs the whole id, here and below.
                self.response.add_failure(message_id);
                self.log_detail(message_id, event, "in_progress", None);
            }
            Outcome::Failed(failure) => {
                match failure {
                    Failure::Malformed(_) => self.tally.malformed += 1,
                    Failure::WrongType { .. } | Failure::Store(_) | Failure::Record(_) | Failure::OutOfTime => {
                        self.tally.failed += 1;
                    }
                }
                self.reasons.insert(failure.code());
                self.response.add_failure(message_id);
                tracing::error!(
                    request_id = self.request_id,
                    message_id = cut(message_id),
                    event_id = event.map(|event| display(event.id)),
                    order_id = event.map(|event| display(event.order_id())),
                    outcome = "failed",
                    reason = failure.code(),
                    retryable = failure.is_retryable(),
                    error = with_causes(failure),
                    "not projected"
                );
            }
        }
    }

    /// A line for one message that did not fail.
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

    /// Prints the batch's line and returns the answer.
    ///
    /// A message that another invocation is processing has not failed: a batch of only such messages is no error.
    pub(crate) fn close(self, metrics_namespace: &str) -> Result<SqsBatchResponse, BatchFailed> {
        for line in self.tally.lines(self.event_type, self.request_id, metrics_namespace, self.clock.now()) {
            println!("{line}");
        }
        let all_came_back = self.response.batch_item_failures.len() == self.messages;
        if all_came_back && !self.reasons.is_empty() {
            let failed = BatchFailed { messages: self.messages, reasons: self.reasons.into_iter().collect() };
            let (request_id, messages, reasons) = (self.request_id, failed.messages, failed.reasons.join(", "));
            tracing::error!(request_id, messages, reasons, "every message of the batch failed");
            return Err(failed);
        }
        Ok(self.response)
    }

    fn now(&self) -> Timestamp {
        self.clock.now().into()
    }
}
