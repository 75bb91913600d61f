//! The rules of a payment intent.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

mod model;
mod transitions;
mod values;
