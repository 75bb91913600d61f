//! What the rest of Payments knows of a payment gateway.

use std::fmt;
use std::pin::Pin;

use order_events::OrderId;
use payment_intents::{Amount, ChargeId, ChargeKey, Currency, Outcome, PaymentIntent, PaymentIntentId, State};
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

    /// The id of the charge that was made under the request's charge key. `None`: the gateway has made no such charge before it was
    /// asked. An answer that may be out of date is not enough: after `None`, an old charge counts as never made.
    fn look_up<'a>(&'a self, request: &'a ChargeRequest, until: Instant) -> Answer<'a, Option<ChargeId>>;
}

/// A gateway's answer, or why the outcome is unknown.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Unknown>> + Send + 'a>>;

/// What to charge. The same charge key always comes with the same values, because an intent does not change them
/// once its charge is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargeRequest {
    /// Sent as `Idempotency-Key`.
    pub charge_key: ChargeKey,
    /// The payment intent.
    pub payment_intent_id: PaymentIntentId,
    /// The order that is paid for.
    pub order_id: OrderId,
    /// How much.
    pub amount: Amount,
    /// In which currency.
    pub currency: Currency,
}

impl ChargeRequest {
    /// The request for an intent whose charge is requested and not decided. `None`: the intent is in another state.
    #[must_use]
    pub fn of(intent: &PaymentIntent) -> Option<Self> {
        let State::ChargeRequested(requested) = intent.state() else {
            return None;
        };
        Some(Self {
            charge_key: requested.charge_key.clone(),
            payment_intent_id: intent.id(),
            order_id: intent.order_id().clone(),
            amount: intent.amount(),
            currency: intent.currency(),
        })
    }
}
