//! The content of facets: JSON texts that are equal if their content is.

#[cfg(feature = "dynamodb")]
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::canonical::{Canonical, sort_members, write_text};
use crate::piece::Name;

/// The attributes of a facet that have a value.
///
/// They are held as one canonical JSON text, without white space, with sorted names and whole numbers without a fraction: equal
/// content is equal text. A program that rebuilds a view holds millions of them, and mostly writes them to a file unchanged.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attributes(Box<str>);

impl Attributes {
    /// No attributes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The value of an attribute.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value> {
        self.read(name)
    }

    /// Whether no attribute has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value of an attribute as a `T`, where it is one.
    pub(crate) fn read<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_str(self.json(name)?).ok()
    }

    /// The value of an attribute, as canonical JSON.
    pub(crate) fn json(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, json)| json)
    }

    /// The attributes with their values as canonical JSON, sorted by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        members(&self.0)
    }

    /// The text: `"name":value,"other":value`.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes members of an object, which are canonical and sorted.
    pub(crate) fn from_sorted(members: &str) -> Self {
        Self(members.into())
    }

    /// Takes members of an object, each canonical, in any order.
    pub(crate) fn from_members(mut members: String) -> Self {
        sort_members(&mut members, 0);
        Self(members.into_boxed_str())
    }
}

impl<N: Into<Name>> FromIterator<(N, Value)> for Attributes {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(attributes: I) -> Self {
        // The last value of a name counts.
        let attributes: BTreeMap<Name, Value> =
            attributes.into_iter().map(|(name, value)| (name.into(), value)).collect();
        let mut text = String::new();
        for (name, value) in &attributes {
            write_name(name, &mut text);
            let start = text.len();
            if value.serialize(Canonical(&mut text)).is_err() {
                // Only a number of arbitrary precision can be one that no `f64` holds. It is kept as it is, and DynamoDB refuses it.
                text.truncate(start);
                text.push_str(&value.to_string());
            }
        }
        Self::from_members(text)
    }
}

impl<const N: usize> From<[(Name, Value); N]> for Attributes {
    fn from(attributes: [(Name, Value); N]) -> Self {
        attributes.into_iter().collect()
    }
}

impl fmt::Debug for Attributes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}}}", self.0)
    }
}

impl Serialize for Attributes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, json) in self.iter() {
            let value: Value = serde_json::from_str(json).map_err(serde::ser::Error::custom)?;
            map.serialize_entry(name, &value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Attributes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(BTreeMap::<String, Value>::deserialize(deserializer)?.into_iter().collect())
    }
}

/// Begins another member of an object: `,"name":`.
pub(crate) fn write_name(name: &str, out: &mut String) {
    if !out.is_empty() {
        out.push(',');
    }
    write_text(name, |part| out.push_str(part));
    out.push(':');
}

/// The members of an object, without the braces around them. A name that is not plain comes as it is escaped.
pub(crate) fn members(mut text: &str) -> impl Iterator<Item = (&str, &str)> + Clone {
    std::iter::from_fn(move || {
        let member = text.strip_prefix(',').unwrap_or(text);
        let (name, value) = (!member.is_empty()).then(|| member.split_at(value_length(member)))?;
        let value = value.strip_prefix(':')?;
        let (value, rest) = value.split_at(value_length(value));
        text = rest;
        Some((&name[1..name.len() - 1], value))
    })
}

/// The elements of an array, without the brackets around them.
pub(crate) fn elements(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let element = text.strip_prefix(',').unwrap_or(text);
        let (element, rest) = (!element.is_empty()).then(|| element.split_at(value_length(element)))?;
        text = rest;
        Some(element)
    })
}

/// What a canonical text is.
pub(crate) enum Json<'a> {
    Null,
    Bool(bool),
    /// Its digits.
    Number(&'a str),
    /// With its quotes and escapes.
    Text(&'a str),
    /// Without its brackets.
    Array(&'a str),
    /// Without its braces.
    Object(&'a str),
}

impl<'a> Json<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        match text.as_bytes() {
            [b'"', ..] => Self::Text(text),
            [b'[', .., b']'] => Self::Array(&text[1..text.len() - 1]),
            [b'{', .., b'}'] => Self::Object(&text[1..text.len() - 1]),
            b"null" => Self::Null,
            b"true" => Self::Bool(true),
            b"false" => Self::Bool(false),
            _ => Self::Number(text),
        }
    }
}

/// The content of a text that has its quotes and escapes.
#[cfg(feature = "dynamodb")]
pub(crate) fn unescaped(text: &str) -> Cow<'_, str> {
    let inner = &text[1..text.len() - 1];
    if inner.contains('\\') { Cow::Owned(serde_json::from_str(text).unwrap_or_default()) } else { Cow::Borrowed(inner) }
}

/// The length of the value at the start of a canonical text.
fn value_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at += text_length(&bytes[at..]) - 1,
            b'[' | b'{' => depth += 1,
            b',' | b']' | b'}' if depth == 0 => return at,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 && !matches!(byte, b'0'..=b'9' | b'a'..=b'z' | b'-' | b'+' | b'.') {
            return at;
        }
    }
    at
}

/// The length of the JSON text at the start of `bytes`, with its quotes.
fn text_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    loop {
        match bytes.get(at) {
            Some(b'"') => return at + 1,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}
