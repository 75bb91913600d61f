#![doc = include_str!("../README.md")]

mod body;
pub mod buckets;
pub mod filter;
pub mod gateway;
mod http_server;
pub mod lambda;
pub mod mapping;
mod pool;
pub mod processes;
pub mod queues;
pub mod route;
pub mod schedule;
pub mod stream;
pub mod topics;

/// The region of every ARN.
pub const REGION: &str = "us-east-1";

/// The account of every ARN.
pub const ACCOUNT: &str = "000000000000";
