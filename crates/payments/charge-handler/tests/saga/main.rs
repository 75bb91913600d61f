//! The handler and the reconciler in this process, on the embedded engine, with the stand-in gateway or a scripted one.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

mod batches;
mod chaos;
mod configuration;
mod crash_matrix;
mod gateway_faults;
mod old_charges;
mod reconciliation;
mod responses;
mod scripted;
mod world;
mod zombies;
