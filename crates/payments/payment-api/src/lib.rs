#![doc = include_str!("../README.md")]

mod answer;
mod api;
mod body;
mod caller;
mod config;
mod intent;
pub mod openapi;
mod problem;

pub use api::{Api, Mode};
pub use api_gateway::{Request, Response};
pub use config::{Authorization, ChargeMode, Config, ConfigError, Settings};
