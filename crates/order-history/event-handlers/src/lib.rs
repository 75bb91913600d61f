#![doc = include_str!("../README.md")]

mod config;
mod failure;
mod metrics;
mod projector;
mod report;

pub use config::{Config, ConfigError};
pub use failure::{BatchFailed, Failure};
pub use projector::Projector;
