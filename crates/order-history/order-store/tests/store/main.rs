//! The store on a real engine.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod any_order;
mod errors;
mod expressions;
mod lines;
mod page;
mod requests;
mod table;
