#![doc = include_str!("../README.md")]

mod api;
mod body;
mod caller;
mod config;
mod intent;
pub mod openapi;
mod problem;
mod response;

pub use api::{Api, Mode};
pub use api_gateway::{Request, Response};
pub use config::{Authorization, ChargeMode, Config, ConfigError, Settings};
