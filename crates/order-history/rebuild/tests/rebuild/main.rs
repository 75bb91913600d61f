//! Rebuilds on the embedded engine: what they store, what they report, and what a crash leaves.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod any_archive;
mod commands;
mod crashes;
mod world;
