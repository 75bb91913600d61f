#![doc = include_str!("../README.md")]

pub mod gateway;
pub mod lambda;
