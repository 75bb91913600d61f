//! The store on a real engine.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

mod any_order;
mod errors;
mod expressions;
mod lines;
mod page;
mod requests;
mod table;
