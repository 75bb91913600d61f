//! Why a message, or a whole batch, was not projected.

use lambda_runtime::Diagnostic;
use order_events::{EventType, Malformed};

/// Why one message was not projected. It goes back to its queue, and in the end to the dead-letter queue.
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
    /// Its idempotency record could not be claimed, or says that another payload came under the same id.
    #[error(transparent)]
    Record(#[from] idempotency::Error),
    /// The function's time was up before it was done.
    #[error("the function's time is almost up: allow it more time, or give it smaller batches")]
    OutOfTime,
}

impl Failure {
    /// A short name of the reason that stays the same over versions, for logs and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed(malformed) => malformed.code(),
            Self::WrongType { .. } => "wrong_event_type",
            Self::Store(error) => error.code(),
            Self::Record(error) => error.code(),
            Self::OutOfTime => "out_of_time",
        }
    }

    /// Whether the same message may succeed later with nothing changed by hand.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Malformed(_) | Self::WrongType { .. } => false,
            Self::Store(error) => error.is_retryable(),
            Self::Record(error) => error.is_retryable(),
            Self::OutOfTime => true,
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
