//! Why a message, or a whole batch, was not projected.

use idempotency::sqs::MessageError;
use lambda_boot::with_causes;
use lambda_runtime::Diagnostic;
use order_events::{EventType, Malformed};

/// Why one message was not projected, other than its idempotency record. It goes back to its queue, and in the end to the dead-letter
/// queue.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It can never be applied.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It belongs into another function's queue.
    #[error("this function serves {serves}, not {came}: check the queue's subscription")]
    WrongType {
        /// What this function serves.
        serves: EventType,
        /// What came.
        came: EventType,
    },
    /// Its effect could not be stored.
    #[error(transparent)]
    Store(#[from] order_store::Error),
}

impl Failure {
    /// A short name of the reason that stays the same over versions, for logs and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed(malformed) => malformed.code(),
            Self::WrongType { .. } => "wrong_event_type",
            Self::Store(error) => error.code(),
        }
    }

    /// Whether the same message may succeed later with nothing changed by hand.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Malformed(_) | Self::WrongType { .. } => false,
            Self::Store(error) => error.is_retryable(),
        }
    }
}

/// Why a message was not projected, as the log shows it.
pub(crate) struct Reason<'a>(pub(crate) &'a MessageError<Failure>);

impl Reason<'_> {
    /// A short name of the reason that stays the same over versions, for logs and alarms.
    pub(crate) fn code(&self) -> &'static str {
        match self.0 {
            MessageError::Parse(failure) | MessageError::Work(failure) => failure.code(),
            MessageError::Panicked => "panicked",
            MessageError::PayloadMismatch => idempotency::Error::PayloadMismatch.code(),
            MessageError::Record(error) => error.code(),
            MessageError::OutOfTime => idempotency::Error::OutOfTime.code(),
        }
    }

    /// Whether the same message may succeed later with nothing changed by hand.
    pub(crate) fn is_retryable(&self) -> bool {
        match self.0 {
            MessageError::Parse(failure) | MessageError::Work(failure) => failure.is_retryable(),
            MessageError::Panicked | MessageError::PayloadMismatch => false,
            MessageError::Record(error) => error.is_retryable(),
            MessageError::OutOfTime => true,
        }
    }

    /// The error and its causes, in one line.
    pub(crate) fn text(&self) -> String {
        match self.0 {
            MessageError::Parse(failure) | MessageError::Work(failure) => with_causes(failure),
            MessageError::Record(error) => with_causes(error),
            error @ (MessageError::Panicked | MessageError::PayloadMismatch | MessageError::OutOfTime) => {
                with_causes(error)
            }
        }
    }
}

/// Every message of a batch failed.
///
/// A partial batch response counts as a success of the function, so a batch with nothing right in it is reported as
/// the function's error instead: the queue keeps all its messages either way, and alarms on errors see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchFailed {
    /// How many messages there were.
    pub messages: usize,
    /// The distinct reasons.
    pub reasons: Vec<&'static str>,
}

impl From<BatchFailed> for Diagnostic {
    fn from(BatchFailed { messages, reasons }: BatchFailed) -> Self {
        Self {
            error_type: "BatchFailed".to_owned(),
            error_message: format!(
                "every message of the batch failed ({messages}, {}): see the log line of each",
                reasons.join(", ")
            ),
        }
    }
}
