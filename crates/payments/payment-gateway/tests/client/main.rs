//! The HTTP client, with scripted answers and with the stand-in gateway.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

mod answers;
mod retries;
mod secret;
mod stand_in;
mod wire;
