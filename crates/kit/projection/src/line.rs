//! Items as lines of DynamoDB JSON: the format of table exports and imports.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::canonical::{make_set, set_elements, sort_members, write_number, write_set, write_text};
use crate::content::{Attributes, Json, elements, members, write_name};
use crate::facet::Unreadable;
use crate::piece::{Name, Stamp};
use crate::state::{Found, State, Written};
use crate::view::{Shape, View};

/// Appends the item of `state` as one line, `{"Item":{…}}` and a line feed. Attributes that the view does not declare are left out.
pub fn write_line(view: &View, key: &str, state: &State, out: &mut Vec<u8>) {
    let mut line = Line(out);
    line.write("{\"Item\":{");
    line.name(view.key);
    line.text(key);
    for Shape { watermark, attributes, text_sets } in view.facets {
        let Some(written) = state.facets.get(*watermark) else { continue };
        // No event wrote a facet that was read without its watermark.
        if !written.by.is_empty() {
            line.write(",");
            line.name(watermark);
            line.text(&written.by);
        }
        for (name, value) in written.attributes.iter().filter(|(name, _)| attributes.contains(name)) {
            line.write(",");
            line.name(name);
            line.value(value, text_sets.contains(&name));
        }
    }
    for name in view.sets {
        // DynamoDB has no empty sets.
        let mut elements = state.set(name).peekable();
        if elements.peek().is_some() {
            line.write(",");
            line.name(name);
            line.list("{\"SS\":[", elements, "]}", Line::escaped);
        }
    }
    for (name, by) in state.marks().filter(|(name, _)| view.has_mark(name)) {
        line.write(",");
        line.name(name);
        line.text(by);
    }
    line.write("}}\n");
}

struct Line<'a>(&'a mut Vec<u8>);

impl Line<'_> {
    fn write(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    fn escaped(&mut self, text: &str) {
        write_text(text, |part| self.write(part));
    }

    fn name(&mut self, name: &str) {
        self.escaped(name);
        self.write(":");
    }

    fn text(&mut self, text: &str) {
        self.write("{\"S\":");
        self.escaped(text);
        self.write("}");
    }

    /// A canonical value under the name of its type. Texts keep their escapes.
    fn value(&mut self, json: &str, is_text_set: bool) {
        // What is no set cannot be stored as one. It is written as what it is, and read as unreadable.
        if let Some(texts) = is_text_set.then(|| set_elements(json)).flatten() {
            return self.list("{\"SS\":[", texts.into_iter(), "]}", Self::write);
        }
        match Json::of(json) {
            Json::Null => self.write("{\"NULL\":true}"),
            Json::Bool(true) => self.write("{\"BOOL\":true}"),
            Json::Bool(false) => self.write("{\"BOOL\":false}"),
            Json::Number(number) => self.within("{\"N\":\"", number, "\"}"),
            Json::Text(text) => self.within("{\"S\":", text, "}"),
            Json::Array(list) => {
                self.list("{\"L\":[", elements(list), "]}", |line, element| line.value(element, false));
            }
            Json::Object(object) => self.list("{\"M\":{", members(object), "}}", |line, (name, value)| {
                line.within("\"", name, "\":");
                line.value(value, false);
            }),
        }
    }

    fn within(&mut self, before: &str, text: &str, after: &str) {
        self.write(before);
        self.write(text);
        self.write(after);
    }

    fn list<T>(&mut self, begin: &str, all: impl Iterator<Item = T>, end: &str, write: impl Fn(&mut Self, T)) {
        self.write(begin);
        for (place, one) in all.enumerate() {
            if place > 0 {
                self.write(",");
            }
            write(self, one);
        }
        self.write(end);
    }
}

/// Why a line is not an item of the view. The message names the position of the fault, and contains nothing of the line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadLine {
    /// The line is not JSON, or it is cut off.
    #[error("not valid JSON at column {column}")]
    NotJson {
        /// The column of the fault. The first byte of the line is in column 1.
        column: usize,
    },
    /// The line is JSON, but not in the format of an item.
    #[error("not DynamoDB JSON at column {column}: expected {{\"Item\":{{\"name\":{{\"S\":\"text\"}}, …}}}}")]
    NotAnItem {
        /// The column of the fault. The first byte of the line is in column 1.
        column: usize,
    },
    /// The item does not have the view's key, or the key is not a text.
    #[error("the item has no key `{key}`, or its key is not a text")]
    NoKey {
        /// The name of the key attribute.
        key: &'static str,
    },
}

/// Reads a line that [`write_line`] or a table export wrote: the item is the member `Item` or, in an incremental export,
/// `NewImage`. Other members of the line are ignored. A line of a deletion has neither, and is [`BadLine::NotAnItem`].
///
/// Returns the key, and what `dynamodb::read_item` returns for the same item: attributes that the view does not name are ignored,
/// and what cannot be read is left out and reported.
pub fn read_line(view: &View, line: &[u8]) -> Result<(String, Found), BadLine> {
    let mut json = serde_json::Deserializer::from_slice(line);
    let read = ReadLine(view).deserialize(&mut json).and_then(|item| json.end().map(|()| item));
    let item = read.map_err(|error| {
        let column = error.column();
        if error.is_data() { BadLine::NotAnItem { column } } else { BadLine::NotJson { column } }
    })?;
    item.finish().ok_or(BadLine::NoKey { key: view.key })
}

/// An item while it is read.
struct Item<'a> {
    view: &'a View,
    key: Option<String>,
    /// What has been read of each facet of the view.
    facets: Vec<Draft>,
    found: Found,
}

#[derive(Default)]
struct Draft {
    by: Option<Stamp>,
    /// Canonical, but in the order in which they came.
    members: String,
}

/// What an attribute is for in a view.
enum Role {
    Key,
    Watermark(usize),
    OfFacet(usize),
    Set(&'static str),
    Mark,
}

fn role(view: &View, name: &str) -> Option<Role> {
    if name == view.key {
        return Some(Role::Key);
    }
    for (facet, shape) in view.facets.iter().enumerate() {
        if name == shape.watermark {
            return Some(Role::Watermark(facet));
        }
        if shape.attributes.contains(&name) {
            return Some(Role::OfFacet(facet));
        }
    }
    if let Some(set) = view.sets.iter().find(|set| **set == name) {
        return Some(Role::Set(set));
    }
    view.has_mark(name).then_some(Role::Mark)
}

impl<'a> Item<'a> {
    fn of(view: &'a View) -> Self {
        let facets = view.facets.iter().map(|_| Draft::default()).collect();
        Self { view, key: None, facets, found: Found::default() }
    }

    /// Reads the value of the attribute `name`.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, attributes: &mut A) -> Result<(), A::Error> {
        let Some(role) = role(self.view, name) else {
            return attributes.next_value::<IgnoredAny>().map(|_| ());
        };
        let is_readable = match role {
            Role::Key => {
                self.key = attributes.next_value_seed(Typed(Text))?.map(Cow::into_owned);
                true
            }
            Role::Watermark(facet) => {
                let by = attributes.next_value_seed(Typed(Text))?;
                // A facet is there if its watermark is, whatever it is.
                self.facets[facet].by = Some(self.stamp(by.as_deref().unwrap_or_default()));
                by.is_some()
            }
            Role::OfFacet(facet) => {
                let Draft { members, .. } = &mut self.facets[facet];
                let before = members.len();
                write_name(name, members);
                let value = members.len();
                let is_text_set = self.view.facets[facet].text_sets.contains(&name);
                let is_json = attributes.next_value_seed(Typed(Content(members)))?;
                let is_readable = is_json && (!is_text_set || make_set(members, value));
                // An empty text set is not stored. What is no set is kept, so that the facet is not read as one without it.
                if !is_json || is_text_set && &members[value..] == "[]" {
                    members.truncate(before);
                }
                is_readable
            }
            Role::Set(set) => {
                let elements = attributes.next_value_seed(Typed(TextSet))?;
                let is_readable = elements.is_some();
                if let Some(elements) = elements {
                    let elements = elements.into_iter().map(|element| (element.into_boxed_str(), ())).collect();
                    self.found.state.sets.insert(Name::Borrowed(set), elements);
                }
                is_readable
            }
            Role::Mark => {
                let by = attributes.next_value_seed(Typed(Text))?;
                if let Some(by) = &by {
                    let by = self.stamp(by);
                    self.found.state.marks.insert(Name::Owned(name.to_owned()), by);
                }
                by.is_some()
            }
        };
        if !is_readable {
            self.found.unreadable.push(Unreadable { attribute: name.to_owned() });
        }
        Ok(())
    }

    /// The pieces that an event wrote share its id in memory, as they do when they come from the event.
    fn stamp(&self, by: &str) -> Stamp {
        let of_facets = self.facets.iter().filter_map(|facet| facet.by.as_ref());
        let mut known = of_facets.chain(self.found.state.marks.values());
        known.find(|known| ***known == *by).map_or_else(|| Stamp::from(by), Stamp::clone)
    }

    fn finish(mut self) -> Option<(String, Found)> {
        for (shape, Draft { by, members }) in self.view.facets.iter().zip(self.facets) {
            if by.is_some() || !members.is_empty() {
                let written = Written { by: by.unwrap_or_default(), attributes: Attributes::from_members(members) };
                self.found.state.facets.insert(Name::Borrowed(shape.watermark), written);
            }
        }
        Some((self.key?, self.found))
    }
}

struct ReadLine<'a>(&'a View);

impl<'a, 'de> DeserializeSeed<'de> for ReadLine<'a> {
    type Value = Item<'a>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Item<'a>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a, 'de> Visitor<'de> for ReadLine<'a> {
    type Value = Item<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a line of a table export")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Item<'a>, A::Error> {
        let mut item = None;
        while let Some(name) = members.next_key_seed(Text)? {
            match &*name {
                "Item" | "NewImage" => item = Some(members.next_value_seed(ReadItem(self.0))?),
                _ => _ = members.next_value::<IgnoredAny>()?,
            }
        }
        item.ok_or_else(|| A::Error::missing_field("Item"))
    }
}

struct ReadItem<'a>(&'a View);

impl<'a, 'de> DeserializeSeed<'de> for ReadItem<'a> {
    type Value = Item<'a>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Item<'a>, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a, 'de> Visitor<'de> for ReadItem<'a> {
    type Value = Item<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut attributes: A) -> Result<Item<'a>, A::Error> {
        let mut item = Item::of(self.0);
        while let Some(name) = attributes.next_key_seed(Text)? {
            item.read(&name, &mut attributes)?;
        }
        Ok(item)
    }
}

/// Reads a value under the name of its type: `{"S":"text"}`.
struct Typed<R>(R);

/// What is expected of a value, by its type.
trait ReadTyped<'de> {
    type Value;

    fn read<A: MapAccess<'de>>(self, kind: &str, member: &mut A) -> Result<Self::Value, A::Error>;
}

impl<'de, R: ReadTyped<'de>> DeserializeSeed<'de> for Typed<R> {
    type Value = R::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<R::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, R: ReadTyped<'de>> Visitor<'de> for Typed<R> {
    type Value = R::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value under the name of its type")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<R::Value, A::Error> {
        let kind = members.next_key_seed(Text)?.ok_or_else(|| A::Error::missing_field("S"))?;
        let value = self.0.read(&kind, &mut members)?;
        match members.next_key::<IgnoredAny>()? {
            Some(_) => Err(A::Error::custom("a value has one type")),
            None => Ok(value),
        }
    }
}

/// A text, borrowed from the line where it has no escapes.
struct Text;

impl<'de> ReadTyped<'de> for Text {
    type Value = Option<Cow<'de, str>>;

    fn read<A: MapAccess<'de>>(self, kind: &str, member: &mut A) -> Result<Self::Value, A::Error> {
        match kind {
            "S" => member.next_value_seed(Self).map(Some),
            _ => member.next_value::<IgnoredAny>().map(|_| None),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
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

struct TextSet;

impl<'de> ReadTyped<'de> for TextSet {
    type Value = Option<Vec<String>>;

    fn read<A: MapAccess<'de>>(self, kind: &str, member: &mut A) -> Result<Self::Value, A::Error> {
        match kind {
            "SS" => member.next_value().map(Some),
            _ => member.next_value::<IgnoredAny>().map(|_| None),
        }
    }
}

/// Writes a value as canonical JSON. Returns false for values that cannot be read: binary data, sets of numbers, and types that are
/// newer than this code. No facet writes them.
struct Content<'a>(&'a mut String);

impl<'de> ReadTyped<'de> for Content<'_> {
    type Value = bool;

    fn read<A: MapAccess<'de>>(self, kind: &str, member: &mut A) -> Result<bool, A::Error> {
        let Self(out) = self;
        match kind {
            "S" => {
                let text = member.next_value_seed(Text)?;
                write_text(&text, |part| out.push_str(part));
            }
            "N" => return Ok(write_number(&member.next_value_seed(Text)?, out)),
            "BOOL" => out.push_str(if member.next_value()? { "true" } else { "false" }),
            "NULL" => {
                member.next_value::<bool>()?;
                out.push_str("null");
            }
            "SS" => write_text_set(&member.next_value::<Vec<String>>()?, out),
            "L" => return member.next_value_seed(List(out)),
            "M" => return member.next_value_seed(Map(out)),
            _ => {
                member.next_value::<IgnoredAny>()?;
                return Ok(false);
            }
        }
        Ok(true)
    }
}

struct List<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<bool, A::Error> {
        let Self(out) = self;
        let mut is_readable = true;
        out.push('[');
        while let Some(element) = elements.next_element_seed(Typed(Content(out)))? {
            is_readable &= element;
            out.push(',');
        }
        end(out, ']');
        Ok(is_readable)
    }
}

struct Map<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Map<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Map<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<bool, A::Error> {
        let Self(out) = self;
        let mut is_readable = true;
        out.push('{');
        let start = out.len();
        while let Some(name) = members.next_key_seed(Text)? {
            write_text(&name, |part| out.push_str(part));
            out.push(':');
            is_readable &= members.next_value_seed(Typed(Content(out)))?;
            out.push(',');
        }
        end(out, '}');
        if is_readable {
            out.pop();
            sort_members(out, start);
            out.push('}');
        }
        Ok(is_readable)
    }
}

/// Ends a list or map; a comma follows its last element, if it has any.
fn end(out: &mut String, end: char) {
    if out.ends_with(',') {
        out.pop();
    }
    out.push(end);
}

/// A set of texts as canonical JSON.
pub(crate) fn write_text_set(texts: &[impl AsRef<str>], out: &mut String) {
    let mut list = String::new();
    for text in texts {
        list.push_str(if list.is_empty() { "" } else { "," });
        write_text(text.as_ref(), |part| list.push_str(part));
    }
    write_set(&list, out);
}
