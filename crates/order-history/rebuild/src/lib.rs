#![doc = include_str!("../README.md")]

pub mod batch;
pub mod buckets;
pub mod cli;
mod connection;
mod error;
pub mod estimate;
pub mod execution;
pub mod files;
pub mod filter;
pub mod fold;
pub mod pace;
pub mod plan;
mod progress;
pub mod run;
pub mod scan;
pub mod snapshot;
pub mod table;
mod text;
pub mod verify;
pub mod worker;

pub use connection::dynamodb;
pub use error::Error;
