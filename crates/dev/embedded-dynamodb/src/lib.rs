#![doc = include_str!("../README.md")]
// This crate serves tests: a set-up step that fails should stop the test there, with its reason.
#![allow(clippy::expect_used, clippy::missing_panics_doc)]

mod engine;
mod wire;

pub use engine::Engine;
pub use wire::{Disturbance, Request, Wire};
