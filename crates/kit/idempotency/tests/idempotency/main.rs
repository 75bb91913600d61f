//! The records on a real DynamoDB engine, with a clock the tests set.
#![allow(clippy::expect_used)] // A set-up step that fails should stop the test there.

mod batch;
mod cache;
mod claims;
mod compatibility;
mod errors;
mod expiry;
mod faults;
mod fencing;
mod http;
mod log;
mod observer;
mod one_call;
mod powertools;
mod sort_key;
mod sqs;
mod table;
mod transaction;
mod world;
