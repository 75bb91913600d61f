#![doc = include_str!("../README.md")]

mod data_dir;
mod demo;
pub mod invoke;
pub mod stack;
pub mod template;
