//! Rebuilds of real files into a real engine.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.
#![allow(dead_code)]

mod buckets;
mod import_files;
mod snapshots;
mod verify;
mod world;
