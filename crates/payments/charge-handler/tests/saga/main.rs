//! Charges in process: the handler and the reconciler on the embedded engine, with the stand-in gateway or one that answers as a test
//! says.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod answers;
mod batches;
mod chaos;
mod configuration;
mod crash_matrix;
mod gateway_faults;
mod old_charges;
mod reconciliation;
mod scripted;
mod world;
mod zombies;
