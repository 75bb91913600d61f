//! What becomes of the messages of a batch, and who is told.

use std::time::SystemTime;

use lambda_runtime::Diagnostic;

use crate::Error;

/// What became of a message. It is exhaustive: whether a message is done is no case for `_`.
#[derive(Debug)]
pub enum MessageOutcome<R, E> {
    /// The work was done now, with this result. The message is acknowledged.
    New(R),
    /// The work was done before, or now for another message of the batch with the same key and fingerprint. The message is acknowledged.
    Completed,
    /// Another invocation is doing the work. The message is delivered again.
    InProgress {
        /// When its claim may be taken over, as far as the record says.
        until: Option<SystemTime>,
    },
    /// The work was not done. The message is delivered again.
    Failed(MessageError<E>),
}

/// Why the work of a message was not done.
#[derive(Debug, thiserror::Error)]
pub enum MessageError<E> {
    /// The message cannot be read.
    #[error("the message cannot be read")]
    Parse(#[source] E),
    /// The work itself failed. Its claim is released, or, if that fails too, expires.
    #[error("the work failed")]
    Work(#[source] E),
    /// The work panicked. Its claim is released, or, if that fails too, expires.
    #[error("the work panicked")]
    Panicked,
    /// The key was used before with another payload. The work was not started.
    #[error("the idempotency key was used before with another payload: use a new key for new work")]
    PayloadMismatch,
    /// The record could not be used, or the key is empty. The work was not started.
    #[error("the work was not started: its idempotency record could not be used")]
    Record(#[source] Error),
    /// Time was up before the work was done, or too short to start it.
    #[error("the function's time is almost up: allow it more time, or give it smaller batches")]
    OutOfTime,
}

/// An error of a claim.
impl<E> From<Error> for MessageError<E> {
    fn from(error: Error) -> Self {
        match error {
            Error::PayloadMismatch => Self::PayloadMismatch,
            error => Self::Record(error),
        }
    }
}

/// Messages failed, and none was done.
///
/// A partial batch response counts as a success of the function. So a batch with nothing done is the function's error instead: the
/// queue keeps all its messages either way, and alarms on errors see it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("every message of the batch failed ({messages}): see the log line of each")]
#[non_exhaustive]
pub struct BatchFailed {
    /// How many messages the batch had.
    pub messages: usize,
}

impl From<BatchFailed> for Diagnostic {
    fn from(failed: BatchFailed) -> Self {
        Self { error_type: "BatchFailed".to_owned(), error_message: failed.to_string() }
    }
}

/// Hears what becomes of a batch, for logs and metrics.
pub trait BatchObserver<T, R, E> {
    /// Called once for each message, as soon as it is decided.
    fn processed(&mut self, message: ProcessedMessage<'_, T, R, E>);

    /// The work failed, and its claim could not be released: it delays the next try until it expires.
    fn not_released(&mut self, value: &T, error: &Error) {
        let _ = value;
        let error: &dyn std::error::Error = error;
        tracing::warn!(error, "idempotency record not released; it will expire");
    }

    /// The work of these records is done, but some of them are not completed: a duplicate that arrives after they have expired is done
    /// again. The messages are acknowledged all the same, because their work is done.
    fn not_completed(&mut self, records: usize, error: &Error) {
        let error: &dyn std::error::Error = error;
        tracing::warn!(records, error, "idempotency records not completed; they will expire");
    }
}

/// A message and what became of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProcessedMessage<'a, T, R, E> {
    /// The queue's id of the message.
    pub message_id: &'a str,
    /// What was read of the message, unless it cannot be read.
    pub value: Option<&'a T>,
    /// What became of it.
    pub outcome: &'a MessageOutcome<R, E>,
}

/// Logs each failure.
pub(super) struct LogFailures;

impl<T> BatchObserver<T, (), Box<dyn std::error::Error + Send + Sync>> for LogFailures {
    fn processed(&mut self, message: ProcessedMessage<'_, T, (), Box<dyn std::error::Error + Send + Sync>>) {
        let ProcessedMessage { message_id, outcome, .. } = message;
        match outcome {
            MessageOutcome::New(()) | MessageOutcome::Completed => {}
            MessageOutcome::InProgress { .. } => {
                tracing::debug!(message_id, "another invocation is processing the message");
            }
            MessageOutcome::Failed(MessageError::Parse(error) | MessageError::Work(error)) => {
                let error: &dyn std::error::Error = &**error;
                tracing::error!(message_id, error, "message failed");
            }
            MessageOutcome::Failed(MessageError::Record(error)) => {
                let error: &dyn std::error::Error = error;
                tracing::error!(message_id, error, "message failed");
            }
            MessageOutcome::Failed(error) => tracing::error!(message_id, %error, "message failed"),
        }
    }
}
