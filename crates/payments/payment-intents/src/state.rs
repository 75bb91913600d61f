//! The states of a payment intent.

use std::fmt;
use std::str::FromStr;

use order_events::Timestamp;

use crate::{ChargeId, ChargeKey, Decline, Invalid};

/// The state of an intent, with the data of that state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// No charge was requested. The amount may change.
    Created,
    /// The charge was requested. Nothing changes until the gateway has decided: the state is a semantic lock.
    ChargeRequested(RequestedCharge),
    /// The charge was made. Final.
    Charged {
        /// The request for this charge.
        requested: RequestedCharge,
        /// The gateway's id of the charge.
        charge_id: ChargeId,
    },
    /// The charge was declined. Final.
    ChargeFailed {
        /// The request for this charge.
        requested: RequestedCharge,
        /// The gateway's reason, or `expired` if the charge was not made in time.
        decline: Decline,
    },
}

/// The request for a charge. All attempts use the same values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedCharge {
    /// The charge's key at the gateway. It never changes.
    pub charge_key: ChargeKey,
    /// The time of the request, by the clock of the host that processed it. Gateways forget keys after 24 hours.
    pub at: Timestamp,
}

/// The name of a state in the table and in the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StateName {
    /// See [`State::Created`].
    Created,
    /// See [`State::ChargeRequested`].
    ChargeRequested,
    /// See [`State::Charged`].
    Charged,
    /// See [`State::ChargeFailed`].
    ChargeFailed,
}

impl State {
    /// The state without its data.
    #[must_use]
    pub fn name(&self) -> StateName {
        match self {
            Self::Created => StateName::Created,
            Self::ChargeRequested(_) => StateName::ChargeRequested,
            Self::Charged { .. } => StateName::Charged,
            Self::ChargeFailed { .. } => StateName::ChargeFailed,
        }
    }

    /// The request for the charge. None in `CREATED`.
    #[must_use]
    pub fn requested(&self) -> Option<&RequestedCharge> {
        match self {
            Self::Created => None,
            Self::ChargeRequested(requested)
            | Self::Charged { requested, .. }
            | Self::ChargeFailed { requested, .. } => Some(requested),
        }
    }

    /// The gateway's id of the charge, if it has one.
    #[must_use]
    pub fn charge_id(&self) -> Option<&ChargeId> {
        match self {
            Self::Created | Self::ChargeRequested(_) => None,
            Self::Charged { charge_id, .. } => Some(charge_id),
            Self::ChargeFailed { decline, .. } => decline.charge_id(),
        }
    }
}

impl StateName {
    /// Every state, in the order of an intent's life.
    pub const ALL: [Self; 4] = [Self::Created, Self::ChargeRequested, Self::Charged, Self::ChargeFailed];

    /// The name in the table and in the API, such as `CHARGE_REQUESTED`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::ChargeRequested => "CHARGE_REQUESTED",
            Self::Charged => "CHARGED",
            Self::ChargeFailed => "CHARGE_FAILED",
        }
    }

    /// Whether the intent can no longer change.
    #[must_use]
    pub const fn is_final(self) -> bool {
        match self {
            Self::Created | Self::ChargeRequested => false,
            Self::Charged | Self::ChargeFailed => true,
        }
    }
}

impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for StateName {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(Invalid::State)
    }
}
