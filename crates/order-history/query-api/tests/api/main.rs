//! The API on a real engine: every row of the contract.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

mod authorization;
mod caching;
mod consistency;
mod deadline;
mod document;
mod filters;
mod fuzz;
mod large;
mod newer_version;
mod order;
mod paging;
mod parameters;
mod requests;
mod routes;
mod web_page;
mod world;
