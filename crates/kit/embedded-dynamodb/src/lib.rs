#![doc = include_str!("../README.md")]
// This crate is for tests: if the set-up fails, the test should stop there with the reason.
#![allow(clippy::expect_used, clippy::missing_panics_doc)]

mod engine;
mod stream;
mod wire;

pub use engine::Engine;
pub use stream::{Stream, StreamError};
pub use wire::{Disturbance, Request, Wire};
