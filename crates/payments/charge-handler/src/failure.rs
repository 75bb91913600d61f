//! Why a charge was not finished.

use lambda_runtime::Diagnostic;
use order_events::{EventType, Malformed};
use payment_gateway::Unknown;

/// Why a charge was not finished. The intent stays in `CHARGE_REQUESTED`; the message goes back to its queue, and in the end to
/// the dead-letter queue. The reconciler goes on with it.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The message cannot be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The message is of an event that this function does not serve.
    #[error("this function serves PaymentIntentChargeRequested, not {0}: check the queue's subscription")]
    WrongType(EventType),
    /// The message names no payment intent of ours.
    #[error("the event's aggregate id is not a payment intent's id")]
    NotAnIntent,
    /// There is no such intent.
    #[error("there is no such payment intent: check PAYMENTS_TABLE, and who else publishes this event")]
    NoSuchIntent,
    /// The gateway's answer is not definite.
    #[error(transparent)]
    Gateway(#[from] Unknown),
    /// The gateway may have forgotten the charge key, so the charge was looked up. It was not found, but a request from before
    /// may still be under way.
    #[error("the charge is too old to be sent again, was not found at the gateway, and is too young to be given up")]
    Undecided,
    /// The intent could not be read, or the outcome not stored.
    #[error(transparent)]
    Store(#[from] payment_store::Error),
    /// The lock could not be taken, or was lost.
    #[error(transparent)]
    Lock(#[from] dynamodb_locks::Error),
    /// The intent changed while its lock was ours.
    #[error("another worker changed the payment intent at the same time")]
    Superseded,
    /// The function's time was up before it was done, or too short to begin.
    #[error("the function's time is almost up: allow it more time, or give it smaller batches")]
    OutOfTime,
}

impl Failure {
    /// A short name of the reason that stays the same over versions, for logs and alarms.
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

    /// Whether the same charge may be finished later with nothing changed by hand.
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

/// The reconciler could not finish some of the open charges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// How many charges failed.
    pub charges: usize,
    /// The distinct reasons.
    pub reasons: Vec<&'static str>,
}

impl From<Unfinished> for Diagnostic {
    fn from(Unfinished { charges, reasons }: Unfinished) -> Self {
        Self {
            error_type: "Unfinished".to_owned(),
            error_message: format!(
                "{charges} open charges could not be finished ({}): see the log line of each",
                reasons.join(", ")
            ),
        }
    }
}
