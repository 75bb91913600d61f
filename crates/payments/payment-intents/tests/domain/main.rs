//! The rules of a payment intent.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod model;
mod transitions;
mod values;
