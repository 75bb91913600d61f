#![doc = include_str!("../README.md")]

mod dynamodb;
mod environment;
mod logging;

pub use dynamodb::{ConnectError, dynamodb};
pub use environment::{Environment, Missing};
pub use logging::{log_as_json, with_causes};
