//! The projector on a real engine: its requests, its responses, and that no event is lost.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

mod any_crash;
mod concurrent_duplicates;
mod configuration;
mod requests;
mod responses;
mod world;
