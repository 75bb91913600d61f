#![doc = include_str!("../README.md")]

pub mod attribute;
mod error;
mod history;
mod item;
mod render;
mod store;
pub mod table;

pub use error::{Corrupt, Error, Source};
pub use history::{Filter, HistoryQuery, Page, Position};
pub use render::{Update, render};
pub use store::{Applied, OrderStore};
