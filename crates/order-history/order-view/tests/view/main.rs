//! The rules of the view, without I/O.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

mod keywords;
mod laws;
mod rules;
mod version;
