// The README's code needs the feature.
#![cfg_attr(feature = "dynamodb", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "dynamodb"),
    doc = "Views that converge. The README explains the crate; its table needs the feature `dynamodb`."
)]

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
