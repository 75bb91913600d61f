#![doc = include_str!("../README.md")]

mod attribute;
mod command;
mod error;
mod guard;
mod locked;
mod store;
mod stored_intent;
mod table;
mod unit_of_work;

pub use command::{CommandResult, Decision, DecisionInput, RequestKey};
pub use error::Error;
pub use guard::Guard;
pub use locked::Locking;
pub use store::{OpenCharge, PaymentStore, ReadItem, SHARDS, Settled, Shard, Write};
pub use stored_intent::StoredIntent;
pub use table::{OPEN_CHARGES, Tables, create_tables};
pub use unit_of_work::{Uncommitted, UnitOfWork};

/// The default CloudWatch namespace of the metrics of Payments.
pub const METRICS_NAMESPACE: &str = "FtgoPayments";
