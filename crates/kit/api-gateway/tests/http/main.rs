//! The crate as an API uses it. There is no I/O: a request is a value, and so is its response.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod function;
mod parameters;
mod problem;
mod request;
mod response;

use api_gateway::Request;
use serde_json::Value;

#[track_caller]
fn request(event: Value) -> Request {
    serde_json::from_value(event).unwrap()
}
