//! The projector on a real engine: what it costs, what it answers, and that nothing is lost.

mod answers;
mod any_crash;
mod concurrent_duplicates;
mod configuration;
mod requests;
mod world;
