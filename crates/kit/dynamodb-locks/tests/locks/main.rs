//! The locks on a real DynamoDB engine, with clocks the tests set.
#![allow(clippy::expect_used)] // A set-up step that fails should stop the test there.

mod deadline;
mod exclusive;
mod expiry;
mod faults;
mod hold;
mod in_place;
mod marks;
mod observation;
mod observer;
mod random;
mod sets;
mod shared;
mod storm;
mod table;
mod versioned;
mod world;
