#![doc = include_str!("../README.md")]

mod attribute;
mod command;
mod error;
mod found;
mod guard;
mod locked;
mod store;
mod table;
mod unit_of_work;

pub use command::{Answered, Decision, RequestKey, Seen};
pub use error::Error;
pub use found::Found;
pub use guard::Guard;
pub use locked::Locking;
pub use store::{Before, OpenCharge, PaymentStore, SHARDS, Settled, Shard, Write};
pub use table::{OPEN_CHARGES, Tables, create_tables};
pub use unit_of_work::{Uncommitted, UnitOfWork};

/// The default CloudWatch namespace of the metrics of Payments.
pub const METRICS_NAMESPACE: &str = "FtgoPayments";
