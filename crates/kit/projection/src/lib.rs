#![doc = include_str!("../README.md")]

#[cfg(feature = "dynamodb")]
pub mod dynamodb;
mod facet;
mod piece;
mod state;
mod view;

pub use facet::{Facet, Unreadable, Unwritable};
pub use piece::{Attributes, Effect, Name, Piece, Stamp};
pub use state::{Contradiction, Folded, Found, State};
pub use view::{Shape, View};
