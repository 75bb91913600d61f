#![doc = include_str!("../README.md")]

mod by_name;
mod consistency_token;
mod degrees;
mod envelope;
mod event;
mod event_id;
mod id;
mod json;
mod malformed;
mod money;
pub mod payload;
mod plain;
#[cfg(feature = "schema")]
mod schema;
mod timestamp;

pub use consistency_token::ConsistencyToken;
pub use degrees::{Degrees, Latitude, Longitude};
pub use envelope::Message;
pub use event::{AggregateType, Event, EventType, Payload, Record, UnknownEventType};
pub use event_id::{EventId, EventIdText};
pub use id::{AggregateId, ConsumerId, CourierId, OrderId};
pub use json::JsonFault;
pub use malformed::{Invalid, Malformed};
pub use money::Money;
pub use timestamp::{Timestamp, millis};
