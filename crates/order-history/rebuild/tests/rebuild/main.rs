//! Rebuilds on the embedded engine: what they store, what they report, and what a crash leaves.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod any_archive;
mod buckets;
mod commands;
mod cost;
mod crashes;
mod filters;
mod import_files;
mod kills;
mod memory;
mod snapshots;
mod verify;
mod view_commands;
mod worker;
mod world;
