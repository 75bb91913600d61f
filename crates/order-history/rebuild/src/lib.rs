#![doc = include_str!("../README.md")]

pub mod batch;
mod error;
pub mod filter;
pub mod fold;
pub mod pace;
pub mod plan;
pub mod run;
pub mod table;
pub mod worker;

pub use error::Error;
