//! Why a value or a command is refused.

use crate::{Amount, StateName};

/// Why a value is not valid. The messages never contain the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// The text is not the id of a payment intent.
    #[error("must be a UUID in lower case, such as 3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35")]
    PaymentIntentId,
    /// The number is not an amount that can be charged.
    #[error("must be a whole number of minor units, such as cents, from 1 to {}", Amount::MAX)]
    Amount,
    /// The text is not a currency code.
    #[error("must be three upper-case letters (ISO 4217), such as USD")]
    Currency,
    /// The text cannot be the key of a charge.
    #[error("must be 1 to 255 visible ASCII characters")]
    ChargeKey,
    /// The text cannot be the id of a charge.
    #[error("must be 1 to 255 characters without white space or control characters")]
    ChargeId,
    /// The text is not the name of a state.
    #[error("must be one of CREATED, CHARGE_REQUESTED, CHARGED, CHARGE_FAILED")]
    State,
}

/// The command is not allowed in the intent's state. A later attempt may succeed, unless the state is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not allowed in state {state}")]
pub struct WrongState {
    /// The intent's state.
    pub state: StateName,
}
