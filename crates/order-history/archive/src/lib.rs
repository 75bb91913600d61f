#![doc = include_str!("../README.md")]

mod error;
mod location;
mod read;
mod store;

pub use error::Error;
pub use location::Location;
pub use read::{Damaged, MAX_PART, Record, read};
pub use store::{Object, Store, Version, client};
