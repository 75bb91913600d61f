#![doc = include_str!("../README.md")]
// This crate serves tests: a set-up step that fails should stop the test there, with its reason.
#![allow(clippy::expect_used, clippy::missing_panics_doc)]

mod engine;
mod stream;
mod wire;

pub use engine::Engine;
pub use stream::{Stream, StreamError};
pub use wire::{Disturbance, Request, Wire};
