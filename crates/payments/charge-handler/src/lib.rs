#![doc = include_str!("../README.md")]

mod charger;
mod config;
mod failure;
mod handler;
mod reconciler;
mod report;

pub use charger::{ChargeResult, Charger};
pub use config::{Config, ConfigError, Role};
pub use failure::{BatchFailed, Failure, Unfinished};
pub use handler::ChargeHandler;
pub use reconciler::Reconciler;
