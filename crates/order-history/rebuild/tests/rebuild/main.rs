//! Rebuilds on the embedded engine: results, reports and crashes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod any_archive;
mod buckets;
mod commands;
mod cost;
mod crashes;
mod filters;
mod import_files;
mod kills;
#[cfg(target_os = "linux")] // It reads /proc.
mod memory;
mod snapshots;
mod verify;
mod view_commands;
mod worker;
mod world;
