#![doc = include_str!("../README.md")]

mod effect;
mod facet;
mod keywords;
mod set;
mod summary;
mod view;

pub use effect::{Aggregate, Effect, Piece};
pub use facet::{Address, Details, Facet, FacetKind, Location, Payment, Promise, Schedule};
pub use keywords::keywords;
pub use set::{NotAnElement, Revision, TimelineEntry};
pub use summary::OrderSummary;
pub use view::{OrderView, Stamped, fold};
