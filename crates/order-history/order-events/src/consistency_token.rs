//! Consistency tokens: with one, a command's response names its event.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::{EventId, EventType, Invalid, OrderId};

/// Names an event of an order. A command service returns it as `Consistency-Token`, and a client sends it with a
/// query, whose response then includes the event.
///
/// It is opaque to clients. It is not signed, because it grants no access; it can only make a query wait. Its text is the
/// base64url, without padding, of `1 <EventType> <eventId> <orderId>`.
///
/// ```
/// use order_events::{ConsistencyToken, EventType};
///
/// let token = ConsistencyToken {
///     event_type: EventType::OrderCreated,
///     event_id: "0000019ca9450a07-0242ac1200080001".parse()?,
///     order_id: "99".parse()?,
/// };
/// assert_eq!(token.to_string().parse::<ConsistencyToken>()?, token);
/// # Ok::<(), order_events::Invalid>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsistencyToken {
    /// What happened.
    pub event_type: EventType,
    /// The event's id.
    pub event_id: EventId,
    /// The order that the event belongs to.
    pub order_id: OrderId,
}

const VERSION: &str = "1";

/// The longest token has 1,452 characters: version, type, event id and an order id of 255 characters, or 1,020 bytes, make 1,089
/// bytes.
const MAX_LENGTH: usize = 1_500;

impl fmt::Display for ConsistencyToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { event_type, event_id, order_id } = self;
        f.write_str(&URL_SAFE_NO_PAD.encode(format!("{VERSION} {event_type} {event_id} {order_id}")))
    }
}

impl FromStr for ConsistencyToken {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.len() > MAX_LENGTH {
            return Err(Invalid::ConsistencyToken);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| Invalid::ConsistencyToken)?;
        let token = String::from_utf8(bytes).map_err(|_| Invalid::ConsistencyToken)?;
        let mut parts = token.split(' ');
        let mut part = || parts.next().ok_or(Invalid::ConsistencyToken);
        if part()? != VERSION {
            return Err(Invalid::ConsistencyToken);
        }
        let read = Self {
            event_type: part()?.parse().map_err(|_| Invalid::ConsistencyToken)?,
            event_id: part()?.parse().map_err(|_| Invalid::ConsistencyToken)?,
            order_id: part()?.parse().map_err(|_| Invalid::ConsistencyToken)?,
        };
        if parts.next().is_some() { Err(Invalid::ConsistencyToken) } else { Ok(read) }
    }
}
