#![doc = include_str!("../README.md")]

mod environment;
mod logging;

pub use environment::{Environment, Missing};
pub use logging::{log_as_json, with_causes};
