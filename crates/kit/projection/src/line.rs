//! Items as lines of DynamoDB JSON: the format of table exports and imports.

use std::borrow::Cow;
use std::fmt;
use std::io::Write;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};
use serde_json::{Map, Number, Value};

use crate::facet::Unreadable;
use crate::piece::{Attributes, Name, Stamp};
use crate::state::{Found, State, Written};
use crate::view::{Shape, View};

/// Appends the item of `state` as one line, `{"Item":{…}}` and a line feed. What the view does not declare is left out.
pub fn write_line(view: &View, key: &str, state: &State, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"Item\":{");
    write_text(view.key, out);
    out.push(b':');
    write_typed_text(key, out);
    for Shape { watermark, attributes, text_sets } in view.facets {
        let Some(written) = state.facets.get(*watermark) else { continue };
        // No event wrote a facet that was read without its watermark.
        if !written.by.is_empty() {
            write_name(watermark, out);
            write_typed_text(&written.by, out);
        }
        for name in *attributes {
            if let Some(value) = written.attributes.get(*name) {
                write_name(name, out);
                write_value(value, text_sets.contains(name), out);
            }
        }
    }
    for name in view.sets {
        let elements = state.set(name);
        write_set(name, elements, out);
    }
    for (name, by) in state.marks() {
        write_name(name, out);
        write_typed_text(by, out);
    }
    out.extend_from_slice(b"}}\n");
}

fn write_name(name: &str, out: &mut Vec<u8>) {
    out.push(b',');
    write_text(name, out);
    out.push(b':');
}

fn write_typed_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"S\":");
    write_text(text, out);
    out.push(b'}');
}

/// DynamoDB has no empty sets.
fn write_set<'a>(name: &str, elements: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) {
    let mut elements = elements.peekable();
    if elements.peek().is_some() {
        write_name(name, out);
        write_texts(elements, out);
    }
}

fn write_texts<'a>(texts: impl Iterator<Item = &'a str>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"SS\":");
    write_list(texts, out, |text, out| write_text(text, out));
    out.push(b'}');
}

fn write_value(value: &Value, is_text_set: bool, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"{\"NULL\":true}"),
        Value::Bool(true) => out.extend_from_slice(b"{\"BOOL\":true}"),
        Value::Bool(false) => out.extend_from_slice(b"{\"BOOL\":false}"),
        Value::Number(number) => {
            // Writing to memory does not fail.
            let _ = write!(out, "{{\"N\":\"{number}\"}}");
        }
        Value::String(text) => write_typed_text(text, out),
        Value::Array(elements) if is_text_set => write_texts(elements.iter().filter_map(Value::as_str), out),
        Value::Array(elements) => {
            out.extend_from_slice(b"{\"L\":");
            write_list(elements, out, |element, out| write_value(element, false, out));
            out.push(b'}');
        }
        Value::Object(members) => {
            out.extend_from_slice(b"{\"M\":{");
            for (place, (name, value)) in members.iter().enumerate() {
                if place > 0 {
                    out.push(b',');
                }
                write_text(name, out);
                out.push(b':');
                write_value(value, false, out);
            }
            out.extend_from_slice(b"}}");
        }
    }
}

fn write_list<T>(elements: impl IntoIterator<Item = T>, out: &mut Vec<u8>, write: impl Fn(T, &mut Vec<u8>)) {
    out.push(b'[');
    for (place, element) in elements.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        write(element, out);
    }
    out.push(b']');
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (place, &byte) in bytes.iter().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[plain..place]);
        plain = place + 1;
        if byte < b' ' {
            let _ = write!(out, "\\u{byte:04x}");
        } else {
            out.extend_from_slice(&[b'\\', byte]);
        }
    }
    out.extend_from_slice(&bytes[plain..]);
    out.push(b'"');
}

/// A line that is no item of the view. Its text says where the fault is, and repeats nothing of the line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadLine {
    /// It is no JSON, or is cut off.
    #[error("not valid JSON at column {column}")]
    NotJson {
        /// The first byte is in column 1.
        column: usize,
    },
    /// It is JSON, but an item is not written so.
    #[error("not DynamoDB JSON at column {column}: expected {{\"Item\":{{\"name\":{{\"S\":\"text\"}}, …}}}}")]
    NotAnItem {
        /// The first byte is in column 1.
        column: usize,
    },
    /// The item does not have the view's key, or it is no text.
    #[error("the item has no text `{key}`, which is its key")]
    NoKey {
        /// The key's name.
        key: &'static str,
    },
}

/// Reads a line that [`write_line`] or a table export wrote: the item is the member `Item` or, in an incremental export,
/// `NewImage`. Other members of the line are ignored.
///
/// Returns the key, and what `dynamodb::read_item` returns for the same item: attributes that the view does not name are ignored,
/// and what cannot be read is left out and reported.
pub fn read_line(view: &View, line: &[u8]) -> Result<(String, Found), BadLine> {
    let mut json = serde_json::Deserializer::from_slice(line);
    let read = Line(view).deserialize(&mut json).and_then(|item| json.end().map(|()| item));
    let item = read.map_err(|error| {
        let column = error.column();
        if error.is_data() { BadLine::NotAnItem { column } } else { BadLine::NotJson { column } }
    })?;
    let key = item.key.ok_or(BadLine::NoKey { key: view.key })?;
    Ok((key, item.found))
}

/// An item while it is read.
#[derive(Default)]
struct Item {
    key: Option<String>,
    found: Found,
}

/// What an attribute is in a view.
enum Place {
    Key,
    Watermark(&'static str),
    OfFacet(&'static str, &'static str),
    Set(&'static str),
    Mark,
}

fn place(view: &View, name: &str) -> Option<Place> {
    if name == view.key {
        return Some(Place::Key);
    }
    for shape in view.facets {
        if name == shape.watermark {
            return Some(Place::Watermark(shape.watermark));
        }
        if let Some(attribute) = shape.attributes.iter().find(|attribute| **attribute == name) {
            return Some(Place::OfFacet(shape.watermark, attribute));
        }
    }
    if let Some(set) = view.sets.iter().find(|set| **set == name) {
        return Some(Place::Set(set));
    }
    view.marks.iter().any(|kind| name.starts_with(kind)).then_some(Place::Mark)
}

impl Item {
    fn put(&mut self, name: &str, place: Place, value: Typed<'_>) {
        let Found { state, unreadable } = &mut self.found;
        match (place, value) {
            (Place::Key, Typed::Text(key)) => self.key = Some(key.into_owned()),
            (Place::Watermark(watermark), Typed::Text(by)) => {
                let by = shared(state, &by);
                facet(state, watermark).by = by;
            }
            (Place::OfFacet(watermark, name), value) => match value.into_json() {
                Some(value) => _ = facet(state, watermark).attributes.insert(Name::Borrowed(name), value),
                None => unreadable.push(Unreadable { attribute: name.to_owned() }),
            },
            (Place::Set(set), Typed::Texts(elements)) => {
                state.sets.insert(Name::Borrowed(set), elements.into_iter().collect());
            }
            (Place::Mark, Typed::Text(by)) => {
                let by = shared(state, &by);
                state.marks.insert(Name::Owned(name.to_owned()), by);
            }
            (Place::Key, _) => {}
            (Place::Watermark(watermark), _) => {
                // A facet is there if its watermark is, whatever it is.
                facet(state, watermark);
                unreadable.push(Unreadable { attribute: name.to_owned() });
            }
            (Place::Set(_) | Place::Mark, _) => unreadable.push(Unreadable { attribute: name.to_owned() }),
        }
    }
}

fn facet<'a>(state: &'a mut State, watermark: &'static str) -> &'a mut Written {
    let none = || Written { by: Stamp::from(""), attributes: Attributes::new() };
    state.facets.get_or_insert_with(Name::Borrowed(watermark), none)
}

/// An event writes several pieces, which share its id in memory, as they do when they come from the event.
fn shared(state: &State, by: &str) -> Stamp {
    let known = state.facets.values().map(|written| &written.by).chain(state.marks.values());
    known.into_iter().find(|known| ***known == *by).map_or_else(|| Stamp::from(by), Stamp::clone)
}

struct Line<'a>(&'a View);

impl<'de> DeserializeSeed<'de> for Line<'_> {
    type Value = Item;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Item, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Line<'_> {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a line of a table export")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Item, A::Error> {
        let mut item = None;
        while let Some(Text(name)) = members.next_key()? {
            match &*name {
                "Item" | "NewImage" => item = Some(members.next_value_seed(Members(self.0))?),
                _ => _ = members.next_value::<IgnoredAny>()?,
            }
        }
        item.ok_or_else(|| A::Error::missing_field("Item"))
    }
}

struct Members<'a>(&'a View);

impl<'de> DeserializeSeed<'de> for Members<'_> {
    type Value = Item;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Item, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members<'_> {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut attributes: A) -> Result<Item, A::Error> {
        let mut item = Item::default();
        while let Some(Text(name)) = attributes.next_key()? {
            match place(self.0, &name) {
                Some(place) => {
                    let value = attributes.next_value()?;
                    item.put(&name, place, value);
                }
                None => _ = attributes.next_value::<IgnoredAny>()?,
            }
        }
        Ok(item)
    }
}

/// A text, borrowed from the line where it has no escapes.
struct Text<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor).map(Self)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

/// An attribute's value: `{"S":"text"}`.
enum Typed<'de> {
    Text(Cow<'de, str>),
    Texts(Vec<String>),
    /// Neither of them; `None` for binary data, sets of numbers and types that are newer than this code: no facet writes them.
    Other(Option<Value>),
}

impl Typed<'_> {
    fn into_json(self) -> Option<Value> {
        match self {
            Self::Text(text) => Some(Value::String(text.into_owned())),
            Self::Texts(mut texts) => {
                texts.sort_unstable();
                Some(texts.into_iter().map(Value::String).collect())
            }
            Self::Other(value) => value,
        }
    }
}

impl<'de> Deserialize<'de> for Typed<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TypedVisitor)
    }
}

struct TypedVisitor;

impl<'de> Visitor<'de> for TypedVisitor {
    type Value = Typed<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value under the name of its type")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Typed<'de>, A::Error> {
        let Some(Text(kind)) = members.next_key()? else { return Err(A::Error::missing_field("S")) };
        let value = match &*kind {
            "S" => Typed::Text(members.next_value::<Text<'_>>()?.0),
            "N" => Typed::Other(read_number(&members.next_value::<Text<'_>>()?.0).map(Value::Number)),
            "BOOL" => Typed::Other(Some(Value::Bool(members.next_value()?))),
            "NULL" => {
                members.next_value::<bool>()?;
                Typed::Other(Some(Value::Null))
            }
            "SS" => Typed::Texts(members.next_value()?),
            "L" => Typed::Other(members.next_value::<ListOf>()?.0),
            "M" => Typed::Other(members.next_value::<MapOf>()?.0),
            _ => {
                members.next_value::<IgnoredAny>()?;
                Typed::Other(None)
            }
        };
        match members.next_key::<IgnoredAny>()? {
            Some(_) => Err(A::Error::custom("a value has one type")),
            None => Ok(value),
        }
    }
}

struct ListOf(Option<Value>);

impl<'de> Deserialize<'de> for ListOf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ContentVisitor).map(Self)
    }
}

struct MapOf(Option<Value>);

impl<'de> Deserialize<'de> for MapOf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ContentVisitor).map(Self)
    }
}

/// What is in a list or map; `None` if any of it cannot be read.
struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a map")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Option<Value>, A::Error> {
        let mut list = Some(Vec::new());
        while let Some(element) = elements.next_element::<Typed<'_>>()? {
            list = list.and_then(|mut list| {
                list.push(element.into_json()?);
                Some(list)
            });
        }
        Ok(list.map(Value::Array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Option<Value>, A::Error> {
        let mut map = Some(Map::new());
        while let Some(name) = members.next_key::<String>()? {
            let value: Typed<'_> = members.next_value()?;
            map = map.and_then(|mut map| {
                map.insert(name, value.into_json()?);
                Some(map)
            });
        }
        Ok(map.map(Value::Object))
    }
}

/// DynamoDB's text of a number; `None` if it is no number that facets can hold.
pub(crate) fn read_number(text: &str) -> Option<Number> {
    let whole = text.parse::<u64>().map(Number::from).or_else(|_| text.parse::<i64>().map(Number::from));
    whole.ok().or_else(|| Number::from_f64(text.parse().ok()?))
}
