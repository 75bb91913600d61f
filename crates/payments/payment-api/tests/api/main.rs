//! The API on a real engine: every row of the contract, in both modes.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

mod authorization;
mod crashes;
mod document;
mod fuzz;
mod gate;
mod idempotency;
mod interleavings;
mod locked;
mod model;
mod race;
mod requests;
mod routes;
mod use_cases;
mod world;
