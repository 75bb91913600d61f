#![doc = include_str!("../README.md")]

mod config;
mod functions;

pub use config::{Config, ConfigError, Role};
pub use functions::{NothingPublished, SweepFailed, relay, sweep};
