#![doc = include_str!("../README.md")]

mod api;
mod caller;
mod config;
mod consistency;
mod history;
pub mod openapi;
mod order;
mod page_token;
mod parameters;
mod problem;
mod request;
mod response;

pub use api::Api;
pub use config::{Authorization, Config, ConfigError};
pub use order::Order;
pub use request::Request;
pub use response::Response;
