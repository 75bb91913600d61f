//! A payment intent as the API shows it.

use order_events::Timestamp;
use payment_intents::{PaymentIntent, State, Stored};
use serde::Serialize;

/// A payment intent. What is not known is left out.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schemars(rename = "PaymentIntent"))]
pub(crate) struct ShownIntent<'a> {
    /// Names the intent: a UUID.
    payment_intent_id: String,
    /// The order paid for.
    order_id: &'a str,
    /// The consumer who pays.
    consumer_id: &'a str,
    /// How much, in the currency's minor units, such as cents.
    amount: i64,
    /// The currency (ISO 4217).
    currency: &'a str,
    /// Where the intent is in its life. `CHARGED` and `CHARGE_FAILED` are final.
    state: &'static str,
    /// 1 when it is created, and one more with every change: the `ETag` without its quotes.
    version: u64,
    /// The payment gateway's name for the charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    charge_id: Option<&'a str>,
    /// Why the charge failed, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
    /// Why the charge failed, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
    /// When it was created: RFC 3339 in UTC.
    #[cfg_attr(feature = "openapi", schemars(with = "String"))]
    created_at: Timestamp,
    /// When it last changed: RFC 3339 in UTC.
    #[cfg_attr(feature = "openapi", schemars(with = "String"))]
    updated_at: Timestamp,
}

impl<'a> From<&'a PaymentIntent> for ShownIntent<'a> {
    fn from(intent: &'a PaymentIntent) -> Self {
        let Stored { id, order_id, consumer_id, amount, currency, state, version, created_at, updated_at } =
            intent.stored();
        let decline = match state {
            State::ChargeFailed { decline, .. } => Some(decline),
            State::Created | State::ChargeRequested(_) | State::Charged { .. } => None,
        };
        Self {
            payment_intent_id: id.to_string(),
            order_id: order_id.as_str(),
            consumer_id: consumer_id.as_str(),
            amount: amount.minor_units(),
            currency: currency.as_str(),
            state: state.name().as_str(),
            version: *version,
            charge_id: state.charge_id().map(payment_intents::ChargeId::as_str),
            error_code: decline.map(payment_intents::Decline::code),
            error_message: decline.and_then(payment_intents::Decline::message),
            created_at: *created_at,
            updated_at: *updated_at,
        }
    }
}
