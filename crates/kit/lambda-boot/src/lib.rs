#![doc = include_str!("../README.md")]

mod clock;
mod dynamodb;
mod environment;
mod line;
mod logging;

pub use clock::Clock;
pub use dynamodb::{ConnectError, dynamodb};
pub use environment::{Environment, Missing};
pub use line::Line;
pub use logging::{cut, is_logged, log_as_json, with_causes};
