//! Tests with a real function process: functions and the services that invoke them, topics and buckets.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on should stop there.

mod buckets;
mod echo;
mod gateway;
mod lambda;
mod mapping;
mod processes;
mod schedule;
mod stream;
mod topics;
