//! The JSON of a payment intent.

use order_events::Timestamp;
use payment_intents::{IntentFields, PaymentIntent, State};
use serde::Serialize;

/// A payment intent. Members without a value are left out.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schemars(rename = "PaymentIntent"))]
pub(crate) struct ShownIntent<'a> {
    /// The id of the intent, a UUID.
    payment_intent_id: String,
    /// The order paid for.
    order_id: &'a str,
    /// The consumer who pays.
    consumer_id: &'a str,
    /// The amount in the currency's minor units, such as cents.
    amount: i64,
    /// The currency (ISO 4217).
    currency: &'a str,
    /// The state of the intent. `CHARGED` and `CHARGE_FAILED` are final.
    state: &'static str,
    /// 1 for a new intent; each change adds one. The `ETag` is the version in quotes.
    version: u64,
    /// The payment gateway's id of the charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    charge_id: Option<&'a str>,
    /// Why the charge failed, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<&'a str>,
    /// Why the charge failed, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<&'a str>,
    /// The time of creation (RFC 3339, UTC).
    #[cfg_attr(feature = "openapi", schemars(with = "String"))]
    created_at: Timestamp,
    /// The time of the last change (RFC 3339, UTC).
    #[cfg_attr(feature = "openapi", schemars(with = "String"))]
    updated_at: Timestamp,
}

impl<'a> From<&'a PaymentIntent> for ShownIntent<'a> {
    fn from(intent: &'a PaymentIntent) -> Self {
        let IntentFields { id, order_id, consumer_id, amount, currency, state, version, created_at, updated_at } =
            intent.fields();
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
