#![doc = include_str!("../README.md")]

mod effect;
pub mod facet;
mod keywords;
mod set;
mod status;
mod view;

pub use effect::{effect, pieces};
pub use facet::{OrderView, VIEW};
pub use keywords::keywords;
pub use set::{Revision, TimelineEntry};
pub use status::{DeliveryStatus, OrderStatus, PaymentStatus, TicketStatus};
pub use view::{RULES, contains_event, fold};
