//! Why the outcome of a charge is unknown.

use std::error::Error;

/// The gateway's response is not definite: money may have moved, or may still move. This is never a decline.
#[derive(Debug, thiserror::Error)]
pub enum Unknown {
    /// The gateway did not answer in time.
    #[error("the payment gateway did not answer in time")]
    Timeout,
    /// The connection failed, or broke before the response.
    #[error("the payment gateway cannot be reached")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// The gateway failed.
    #[error("the payment gateway failed with status {status}")]
    Failed {
        /// The HTTP status: 500 to 599.
        status: u16,
    },
    /// The gateway is throttling.
    #[error("the payment gateway received too many requests")]
    Throttled,
    /// The gateway is still processing an earlier request with this charge key.
    #[error("the payment gateway is processing an earlier request with the same charge key")]
    InProgress,
    /// The charge key was used for a charge with other values.
    #[error("the payment gateway already has this charge key with other values")]
    KeyReused,
    /// The gateway does not accept our secret.
    #[error("the payment gateway refuses our secret with status {status}: check the secret")]
    Refused {
        /// The HTTP status: 401 or 403.
        status: u16,
    },
    /// The secret cannot be read.
    #[error("the secret of the payment gateway cannot be read")]
    Secret(#[source] Box<dyn Error + Send + Sync>),
    /// The response is not in the contract.
    #[error("the payment gateway sent an unexpected response with status {status}: {problem}")]
    Unexpected {
        /// The HTTP status.
        status: u16,
        /// Contains nothing of the response.
        problem: &'static str,
    },
}

impl Unknown {
    /// A short, stable name of the reason, for logs and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Timeout => "gateway_timeout",
            Self::Unreachable(_) => "gateway_unreachable",
            Self::Failed { .. } => "gateway_failed",
            Self::Throttled => "gateway_throttled",
            Self::InProgress => "gateway_in_progress",
            Self::KeyReused => "gateway_key_reused",
            Self::Refused { .. } => "gateway_refused_secret",
            Self::Secret(_) => "gateway_secret_unreadable",
            Self::Unexpected { .. } => "gateway_unexpected_response",
        }
    }

    /// Whether the same request may succeed later, without a correction by a person.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Timeout
            | Self::Unreachable(_)
            | Self::Failed { .. }
            | Self::Throttled
            | Self::InProgress
            | Self::Secret(_) => true,
            Self::KeyReused | Self::Refused { .. } | Self::Unexpected { .. } => false,
        }
    }

    /// Whether a person must correct something, here or at the gateway, before a charge can succeed.
    #[must_use]
    pub fn needs_correction(&self) -> bool {
        match self {
            Self::Refused { .. } | Self::Secret(_) | Self::KeyReused | Self::Unexpected { .. } => true,
            Self::Timeout | Self::Unreachable(_) | Self::Failed { .. } | Self::Throttled | Self::InProgress => false,
        }
    }
}
