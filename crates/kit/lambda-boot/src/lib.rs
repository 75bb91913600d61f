#![doc = include_str!("../README.md")]

mod clock;
mod dynamodb;
mod environment;
mod logging;
mod metrics;

pub use clock::Clock;
pub use dynamodb::{ConnectError, dynamodb};
pub use environment::{Environment, Missing};
pub use logging::{cut, log_as_json, with_causes};
pub use metrics::MetricLine;
