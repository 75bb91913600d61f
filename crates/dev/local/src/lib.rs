#![doc = include_str!("../README.md")]

mod config;
mod console;
mod data_dir;
mod demo;
pub mod invoke;
mod payments;
mod setup;
pub mod stack;
pub mod template;
