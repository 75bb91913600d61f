//! What the rest of Payments knows of a payment gateway.

use std::fmt;
use std::pin::Pin;

use tokio::time::Instant;

use crate::Unknown;

/// A payment gateway: it charges once for each charge key, however often it is asked.
///
/// Every method returns at the latest at `until`. A caller that drops the future does not know whether money moved.
pub trait Gateway: fmt::Debug + Send + Sync {
    /// Charges, or returns what an earlier request with the same charge key led to.
    ///
    /// Gateways forget keys after 24 hours, and would then charge again: an older charge must be
    /// [looked up](Self::look_up) instead.
    fn charge<'a>(&'a self, request: &'a ChargeRequest, until: Instant) -> Answer<'a, Outcome>;

    /// The id of the charge that was made under the request's charge key. `None`: the gateway has made no such charge.
    fn look_up<'a>(&'a self, request: &'a ChargeRequest, until: Instant) -> Answer<'a, Option<String>>;
}

/// A gateway's answer, or why the outcome is unknown.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Unknown>> + Send + 'a>>;

/// What to charge. The same charge key must always come with the same values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargeRequest {
    /// The `Idempotency-Key`: chosen at random when the charge was requested, and never changed after that.
    pub charge_key: String,
    /// The payment intent, as text.
    pub payment_intent_id: String,
    /// The order that is paid for, as text.
    pub order_id: String,
    /// In minor units of the currency, such as cents.
    pub amount: i64,
    /// Such as `USD`.
    pub currency: String,
}

/// What the gateway decided. It is final.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The money was taken.
    Charged {
        /// The gateway's name for the charge.
        charge_id: String,
    },
    /// No money was taken, and none will be under this charge key.
    Declined {
        /// The gateway's name for the charge, if it gave it one.
        charge_id: Option<String>,
        /// Why, for programs: such as `card_declined`.
        code: String,
        /// Why, for people.
        message: Option<String>,
    },
}
