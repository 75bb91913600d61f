#![doc = include_str!("../README.md")]

mod function;
mod parameters;
mod problem;
mod request;
mod response;

pub use function::{Failure, HttpFunction};
pub use lambda_boot::Clock;
pub use parameters::{Mistaken, Mistakes, Parameters, decoded, pairs};
pub use problem::{Document, Mistake, PROBLEM_JSON};
pub use request::{Jwt, Request};
pub use response::{JSON, Response};
