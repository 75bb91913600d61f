#![doc = include_str!("../README.md")]

mod demo;
pub mod gateway;
pub mod invoke;
pub mod lambda;
pub mod mapping;
mod pool;
pub mod queues;
pub mod route;
pub mod stack;
pub mod template;
