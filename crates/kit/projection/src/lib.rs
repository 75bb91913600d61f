#![doc = include_str!("../README.md")]

#[cfg(feature = "dynamodb")]
pub mod dynamodb;
mod facet;
mod line;
mod piece;
mod small_map;
mod state;
mod view;

pub use facet::{Facet, Unreadable, Unwritable};
pub use line::{BadLine, read_line, write_line};
pub use piece::{Attributes, Effect, Name, Piece, Stamp};
pub use small_map::SmallMap;
pub use state::{Contradiction, Folded, Found, State};
pub use view::{Shape, View};
