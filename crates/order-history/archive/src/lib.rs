#![doc = include_str!("../README.md")]

mod location;
mod read;
mod store;

pub use location::Location;
pub use read::{Damaged, Record, read};
pub use store::{Error, Object, Store, Version};
