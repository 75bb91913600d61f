#![doc = include_str!("../README.md")]

pub mod archived;
pub mod cold_start;
pub mod contender;
pub mod costs;
pub mod dynamodb;
pub mod fleet;
pub mod growth;
pub mod limits;
pub mod locks;
pub mod logs;
pub mod messages;
pub mod payments;
pub mod peers;
pub mod process;
pub mod projection;
pub mod query;
pub mod rebuild;
pub mod report;
pub mod results;
pub mod statistics;
pub mod svg;
pub mod units;
pub mod visibility;

/// A benchmark that fails stops with the reason.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;
