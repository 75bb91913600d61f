//! The store on a real engine: repository, unit of work, event rows, open charges, and the rendered transactions.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

mod errors;
mod events;
mod expressions;
mod locked;
mod open_charges;
mod repository;
mod settle;
mod unit_of_work;
mod world;
