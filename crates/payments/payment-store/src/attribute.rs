//! The attributes of the payments table: their names, and how to read and write their values.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::Error;

/// The partition key: `PaymentIntent#<id>`, or `Order#<order id>` for an order's guard.
pub(crate) const PK: &str = "pk";

pub(crate) const ORDER_ID: &str = "orderId";
pub(crate) const CONSUMER_ID: &str = "consumerId";
pub(crate) const AMOUNT: &str = "amount";
pub(crate) const CURRENCY: &str = "currency";
pub(crate) const STATE: &str = "state";
pub(crate) const VERSION: &str = "version";
pub(crate) const CREATED_AT: &str = "createdAt";
pub(crate) const UPDATED_AT: &str = "updatedAt";
pub(crate) const CHARGE_KEY: &str = "chargeKey";
pub(crate) const CHARGE_REQUESTED_AT: &str = "chargeRequestedAt";
pub(crate) const CHARGE_ID: &str = "chargeId";
pub(crate) const ERROR_CODE: &str = "errorCode";
pub(crate) const ERROR_MESSAGE: &str = "errorMessage";
/// In an intent and in a guard: the last event of the order's intents. The next event gets a higher id.
pub(crate) const LAST_EVENT_ID: &str = "lastEventId";
/// Exists only while the state is `CHARGE_REQUESTED`, so that the index contains only open charges.
pub(crate) const OPEN_CHARGE_SHARD: &str = "openChargeShard";

/// In a guard: the order's open intent.
pub(crate) const OPEN_INTENT: &str = "openIntent";
/// In a guard: the intent that paid for the order.
pub(crate) const PAID_BY: &str = "paidBy";

pub(crate) type Item = HashMap<String, AttributeValue>;

pub(crate) fn text(value: impl Display) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

pub(crate) fn number(value: impl Display) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// Reads an attribute that may be missing.
pub(crate) fn optional<T: FromStr>(item: &Item, name: &'static str) -> Result<Option<T>, Error> {
    let text = match item.get(name) {
        None => return Ok(None),
        Some(AttributeValue::S(text) | AttributeValue::N(text)) => text,
        Some(_) => return Err(Error::Corrupt { attribute: name }),
    };
    text.parse().map(Some).map_err(|_| Error::Corrupt { attribute: name })
}

/// Reads an attribute that must exist.
pub(crate) fn required<T: FromStr>(item: &Item, name: &'static str) -> Result<T, Error> {
    optional(item, name)?.ok_or(Error::Corrupt { attribute: name })
}
