#![doc = include_str!("../README.md")]

mod gateway;
mod unknown;

pub use gateway::{Answer, ChargeRequest, Gateway, Outcome};
pub use unknown::Unknown;
