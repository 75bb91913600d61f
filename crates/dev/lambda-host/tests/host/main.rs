//! Functions, the gateway and the event source mappings, with a real function process.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on should stop there.

mod echo;
mod gateway;
mod lambda;
mod mapping;
mod stream;
