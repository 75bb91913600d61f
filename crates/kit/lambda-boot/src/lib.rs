#![doc = include_str!("../README.md")]

mod clock;
#[cfg(feature = "clients")]
mod connect;
mod environment;
mod line;
mod logging;

pub use clock::Clock;
#[cfg(feature = "sns")]
pub use connect::sns;
#[cfg(feature = "clients")]
pub use connect::{ConnectError, dynamodb, https, sdk_config};
pub use environment::{Environment, Missing};
pub use line::Line;
pub use logging::{cut, is_logged, log_as_json, with_causes};
