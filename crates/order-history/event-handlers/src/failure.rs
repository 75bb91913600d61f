//! Why a message, or a whole batch, was not projected.

use idempotency::sqs::MessageError;
use lambda_boot::with_causes;
use lambda_runtime::Diagnostic;
use order_events::{EventType, Malformed};

/// Why the event of a message was not projected. The message goes back to its queue, and finally to the dead-letter queue.
///
/// Failures of the idempotency record are not among these: see [`MessageError`].
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The message cannot be read. A retry cannot succeed.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The message belongs to the queue of another function.
    #[error(
        "this function processes {expected} events, but the message contains {actual}: check the queue's subscription"
    )]
    WrongType {
        /// The event type that this function processes.
        expected: EventType,
        /// The event type of the message.
        actual: EventType,
    },
    /// The effect of the event could not be stored.
    #[error(transparent)]
    Store(#[from] order_store::Error),
}

impl Failure {
    /// A short, stable name of the reason, for logs and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed(malformed) => malformed.code(),
            Self::WrongType { .. } => "wrong_event_type",
            Self::Store(error) => error.code(),
        }
    }

    /// Whether the same message may succeed later, without a correction by a person.
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
    /// A short, stable name of the reason, for logs and alarms.
    pub(crate) fn code(&self) -> &'static str {
        self.0.code(Failure::code)
    }

    /// Whether the same message may succeed later, without a correction by a person.
    pub(crate) fn is_retryable(&self) -> bool {
        self.0.is_retryable(Failure::is_retryable)
    }

    /// The error and its causes, in one line. Without "the work failed" before a failure: the reason says it already.
    pub(crate) fn text(&self) -> String {
        match self.0 {
            MessageError::Parse(failure) | MessageError::Work(failure) => with_causes(failure),
            MessageError::Record(error) => with_causes(error),
            error => with_causes(error),
        }
    }
}

/// Every message of a batch failed.
///
/// Lambda counts a partial batch response as a success. A batch in which every message failed is therefore reported as the
/// function's error, so that alarms see it. The queue keeps all its messages in both cases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchFailed {
    /// The number of messages.
    pub messages: usize,
    /// The distinct reasons.
    pub reasons: Vec<&'static str>,
}

impl From<BatchFailed> for Diagnostic {
    fn from(BatchFailed { messages, reasons }: BatchFailed) -> Self {
        Self {
            error_type: "BatchFailed".to_owned(),
            error_message: format!(
                "every message of the batch failed ({messages} messages; {}): see the log line of each message",
                reasons.join(", ")
            ),
        }
    }
}
