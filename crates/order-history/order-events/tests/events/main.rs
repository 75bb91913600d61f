//! Valid and invalid messages.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

mod envelope;
mod event_id;
mod rejections;
mod samples;
mod values;
