//! Facets: small groups of attributes, each always written whole by one event.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde::de::value::MapDeserializer;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use crate::piece::{Attributes, Name, Piece, Stamp};

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

/// A piece that is not as its type or the view declares it: a mistake in the program.
#[derive(Debug, thiserror::Error)]
#[error("what is written under `{attribute}` is not as its facet or the view declares it")]
pub struct Unwritable {
    pub(crate) attribute: String,
    pub(crate) source: Option<serde_json::Error>,
}

/// An attribute that this version of the program cannot read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[error("attribute `{attribute}` of the item is missing or not what this version writes")]
pub struct Unreadable {
    /// Its name: of a facet the attribute at fault, or the watermark if that cannot be told.
    pub attribute: String,
}

impl Piece {
    /// The piece with which the event `by` writes a facet.
    pub fn facet<F: Facet>(facet: &F, by: &Stamp) -> Result<Self, Unwritable> {
        let unwritable = |source| Unwritable { attribute: F::WATERMARK.to_owned(), source };
        let value = serde_json::to_value(facet).map_err(|error| unwritable(Some(error)))?;
        let mut members = match (F::ATTRIBUTES, value) {
            ([only], value) => Map::from_iter([((*only).to_owned(), value)]),
            (_, Value::Object(members)) => members,
            _ => return Err(unwritable(None)),
        };
        let mut attributes = Attributes::new();
        for &name in F::ATTRIBUTES {
            let mut value = members.remove(name).unwrap_or_default();
            unify_numbers(&mut value);
            if F::TEXT_SETS.contains(&name) && !value.is_null() {
                value = unified_set(value).ok_or_else(|| unwritable(None))?;
            }
            if !value.is_null() {
                attributes.insert(Name::Borrowed(name), value);
            }
        }
        if !members.is_empty() {
            return Err(unwritable(None));
        }
        Ok(Self::Facet { watermark: Name::Borrowed(F::WATERMARK), by: by.clone(), attributes })
    }
}

static EMPTY: Value = Value::Array(Vec::new());

/// Reads a facet from its attributes.
pub(crate) fn read<F: Facet>(attributes: &Attributes) -> Result<F, Unreadable> {
    let unreadable = |attribute: &str| Unreadable { attribute: attribute.to_owned() };
    let missing = |name: &str| if F::TEXT_SETS.contains(&name) { &EMPTY } else { &Value::Null };
    if let [only] = F::ATTRIBUTES {
        let value = attributes.get(*only).unwrap_or(missing(only));
        return F::deserialize(value).map_err(|_| unreadable(only));
    }
    let empty = F::TEXT_SETS.iter().filter(|name| !attributes.contains_key(**name)).map(|name| (*name, &EMPTY));
    let members = attributes.iter().map(|(name, value)| (&**name, value)).chain(empty);
    let read = serde_path_to_error::deserialize(MapDeserializer::<_, serde_json::Error>::new(members));
    read.map_err(|error| match error.path().iter().next() {
        Some(Segment::Map { key }) => unreadable(key),
        _ => unreadable(F::WATERMARK),
    })
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

/// DynamoDB returns 38.0 as 38: a whole number is always held as an integer, so that equal facets compare equal.
fn unify_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            // A whole float is exactly this integer, where it fits.
            let whole = number.as_f64().filter(|float| float.fract() == 0.0);
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            match whole {
                Some(whole) if (-TWO_TO_63..TWO_TO_63).contains(&whole) => *value = Value::from(whole as i64),
                Some(whole) if (TWO_TO_63..2.0 * TWO_TO_63).contains(&whole) => *value = Value::from(whole as u64),
                _ => {}
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(unify_numbers),
        Value::Object(members) => members.values_mut().for_each(unify_numbers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A set of texts has no order, and an empty one is not stored: DynamoDB has none.
fn unified_set(value: Value) -> Option<Value> {
    let set = BTreeSet::<String>::deserialize(value).ok()?;
    Some(if set.is_empty() { Value::Null } else { set.into_iter().collect() })
}
