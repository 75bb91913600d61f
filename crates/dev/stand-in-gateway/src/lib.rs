#![doc = include_str!("../README.md")]

mod ledger;
mod server;

pub use ledger::{Charge, Status};
pub use server::{Settings, StandIn};
