#![doc = include_str!("../README.md")]

mod demo;
pub mod gateway;
pub mod lambda;
pub mod mapping;
pub mod queues;
pub mod stack;
