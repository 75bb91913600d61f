//! Text ids of orders, aggregates, consumers and couriers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::{Event, Invalid};

/// Ids become DynamoDB keys, attribute names and URL segments. The tightest limit is the 2,048 bytes of a partition key
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html>), which is enough
/// for this many characters of any script.
const MAX_CHARACTERS: usize = 255;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// At least one character, at most 255 of them, no white space or control characters. In JSON it may be a
        /// text or, like FTGO's own ids, a whole number.
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Checks the text of an id.
            pub fn parse(text: impl Into<String>) -> Result<Self, Invalid> {
                checked(text.into()).map(Self)
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                Self::parse(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = deserializer.deserialize_any(TextOrNumber)?;
                Self::parse(text).map_err(de::Error::custom)
            }
        }
    )*};
}

ids! {
    /// The id of an order.
    OrderId;
    /// The id of an aggregate within its type: an order, a ticket, a delivery or a payment intent.
    AggregateId;
    /// The id of a consumer.
    ConsumerId;
    /// The id of a courier.
    CourierId;
}

impl OrderId {
    /// The order of an event. For orders and tickets, the order id is the aggregate id.
    pub(crate) fn of(event: &Event) -> Self {
        Self(event.order_id_text().to_owned())
    }
}

fn checked(text: String) -> Result<String, Invalid> {
    // A fast check that is true for nearly all ids.
    if (1..=MAX_CHARACTERS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(text);
    }
    if text.is_empty() {
        return Err(Invalid::Empty);
    }
    if text.chars().count() > MAX_CHARACTERS {
        return Err(Invalid::TooLong(MAX_CHARACTERS));
    }
    // SQS refuses messages with the last two:
    // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
    if text.chars().any(|c| c.is_whitespace() || c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')) {
        return Err(Invalid::Character);
    }
    Ok(text)
}

/// Reads a JSON text or whole number as text.
pub(crate) struct TextOrNumber;

impl de::Visitor<'_> for TextOrNumber {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a whole number")
    }

    fn visit_str<E>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }

    fn visit_string<E>(self, text: String) -> Result<String, E> {
        Ok(text)
    }

    fn visit_u64<E>(self, number: u64) -> Result<String, E> {
        Ok(number.to_string())
    }

    fn visit_i64<E>(self, number: i64) -> Result<String, E> {
        Ok(number.to_string())
    }
}
