//! The bodies of commands. All members are checked, so that one response lists every mistake.

use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::str::FromStr;

use api_gateway::{Mistaken, Parameters, Request};
use order_events::{ConsumerId, OrderId};
use payment_intents::{Amount, Currency, Invalid};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};

/// The body of `POST /payment-intents`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Create {
    pub(crate) order_id: OrderId,
    pub(crate) amount: Amount,
    pub(crate) currency: Currency,
    pub(crate) consumer_id: Option<ConsumerId>,
}

/// The members of a JSON object. If a name is repeated, `serde_json` alone would silently use the last value.
#[derive(Default)]
struct Members {
    values: Map<String, Value>,
    repeated: BTreeSet<String>,
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Members, A::Error> {
        let mut members = Members::default();
        while let Some((name, value)) = object.next_entry::<String, Value>()? {
            if members.values.insert(name.clone(), value).is_some() {
                members.repeated.insert(name);
            }
        }
        Ok(members)
    }
}

/// Reads an object. A member that is unknown or repeated is a mistake.
fn object(request: &Request, parameters: &mut Parameters, known: &[&str]) -> Result<Map<String, Value>, Mistaken> {
    let Some(body) = request.body() else { return Err(parameters.mistake_in(BODY, BODY, "is not UTF-8")) };
    let Members { values, repeated } = match serde_json::from_str(&body) {
        Ok(members) => members,
        Err(error) if error.is_data() => return Err(parameters.mistake_in(BODY, BODY, "must be a JSON object")),
        Err(_) => return Err(parameters.mistake_in(BODY, BODY, "is not JSON")),
    };
    for name in repeated {
        parameters.mistake_in(BODY, &name, "must not be repeated");
    }
    for name in values.keys().filter(|name| !known.contains(&name.as_str())) {
        parameters.mistake_in(BODY, name, format!("unknown member; expected one of {}", known.join(", ")));
    }
    Ok(values)
}

const BODY: &str = "body";

impl Create {
    /// Records the mistakes of all members before it returns.
    pub(crate) fn read(request: &Request, parameters: &mut Parameters) -> Result<Self, Mistaken> {
        let body = object(request, parameters, &["orderId", "amount", "currency", "consumerId"])?;
        let order_id = required(&body, parameters, "orderId", id);
        let amount = required(&body, parameters, "amount", amount);
        let currency = required(&body, parameters, "currency", |value| {
            value.as_str().ok_or(Invalid::Currency).and_then(Currency::parse)
        });
        let consumer_id = optional(&body, parameters, "consumerId", id);
        Ok(Self { order_id: order_id?, amount: amount?, currency: currency?, consumer_id: consumer_id? })
    }
}

/// The body of `PATCH /payment-intents/{paymentIntentId}`: the new amount.
pub(crate) fn read_amount(request: &Request, parameters: &mut Parameters) -> Result<Amount, Mistaken> {
    let body = object(request, parameters, &["amount"])?;
    required(&body, parameters, "amount", amount)
}

/// The body of a charge: empty, or an empty object.
pub(crate) fn read_empty(request: &Request, parameters: &mut Parameters) -> Result<(), Mistaken> {
    match request.body().as_deref().map(str::trim) {
        Some("") => Ok(()),
        Some(text) if serde_json::from_str::<Map<String, Value>>(text).is_ok_and(|body| body.is_empty()) => Ok(()),
        _ => Err(parameters.mistake_in(BODY, BODY, "must be empty: the stored amount is charged")),
    }
}

fn required<T, E: Display>(
    body: &Map<String, Value>,
    parameters: &mut Parameters,
    name: &str,
    parse: impl FnOnce(&Value) -> Result<T, E>,
) -> Result<T, Mistaken> {
    optional(body, parameters, name, parse)?.ok_or_else(|| parameters.mistake_in(BODY, name, "is required"))
}

fn optional<T, E: Display>(
    body: &Map<String, Value>,
    parameters: &mut Parameters,
    name: &str,
    parse: impl FnOnce(&Value) -> Result<T, E>,
) -> Result<Option<T>, Mistaken> {
    body.get(name).map(parse).transpose().map_err(|error| parameters.mistake_in(BODY, name, error))
}

fn id<T: FromStr<Err = order_events::Invalid>>(value: &Value) -> Result<T, String> {
    value.as_str().ok_or("must be a text")?.parse().map_err(|error: order_events::Invalid| error.to_string())
}

/// In JSON, 6063.0 is a whole number too.
fn amount(value: &Value) -> Result<Amount, Invalid> {
    let whole = value.as_i64().or_else(|| {
        let number = value.as_f64().filter(|number| number.fract() == 0.0 && (1.0..=1e15).contains(number))?;
        // The cast is exact: the number is whole and below 2^53.
        #[allow(clippy::cast_possible_truncation)]
        Some(number as i64)
    });
    whole.ok_or(Invalid::Amount).and_then(Amount::parse)
}
