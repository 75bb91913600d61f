#![doc = include_str!("../README.md")]

mod answer;
mod environment;
mod gateway;
mod http;
mod secret;
mod unknown;

pub use environment::ConfigError;
pub use gateway::{Answer, ChargeRequest, Gateway};
pub use http::{HttpGateway, InvalidUrl, RequestPolicy};
pub use payment_intents::Outcome;
pub use secret::{InvalidSecret, Secret};
pub use unknown::Unknown;
