//! What comes over the wire, and what is refused.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod envelope;
mod event_id;
mod rejections;
mod samples;
mod values;
