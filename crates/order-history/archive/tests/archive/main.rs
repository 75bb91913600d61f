//! Objects in a folder and in a bucket, the records of files, and batches of messages that become files.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A failed unwrap fails the test.

mod archiver;
mod configuration;
mod errors;
mod reading;
mod store;
mod world;
