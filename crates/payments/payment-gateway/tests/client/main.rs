//! The HTTP client, with scripted responses and with the stand-in gateway.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

mod responses;
mod retries;
mod secret;
mod stand_in;
mod wire;
