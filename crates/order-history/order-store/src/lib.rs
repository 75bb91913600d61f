#![doc = include_str!("../README.md")]

mod history;
mod store;
pub mod table;

pub use history::{Filter, HistoryQuery, Page, Position};
pub use projection::dynamodb::{Applied, Error};
pub use store::OrderStore;

/// The default CloudWatch namespace of the metrics.
pub const METRICS_NAMESPACE: &str = "FtgoOrderHistory";
