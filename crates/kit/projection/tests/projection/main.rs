//! The laws in memory, and the same in a table.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod canonical;
mod facets;
mod laws;
mod lines;
mod merge;
mod pieces;
mod table;
mod views;
