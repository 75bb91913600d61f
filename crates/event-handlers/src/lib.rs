#![doc = include_str!("../README.md")]

mod config;
mod failure;
mod logging;
mod metrics;
mod projector;
mod report;

pub use config::{Config, ConfigError};
pub use failure::{BatchFailed, Failure};
pub use logging::log_as_json;
pub use projector::{Clock, Projector};
