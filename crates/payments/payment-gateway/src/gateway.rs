//! The interface to a payment gateway.

use std::fmt;
use std::pin::Pin;

use order_events::OrderId;
use payment_intents::{Amount, ChargeId, ChargeKey, Currency, Outcome, PaymentIntent, PaymentIntentId, State};
use tokio::time::Instant;

use crate::Unknown;

/// A payment gateway. It makes at most one charge for each charge key.
///
/// Every method returns at `until` at the latest. A caller that drops the future does not know whether money moved.
pub trait Gateway: fmt::Debug + Send + Sync {
    /// Makes the charge, or returns the outcome of an earlier request with the same charge key.
    ///
    /// Gateways forget keys after 24 hours, and would then charge again. An older charge must be
    /// [looked up](Self::look_up) instead.
    fn charge<'a>(&'a self, request: &'a ChargeRequest, until: Instant) -> GatewayFuture<'a, Outcome>;

    /// The id of the charge that was made with the request's charge key. `None`: the gateway has not made such a charge. The response
    /// must be up to date, because after `None` an old charge counts as never made.
    fn look_up<'a>(&'a self, request: &'a ChargeRequest, until: Instant) -> GatewayFuture<'a, Option<ChargeId>>;
}

/// A gateway's response, or why the outcome is unknown.
pub type GatewayFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, Unknown>> + Send + 'a>>;

/// A request for a charge. A charge key always has the same values, because an intent does not change them after its charge was
/// requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargeRequest {
    /// Sent as `Idempotency-Key`.
    pub charge_key: ChargeKey,
    /// The payment intent.
    pub payment_intent_id: PaymentIntentId,
    /// The order that the intent pays for.
    pub order_id: OrderId,
    /// In the currency's minor units.
    pub amount: Amount,
    /// The currency of the amount.
    pub currency: Currency,
}

impl ChargeRequest {
    /// The request for an intent in `CHARGE_REQUESTED`. `None` in any other state.
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
