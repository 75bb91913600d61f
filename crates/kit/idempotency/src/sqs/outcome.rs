//! The outcome of each message of a batch, and its observer.

use std::time::SystemTime;

use lambda_runtime::Diagnostic;

use crate::Error;
use crate::error::with_causes;

/// The outcome of a message. It is exhaustive: the caller must decide in each case whether the message is done.
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
#[non_exhaustive]
pub enum MessageError<E> {
    /// The message cannot be read.
    #[error("the message cannot be read")]
    Parse(#[source] E),
    /// The work itself failed. Its claim is released or, if that fails too, expires.
    #[error("the work failed")]
    Work(#[source] E),
    /// The work or the parser panicked. The claim of the work is released or, if that fails too, expires.
    ///
    /// With `panic = "abort"` this does not occur: the process ends.
    #[error("the message's parser or work panicked: the panic's own message is on standard error")]
    Panicked,
    /// The key was used before with another payload. The work was not started.
    #[error("the idempotency key was used before with another payload: use a new key for new work")]
    PayloadMismatch,
    /// The record could not be used, or the key is empty. The work was not started.
    #[error("the work was not started: its idempotency record could not be used")]
    Record(#[source] Error),
    /// The time limit was reached before the work was done, or before it was started.
    #[error(
        "the time limit was reached: allow the function more time or smaller batches, and take the deadline from the current invocation"
    )]
    OutOfTime,
    /// The batch is from a FIFO queue. Nothing of it was read: its messages would be processed in any order.
    #[error("the messages of a FIFO queue would lose their order: use a standard queue")]
    FifoQueue,
}

impl<E> MessageError<E> {
    /// A short name of the reason, for logs and alarms. Each error has its own, and it stays the same over versions. For an error of your own
    /// it is what `code` returns.
    pub fn code(&self, code: impl FnOnce(&E) -> &'static str) -> &'static str {
        match self {
            Self::Parse(error) | Self::Work(error) => code(error),
            Self::Panicked => "panicked",
            Self::PayloadMismatch => Error::PayloadMismatch.code(),
            Self::Record(error) => error.code(),
            Self::OutOfTime => Error::OutOfTime.code(),
            Self::FifoQueue => "fifo_queue",
        }
    }

    /// Whether the same message may succeed later without any manual change. For an error of your own it is what `is_retryable` returns.
    pub fn is_retryable(&self, is_retryable: impl FnOnce(&E) -> bool) -> bool {
        match self {
            Self::Parse(error) | Self::Work(error) => is_retryable(error),
            Self::Record(error) => error.is_retryable(),
            Self::OutOfTime => true,
            Self::Panicked | Self::PayloadMismatch | Self::FifoQueue => false,
        }
    }
}

/// An error of a claim.
impl<E> From<Error> for MessageError<E> {
    fn from(error: Error) -> Self {
        match error {
            Error::PayloadMismatch => Self::PayloadMismatch,
            Error::OutOfTime => Self::OutOfTime,
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

/// Observes the outcome of each message of a batch, for logs and metrics.
pub trait BatchObserver<T, R, E> {
    /// Called once for each message, when its work is done or has failed, and its record is completed, released, or left for the end of the
    /// batch.
    fn processed(&mut self, message: ProcessedMessage<'_, T, R, E>);

    /// The work of these messages failed, and its claim could not be released: it delays the next try until it expires.
    fn not_released(&mut self, message_ids: &[String], value: &T, error: &Error) {
        let _ = value;
        let (message_ids, reason, error) = (message_ids.join(", "), error.code(), with_causes(error));
        tracing::warn!(message_ids, reason, error, "idempotency record not released; it will expire");
    }

    /// The work of these messages is done, but at least one of their records is not completed: a duplicate that arrives after the record has
    /// expired is done again. The messages are acknowledged all the same, because their work is done.
    ///
    /// With [`Error::ClaimLost`], another caller has taken the claim over and may do the work too: its clock is ahead, the work blocked its
    /// thread beyond the time limit, or the record was deleted.
    fn not_completed(&mut self, message_ids: &[String], values: &[T], error: &Error) {
        let _ = values;
        let (message_ids, reason, cause) = (message_ids.join(", "), error.code(), with_causes(error));
        // A lost claim may mean work that is done twice. The others are permanent: without a correction, no record is ever completed.
        if matches!(error, Error::ClaimLost) || !error.is_retryable() {
            tracing::error!(message_ids, reason, error = cause, "idempotency record not completed");
        } else {
            tracing::warn!(message_ids, reason, error = cause, "idempotency record not completed");
        }
    }
}

/// A message and its outcome.
#[derive(Debug)]
#[non_exhaustive]
pub struct ProcessedMessage<'a, T, R, E> {
    /// The queue's id of the message.
    pub message_id: &'a str,
    /// What was read of the message, unless it cannot be read.
    pub value: Option<&'a T>,
    /// The outcome of the message.
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
                tracing::error!(message_id, error = with_causes(&**error), "message failed");
            }
            MessageOutcome::Failed(MessageError::Record(error)) => {
                tracing::error!(message_id, error = with_causes(error), "message failed");
            }
            MessageOutcome::Failed(error) => tracing::error!(message_id, %error, "message failed"),
        }
    }
}
