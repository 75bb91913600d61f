#![doc = include_str!("../README.md")]

mod error;
mod event_id;
mod outbox;
mod row;
mod table;

pub use error::Error;
pub use event_id::next_event_id;
pub use outbox::Outbox;
pub use row::EventRow;
pub use table::create_table;
