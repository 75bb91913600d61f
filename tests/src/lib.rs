#![doc = include_str!("../README.md")]
// This crate contains only tests: a panic is the right reaction to an error.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]

pub mod archive;
pub mod aws;
pub mod deployed;
pub mod local;
pub mod order;
pub mod payment_storm;
pub mod payments;
pub mod scenario;
pub mod storm;
pub mod system;
