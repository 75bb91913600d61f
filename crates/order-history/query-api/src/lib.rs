#![doc = include_str!("../README.md")]

mod api;
mod caller;
mod config;
mod consistency;
mod history;
pub mod openapi;
mod order;
mod page_token;
mod problem;
mod response;
mod web_page;

pub use api::Api;
pub use api_gateway::{Request, Response};
pub use config::{Authorization, Config, ConfigError};
pub use order::Order;
pub use web_page::{SignIn, WebPage};
