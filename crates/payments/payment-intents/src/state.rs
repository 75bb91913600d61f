//! The states of a payment intent.

use std::fmt;
use std::str::FromStr;

use order_events::Timestamp;

use crate::{ChargeId, ChargeKey, Decline, Invalid};

/// Where an intent is in its life, with what is known there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing was charged; the amount may change.
    Created,
    /// A charge is under way: nothing changes until the gateway has decided. The state is a semantic lock.
    ChargeRequested(Requested),
    /// The money is there. Final.
    Charged {
        /// The request that led here.
        requested: Requested,
        /// The gateway's name for the charge.
        charge_id: ChargeId,
    },
    /// The charge was refused. Final.
    ChargeFailed {
        /// The request that led here.
        requested: Requested,
        /// Why the gateway refused it, or that it was not made in time (`expired`).
        decline: Decline,
    },
}

/// A charge that was requested: what all attempts to make it have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requested {
    /// The charge's key at the gateway; it never changes.
    pub charge_key: ChargeKey,
    /// The time of the request, by the clock of the host that took it: gateways forget keys after 24 hours.
    pub at: Timestamp,
}

/// The name of a state, as it is stored and shown.
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
    /// The state without what is known in it.
    #[must_use]
    pub fn name(&self) -> StateName {
        match self {
            Self::Created => StateName::Created,
            Self::ChargeRequested(_) => StateName::ChargeRequested,
            Self::Charged { .. } => StateName::Charged,
            Self::ChargeFailed { .. } => StateName::ChargeFailed,
        }
    }

    /// The request for the charge, once there is one.
    #[must_use]
    pub fn requested(&self) -> Option<&Requested> {
        match self {
            Self::Created => None,
            Self::ChargeRequested(requested)
            | Self::Charged { requested, .. }
            | Self::ChargeFailed { requested, .. } => Some(requested),
        }
    }

    /// The gateway's name for the charge, where it came to one.
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

    /// As it is stored and shown, such as `CHARGE_REQUESTED`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "CREATED",
            Self::ChargeRequested => "CHARGE_REQUESTED",
            Self::Charged => "CHARGED",
            Self::ChargeFailed => "CHARGE_FAILED",
        }
    }

    /// Whether the intent never changes again.
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
