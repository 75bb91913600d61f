//! The failures of the functions.

use lambda_runtime::Diagnostic;
use order_events::{EventType, Malformed};
use payment_gateway::Unknown;

/// Why a charge was not finished. The intent stays in `CHARGE_REQUESTED`. The message goes back to its queue, and finally to the
/// dead-letter queue. The reconciler retries the charge.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The message cannot be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The message contains an event of another type.
    #[error("this function processes PaymentIntentChargeRequested, not {0}: check the queue's subscription")]
    WrongType(EventType),
    /// The aggregate id is not a UUID.
    #[error("the event's aggregate id is not the id of a payment intent")]
    NotAnIntent,
    /// The payments table has no intent with this id.
    #[error("the payment intent does not exist: check PAYMENTS_TABLE, and who else publishes this event")]
    NoSuchIntent,
    /// The gateway's response is not definite.
    #[error(transparent)]
    Gateway(#[from] Unknown),
    /// The gateway may have forgotten the charge key, so the charge was looked up. It was not found, but an earlier request may
    /// still be running.
    #[error("the gateway does not know the charge, which is too old to be sent again but not old enough to expire")]
    Undecided,
    /// The intent could not be read, or the outcome could not be stored.
    #[error(transparent)]
    Store(#[from] payment_store::Error),
    /// The lock could not be taken, or was lost.
    #[error(transparent)]
    Lock(#[from] dynamodb_locks::Error),
    /// The intent changed while this worker held its lock.
    #[error("another worker changed the payment intent at the same time")]
    Superseded,
    /// Too little time was left to start or to finish the charge.
    #[error("too little time is left before the function's timeout: raise the timeout, or reduce the batch size")]
    OutOfTime,
}

impl Failure {
    /// A short, stable name of the reason, for logs and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Malformed(malformed) => malformed.code(),
            Self::WrongType(_) => "wrong_event_type",
            Self::NotAnIntent => "not_a_payment_intent",
            Self::NoSuchIntent => "payment_intent_missing",
            Self::Gateway(unknown) => unknown.code(),
            Self::Undecided => "charge_undecided",
            Self::Store(error) => error.code(),
            Self::Lock(error) => error.code(),
            Self::Superseded => "settle_superseded",
            Self::OutOfTime => "out_of_time",
        }
    }

    /// Whether a later attempt may succeed without a correction by a person.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Malformed(_) | Self::WrongType(_) | Self::NotAnIntent | Self::NoSuchIntent => false,
            Self::Gateway(unknown) => unknown.is_retryable(),
            Self::Store(error) => error.is_retryable(),
            Self::Lock(error) => error.is_retryable(),
            Self::Undecided | Self::Superseded | Self::OutOfTime => true,
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

/// The reconciler could not finish some of the open charges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The number of charges that failed.
    pub charges: usize,
    /// The distinct reasons.
    pub reasons: Vec<&'static str>,
}

impl From<Unfinished> for Diagnostic {
    fn from(Unfinished { charges, reasons }: Unfinished) -> Self {
        Self {
            error_type: "Unfinished".to_owned(),
            error_message: format!(
                "{charges} open charges could not be finished ({}): see the log line of each charge",
                reasons.join(", ")
            ),
        }
    }
}
