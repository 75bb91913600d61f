//! The store on a real engine: repository, unit of work, event rows, open charges, and the rendered transactions.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod errors;
mod events;
mod expressions;
mod locked;
mod open_charges;
mod repository;
mod settle;
mod unit_of_work;
mod world;
