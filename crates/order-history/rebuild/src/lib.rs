#![doc = include_str!("../README.md")]

pub mod batch;
pub mod buckets;
mod error;
pub mod files;
pub mod filter;
pub mod fold;
mod item_size;
pub mod pace;
pub mod plan;
pub mod run;
pub mod scan;
pub mod snapshot;
pub mod table;
pub mod verify;
pub mod worker;

pub use error::Error;
