//! What an event does to a view, as data.

use std::borrow::Cow;
use std::sync::Arc;

use crate::content::Attributes;

/// The name of an attribute of an item.
pub type Name = Cow<'static, str>;

/// All that one event, or one partial view, changes under one key. It is exhaustive, because you construct it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The item's key.
    pub key: String,
    /// The parts of the effect, at most one for each facet and mark. Each is applied, or skipped as old, independently.
    pub pieces: Vec<Piece>,
}

/// A part of an effect that is applied as a whole or not at all.
///
/// It is exhaustive: code that reads the pieces of an effect must decide about each kind of piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Raises a mark: the highest event seen from one source of events.
    Mark {
        /// The attribute that holds the mark.
        attribute: Name,
        /// The id of the event.
        by: Stamp,
    },
    /// Replaces a facet. [`Piece::facet`] creates it from a value.
    Facet {
        /// The attribute that holds the facet's watermark.
        watermark: Name,
        /// The id of the event that writes the facet.
        by: Stamp,
        /// The new content.
        attributes: Attributes,
    },
    /// Adds to a grow-only set of texts.
    Element {
        /// The attribute that holds the set.
        set: Name,
        /// The new element.
        element: String,
    },
}

/// The id of an event as the text that is stored and compared.
///
/// Texts compare byte by byte, in memory as in DynamoDB, so the ids must sort as texts in the order in which the events
/// happened, and have one length: UUIDv7, ULID, or numbers of a fixed width. An id stands for one event only.
pub type Stamp = Arc<str>;

#[cfg(feature = "dynamodb")]
impl Piece {
    /// The attribute that decides whether this piece is news, and the event's id, which an element does not need.
    pub(crate) fn decided_by(&self) -> (&str, Option<&Stamp>) {
        match self {
            Self::Mark { attribute, by } => (attribute, Some(by)),
            Self::Facet { watermark, by, .. } => (watermark, Some(by)),
            Self::Element { set, .. } => (set, None),
        }
    }
}
