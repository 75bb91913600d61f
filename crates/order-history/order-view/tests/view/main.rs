//! The rules of the view, without I/O.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod keywords;
mod laws;
mod rules;
mod version;
