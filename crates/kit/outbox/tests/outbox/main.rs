//! The outbox on a real DynamoDB engine with its stream, with a clock the tests set.
#![allow(clippy::expect_used)] // A set-up step that fails should stop the test there.

mod crashes;
mod event_ids;
mod poison;
mod relay;
mod rows;
mod sns;
mod sweeper;
mod topic;
mod world;
