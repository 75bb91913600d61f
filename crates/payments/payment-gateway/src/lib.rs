#![doc = include_str!("../README.md")]

mod environment;
mod gateway;
mod http;
mod response;
mod secret;
mod unknown;

pub use environment::ConfigError;
pub use gateway::{ChargeRequest, Gateway, GatewayFuture};
pub use http::{HttpGateway, InvalidUrl, RequestPolicy};
pub use payment_intents::Outcome;
pub use secret::{InvalidSecret, Secret};
pub use unknown::Unknown;
