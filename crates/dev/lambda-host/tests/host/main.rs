//! Tests with a real function process: functions and the services that invoke them, topics and buckets.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A failed unwrap fails the test.

mod buckets;
mod echo;
mod gateway;
mod lambda;
mod mapping;
mod processes;
mod schedule;
mod stream;
mod topics;
