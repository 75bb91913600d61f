#![doc = include_str!("../README.md")]

mod demo;
pub mod invoke;
pub mod stack;
pub mod template;
