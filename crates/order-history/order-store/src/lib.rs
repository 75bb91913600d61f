#![doc = include_str!("../README.md")]

mod history;
mod store;
pub mod table;

pub use history::{Filter, HistoryQuery, Page, Position};
pub use projection::dynamodb::{Applied, Error};
pub use store::OrderStore;

/// The CloudWatch namespace of the metrics about this table, whoever writes or reads it, unless the environment names another.
pub const METRICS_NAMESPACE: &str = "FtgoOrderHistory";
