//! Facets: small groups of attributes, each always written whole by one event.

use std::cell::Cell;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

use crate::canonical::{Canonical, is_set, write_set};
use crate::content::{Attributes, Json, members, write_name};
use crate::piece::{Name, Piece, Stamp};

/// A group of attributes that one event writes whole.
///
/// A facet of one attribute serialises as its value, a facet of several as a map of them.
pub trait Facet: Serialize + DeserializeOwned {
    /// The attribute that holds the id of the event that wrote this facet. Every item carries it: keep it short.
    const WATERMARK: &'static str;
    /// Every attribute of the facet. No other facet has any of them.
    const ATTRIBUTES: &'static [&'static str];
    /// Those of the attributes that are sets of texts, and are stored as DynamoDB's string sets; an empty one is not stored.
    const TEXT_SETS: &'static [&'static str] = &[];
}

/// A piece cannot be written, or does not match the declaration of its facet or of the view: a mistake in the program.
#[derive(Debug, thiserror::Error)]
#[error("the value of `{attribute}` {fault}")]
pub struct Unwritable {
    pub(crate) attribute: String,
    pub(crate) fault: Fault,
    pub(crate) source: Option<serde_json::Error>,
}

/// What is wrong with a value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("cannot be written as JSON")]
    NotJson,
    #[error("does not match the declaration of its facet or of the view")]
    Undeclared,
    #[cfg(feature = "dynamodb")]
    #[error("is not a list of texts with at least one text, although the view declares it as a text set")]
    NoTextSet,
    #[cfg(feature = "dynamodb")]
    #[error("is in the effect more than once: an effect has at most one piece for each facet and each mark")]
    Twice,
}

/// An attribute that this version of the program cannot read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("attribute `{attribute}` of the item is missing, or this version of the program cannot read it")]
pub struct Unreadable {
    /// The name of the attribute. If a facet is unreadable for a reason that no single attribute explains, it is the facet's watermark.
    pub attribute: String,
}

impl Piece {
    /// The piece with which the event `by` writes a facet.
    pub fn facet<F: Facet>(facet: &F, by: &Stamp) -> Result<Self, Unwritable> {
        let unwritable = |fault, source| Unwritable { attribute: F::WATERMARK.to_owned(), fault, source };
        // One buffer for all facets of this thread: a facet fills a small part of it, and then copies what it needs.
        let mut text = BUFFER.take();
        text.clear();
        if let [only] = F::ATTRIBUTES {
            write_name(only, &mut text);
        }
        let value = text.len();
        let written = facet.serialize(Canonical(&mut text));
        written.map_err(|error| unwritable(Fault::NotJson, Some(error)))?;
        let attributes = match (F::ATTRIBUTES, Json::of(&text[value..])) {
            ([only], _) => declared::<F>(&text, [(*only, &text[value..])].into_iter()),
            (_, Json::Object(content)) => declared::<F>(content, members(content)),
            _ => None,
        };
        BUFFER.set(text);
        let attributes = attributes.ok_or_else(|| unwritable(Fault::Undeclared, None))?;
        Ok(Self::Facet { watermark: Name::Borrowed(F::WATERMARK), by: by.clone(), attributes })
    }
}

thread_local! {
    static BUFFER: Cell<String> = const { Cell::new(String::new()) };
}

/// The attributes of a facet as they are stored; `None` if they do not match the declaration of the facet.
fn declared<'a, F: Facet>(
    content: &str,
    attributes: impl Iterator<Item = (&'a str, &'a str)> + Clone,
) -> Option<Attributes> {
    let mut is_plain = true;
    for (name, value) in attributes.clone() {
        let is_text_set = F::TEXT_SETS.contains(&name);
        match Json::of(value) {
            _ if !F::ATTRIBUTES.contains(&name) => return None,
            Json::Null => is_plain = false,
            // A list may have another order than its set, and DynamoDB has no empty sets.
            Json::Array(list) if is_text_set => is_plain &= !list.is_empty() && is_set(list)?,
            _ if is_text_set => return None,
            _ => {}
        }
    }
    if is_plain {
        return Some(Attributes::from_sorted(content));
    }
    let mut stored = String::with_capacity(content.len());
    for (name, value) in attributes {
        match Json::of(value) {
            Json::Null => {}
            Json::Array("") if F::TEXT_SETS.contains(&name) => {}
            Json::Array(texts) if F::TEXT_SETS.contains(&name) => {
                write_name(name, &mut stored);
                write_set(texts, &mut stored);
            }
            _ => {
                write_name(name, &mut stored);
                stored.push_str(value);
            }
        }
    }
    Some(Attributes::from_sorted(&stored))
}

/// Reads a facet from its attributes.
pub(crate) fn read<F: Facet>(attributes: &Attributes) -> Result<F, Unreadable> {
    let unreadable = |attribute: &str| Unreadable { attribute: attribute.to_owned() };
    let missing = |name: &str| if F::TEXT_SETS.contains(&name) { "[]" } else { "null" };
    if let [only] = F::ATTRIBUTES {
        let json = attributes.json(only).unwrap_or(missing(only));
        return serde_json::from_str(json).map_err(|_| unreadable(only));
    }
    let mut object = String::with_capacity(attributes.as_str().len() + 2);
    object.push_str(attributes.as_str());
    for set in F::TEXT_SETS.iter().filter(|set| attributes.json(set).is_none()) {
        write_name(set, &mut object);
        object.push_str("[]");
    }
    object.insert(0, '{');
    object.push('}');
    // Where it cannot be read, it is read again to find out which attribute is at fault.
    serde_json::from_str(&object).or_else(|_| {
        let json = &mut serde_json::Deserializer::from_str(&object);
        serde_path_to_error::deserialize(json).map_err(|error| match error.path().iter().next() {
            Some(Segment::Map { key }) => unreadable(key),
            _ => unreadable(F::WATERMARK),
        })
    })
}
