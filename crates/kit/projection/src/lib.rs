#![doc = include_str!("../README.md")]

mod canonical;
mod content;
#[cfg(feature = "dynamodb")]
pub mod dynamodb;
mod facet;
mod line;
mod piece;
mod small_map;
mod state;
mod view;

pub use content::Attributes;
pub use facet::{Facet, Unreadable, Unwritable};
pub use line::{BadLine, read_line, write_line};
pub use piece::{Effect, Name, Piece, Stamp};
pub use state::{Contradiction, Folded, Found, State};
pub use view::{Shape, View};
