//! What is known under one key, and how effects and states come together.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::content::Attributes;
use crate::facet::{self, Facet, Unreadable};
use crate::piece::{Effect, Name, Piece, Stamp};
use crate::small_map::{Entry, SmallMap};
use crate::view::{Shape, View};

/// What is known under one key.
///
/// Applying effects and merging states is commutative, associative and idempotent. A state can be serialised, as a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct State {
    pub(crate) marks: SmallMap<Name, Stamp>,
    pub(crate) facets: SmallMap<Name, Written>,
    pub(crate) sets: SmallMap<Name, Elements>,
}

/// The elements of a set, in order.
pub(crate) type Elements = SmallMap<Box<str>, ()>;

/// What an event wrote into a facet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    pub(crate) by: Stamp,
    pub(crate) attributes: Attributes,
}

/// An item as it was read: the part that this version of the program can read, and the names of the attributes that it cannot read.
/// It is exhaustive: the caller must decide about both.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The readable part of the item.
    pub state: State,
    /// The attributes that are left out of the state.
    pub unreadable: Vec<Unreadable>,
}

impl Found {
    /// The state without the facets of which an attribute cannot be read. What is left of such a facet is not what its event wrote: merged
    /// with another copy of the same event, it must not win.
    #[must_use]
    pub fn whole(mut self, view: &View) -> State {
        for Unreadable { attribute } in &self.unreadable {
            let has = |shape: &&Shape| {
                shape.watermark == attribute.as_str() || shape.attributes.contains(&attribute.as_str())
            };
            if let Some(shape) = view.facets.iter().find(has) {
                self.state.facets.remove(shape.watermark);
            }
        }
        self.state
    }
}

/// Two events with one id wrote different content into a facet. The state keeps the same one of them in any order, but which
/// one is arbitrary: a publisher broke the promise that an id stands for one event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contradiction {
    /// The facet's watermark.
    pub watermark: Name,
    /// The id of both events.
    pub by: Stamp,
}

/// The states that effects add up to. Any order and any duplicates give the same states.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Folded {
    /// The state of each key.
    pub states: BTreeMap<String, State>,
    /// The contradictions that were found, with their keys.
    pub contradictions: Vec<(String, Contradiction)>,
}

impl Folded {
    /// Applies an effect to the state of its key.
    pub fn add(&mut self, Effect { key, pieces }: Effect) {
        let contradictions = match self.states.get_mut(&key) {
            Some(state) => state.apply(pieces),
            None => self.states.entry(key.clone()).or_default().apply(pieces),
        };
        self.contradictions.extend(contradictions.into_iter().map(|contradiction| (key.clone(), contradiction)));
    }
}

impl State {
    /// Applies the pieces that are news, and ignores the others.
    pub fn apply(&mut self, pieces: impl IntoIterator<Item = Piece>) -> Vec<Contradiction> {
        let mut contradictions = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Mark { attribute, by } => match self.marks.entry(&attribute) {
                    Entry::There(stored) if *stored < by => *stored = by,
                    Entry::There(_) => {}
                    Entry::Missing(place) => self.marks.insert_at(place, attribute, by),
                },
                Piece::Facet { watermark, by, attributes } => match self.facets.entry(&watermark) {
                    Entry::There(stored) if stored.by < by => *stored = Written { by, attributes },
                    Entry::There(stored) if stored.by == by && stored.attributes != attributes => {
                        // Which of them is kept may be arbitrary, but must be the same everywhere.
                        if attributes > stored.attributes {
                            stored.attributes = attributes;
                        }
                        contradictions.push(Contradiction { watermark, by });
                    }
                    Entry::There(_) => {}
                    Entry::Missing(place) => self.facets.insert_at(place, watermark, Written { by, attributes }),
                },
                Piece::Element { set, element } => {
                    self.sets.get_or_insert_with(set, Elements::new).insert(element.into_boxed_str(), ());
                }
            }
        }
        contradictions
    }

    /// Applies all pieces of another state of the same key.
    pub fn merge(&mut self, other: Self) -> Vec<Contradiction> {
        self.apply(other.into_pieces())
    }

    /// Whether `piece` adds something to this state.
    #[must_use]
    pub fn is_news(&self, piece: &Piece) -> bool {
        match piece {
            Piece::Mark { attribute, by } | Piece::Facet { watermark: attribute, by, .. } => {
                self.stamp(attribute).is_none_or(|stored| stored < by)
            }
            Piece::Element { set, element } => {
                self.sets.get(set).is_none_or(|known| !known.contains_key(element.as_str()))
            }
        }
    }

    /// A facet, as this version reads it.
    pub fn facet<F: Facet>(&self) -> Result<Option<F>, Unreadable> {
        self.facets.get(F::WATERMARK).map(|written| facet::read(&written.attributes)).transpose()
    }

    /// One attribute of a facet, where it can be read, whatever the rest of the facet is like.
    #[must_use]
    pub fn attribute<T: DeserializeOwned>(&self, watermark: &str, name: &str) -> Option<T> {
        self.facets.get(watermark)?.attributes.read(name)
    }

    /// The event under a watermark or mark.
    #[must_use]
    pub fn stamp(&self, attribute: &str) -> Option<&Stamp> {
        self.marks.get(attribute).or_else(|| self.facets.get(attribute).map(|written| &written.by))
    }

    /// The elements of a set, in order.
    pub fn set(&self, set: &str) -> impl Iterator<Item = &str> {
        self.sets.get(set).into_iter().flat_map(SmallMap::keys).map(|element| &**element)
    }

    /// The marks, with the highest event seen from each source.
    pub fn marks(&self) -> impl Iterator<Item = (&str, &Stamp)> {
        self.marks.iter().map(|(name, by)| (&**name, by))
    }

    /// The state as the pieces that make it up, the facets first.
    pub fn into_pieces(self) -> impl Iterator<Item = Piece> {
        let marks = self.marks.into_iter().map(|(attribute, by)| Piece::Mark { attribute, by });
        let facet = |(watermark, Written { by, attributes })| Piece::Facet { watermark, by, attributes };
        let facets = self.facets.into_iter().map(facet);
        let elements = self.sets.into_iter().flat_map(|(set, elements)| {
            elements.into_iter().map(move |(element, ())| Piece::Element { set: set.clone(), element: element.into() })
        });
        facets.chain(marks).chain(elements)
    }

    /// An estimate of the bytes of memory that this state takes, itself included. It is made for a memory budget, so it is more often too high
    /// than too low.
    #[must_use]
    pub fn size(&self) -> usize {
        let marks = self.marks.iter().map(|(name, by)| text_size(name.len()) + stamp_size(by));
        let facets = self
            .facets
            .values()
            .map(|Written { by, attributes }| stamp_size(by) + text_size(attributes.as_str().len()));
        let sets = self.sets.values().map(|elements| {
            elements.block_size() + elements.keys().map(|element| text_size(element.len())).sum::<usize>()
        });
        let blocks = [self.marks.block_size(), self.facets.block_size(), self.sets.block_size()];
        size_of::<Self>() + blocks.into_iter().sum::<usize>() + marks.chain(facets).chain(sets).sum::<usize>()
    }

    /// Whether the state has no pieces.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.facets.is_empty() && self.sets.is_empty()
    }
}

/// The memory of a text: an allocator rounds up.
fn text_size(length: usize) -> usize {
    length.next_multiple_of(16)
}

/// The pieces of an event share its id in memory, but it is counted for each of them: the estimate is rather too high.
fn stamp_size(by: &Stamp) -> usize {
    text_size(by.len() + 16)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_size_is_that_of_all_parts() {
        let by = Stamp::from("0000019ca9450a07-0242ac1200080001");
        let attributes = Attributes::from([("name".into(), json!("n"))]);
        let mut state = State::default();
        assert_eq!(state.size(), size_of::<State>());
        state.apply([
            Piece::Mark { attribute: Name::from("Order4711"), by: by.clone() },
            Piece::Facet { watermark: Name::from("wa"), by: by.clone(), attributes: attributes.clone() },
            Piece::Element { set: Name::from("steps"), element: "a step of 18 bytes".to_owned() },
            Piece::Element { set: Name::from("steps"), element: "short".to_owned() },
        ]);
        assert_eq!((by.len(), attributes.as_str()), (33, r#""name":"n""#));
        let steps = state.sets.values().next().map_or(0, SmallMap::block_size);
        let blocks = state.marks.block_size() + state.facets.block_size() + state.sets.block_size() + steps;
        // Each text is rounded up to 16 bytes. An id has 16 bytes more than its text.
        let (mark, facet, elements) = (16 + 64, 64 + 16, 32 + 16);
        assert_eq!(state.size(), size_of::<State>() + blocks + mark + facet + elements);
    }
}
