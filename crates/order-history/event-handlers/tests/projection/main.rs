//! The projector on a real engine: what it costs, what it answers, and that nothing is lost.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod answers;
mod any_crash;
mod concurrent_duplicates;
mod configuration;
mod requests;
mod world;
