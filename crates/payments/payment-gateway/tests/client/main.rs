//! The HTTP client: over a wire that answers as a test says, and with the stand-in gateway.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod answers;
mod retries;
mod secret;
mod stand_in;
mod wire;
