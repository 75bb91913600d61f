#![doc = include_str!("../README.md")]

mod archiver;
mod config;
mod error;
mod file;
mod location;
mod read;
mod store;

pub use archiver::{Archiver, NotArchived};
pub use config::Config;
pub use error::Error;
pub use location::Location;
pub use read::{Damaged, MAX_PART, Record, read};
pub use store::{Object, Store, Version, client};
