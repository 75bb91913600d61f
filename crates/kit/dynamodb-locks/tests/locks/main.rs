//! The locks on a real DynamoDB engine, with clocks the tests set.
#![allow(clippy::expect_used)] // A set-up step that fails should stop the test there.

mod exclusive;
mod world;
