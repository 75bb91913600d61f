//! Writing canonical JSON: sorted names, no white space, whole numbers without a fraction.

use std::fmt::Write;

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::{Error, Value};

use crate::content::{Json, elements, members};

/// Appends a value.
pub(crate) struct Canonical<'a>(pub(crate) &'a mut String);

/// A list or an object that is not complete.
pub(crate) struct Nested<'a> {
    out: &'a mut String,
    /// Where its content begins.
    start: usize,
    /// What ends it.
    end: &'static str,
    /// The names of a struct's fields, and where the fields begin.
    fields: [(&'static str, usize); MOST_FIELDS],
    /// How many fields there are, or more than fit.
    count: usize,
}

/// A struct that is not complete.
pub(crate) enum Struct<'a> {
    Plain(Nested<'a>),
    /// A number or a raw value of `serde_json`: it has one field, which is the value's text.
    Hidden {
        out: &'a mut String,
        /// [`NUMBER`] or [`RAW_VALUE`].
        name: &'static str,
        text: Option<String>,
    },
}

/// The name with which `serde_json` serialises a number as a struct, if any crate of the program enables its feature `arbitrary_precision`.
const NUMBER: &str = "$serde_json::private::Number";
/// The name with which it serialises a `RawValue`, which holds JSON.
const RAW_VALUE: &str = "$serde_json::private::RawValue";

/// Few structs have more. The order of those is found out from their text.
const MOST_FIELDS: usize = 8;

impl<'a> Nested<'a> {
    fn begin(out: &'a mut String, begin: &str, end: &'static str) -> Self {
        out.push_str(begin);
        Self { start: out.len(), out, end, fields: [("", 0); MOST_FIELDS], count: 0 }
    }

    fn variant(out: &'a mut String, name: &str, begin: &str, end: &'static str) -> Self {
        out.push('{');
        write_text(name, |part| out.push_str(part));
        out.push(':');
        Self::begin(out, begin, end)
    }

    fn next(&mut self) -> &mut String {
        if self.out.len() > self.start {
            self.out.push(',');
        }
        self.out
    }

    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(Canonical(self.next()))
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        let begin = self.next().len();
        if let Some(field) = self.fields.get_mut(self.count) {
            *field = (name, begin);
        }
        self.count += 1;
        write_text(name, |part| self.out.push_str(part));
        self.out.push(':');
        value.serialize(Canonical(self.out))
    }

    fn end_list(self) {
        self.out.push_str(self.end);
    }

    fn end_map(self) {
        sort_members(self.out, self.start);
        self.out.push_str(self.end);
    }

    fn end_struct(self) {
        let Some(fields) = self.fields.get(..self.count) else {
            return self.end_map();
        };
        if !fields.is_sorted_by_key(|(name, _)| *name) {
            let length = self.out[self.start..].len();
            // A comma stands before the next field.
            let ends = fields.iter().skip(1).map(|(_, begin)| begin - 1).chain([self.out.len()]);
            let mut sorted = [("", ""); MOST_FIELDS];
            for ((sorted, (name, begin)), end) in sorted.iter_mut().zip(fields).zip(ends) {
                *sorted = (name, &self.out[*begin..end]);
            }
            let sorted = &mut sorted[..self.count];
            sorted.sort_unstable_by_key(|(name, _)| *name);
            let text = joined(sorted.iter().map(|(_, field)| [*field]), length);
            self.out.truncate(self.start);
            self.out.push_str(&text);
        }
        self.out.push_str(self.end);
    }
}

/// Members, each in parts, with commas between them.
fn joined<'a, const N: usize>(members: impl Iterator<Item = [&'a str; N]>, length: usize) -> String {
    let mut text = String::with_capacity(length);
    for member in members {
        if !text.is_empty() {
            text.push(',');
        }
        text.extend(member);
    }
    text
}

/// Sorts the members of an object, of which `out` has the content from `start`.
pub(crate) fn sort_members(out: &mut String, start: usize) {
    let content = &out[start..];
    let mut sorted: Vec<_> = members(content).collect();
    if sorted.is_sorted_by_key(|(name, _)| name) {
        return;
    }
    sorted.sort_unstable_by_key(|(name, _)| *name);
    let text = joined(sorted.into_iter().map(|(name, value)| ["\"", name, "\":", value]), content.len());
    out.replace_range(start.., &text);
}

/// Writes a list of texts as the set that it is: it has no order.
pub(crate) fn write_set(texts: &str, out: &mut String) {
    let mut texts: Vec<_> = elements(texts).collect();
    texts.sort_unstable();
    texts.dedup();
    out.push('[');
    for (place, text) in texts.into_iter().enumerate() {
        out.push_str(if place == 0 { "" } else { "," });
        out.push_str(text);
    }
    out.push(']');
}

/// Whether a list of texts is as a set is written; `None` if it has other elements than texts.
pub(crate) fn is_set(list: &str) -> Option<bool> {
    let (mut last, mut is_sorted) = (None, true);
    for element in elements(list) {
        let Json::Text(text) = Json::of(element) else { return None };
        is_sorted &= last.is_none_or(|last| last < text);
        last = Some(text);
    }
    Some(is_sorted)
}

/// Makes the value that `out` has from `start`, a list of texts, the set that it is. Returns false if it is no list of texts.
pub(crate) fn make_set(out: &mut String, start: usize) -> bool {
    let Json::Array(list) = Json::of(&out[start..]) else { return false };
    match is_set(list) {
        Some(true) => true,
        Some(false) => {
            let list = list.to_owned();
            out.truncate(start);
            write_set(&list, out);
            true
        }
        None => false,
    }
}

/// The elements of a value that DynamoDB can store as a set of texts, each once. `None` for an empty list, a list that has other elements
/// than texts, and every other value.
pub(crate) fn set_elements(json: &str) -> Option<Vec<&str>> {
    let Json::Array(list) = Json::of(json) else { return None };
    let is_set = is_set(list).filter(|_| !list.is_empty())?;
    let mut texts: Vec<_> = elements(list).collect();
    if !is_set {
        texts.sort_unstable();
        texts.dedup();
    }
    Some(texts)
}

/// Writes a JSON text in parts.
pub(crate) fn write_text(text: &str, mut write: impl FnMut(&str)) {
    write("\"");
    // Nearly every text is plain. This looks at all of it at once, where the loop below goes byte by byte: without branches, the compiler
    // makes it one of vectors.
    #[allow(clippy::needless_bitwise_bool)]
    let is_escaped = |byte: u8| (byte < b' ') | (byte == b'"') | (byte == b'\\');
    if !text.bytes().fold(false, |any, byte| any | is_escaped(byte)) {
        write(text);
        write("\"");
        return;
    }
    let mut plain = 0;
    for (place, byte) in text.bytes().enumerate() {
        if !is_escaped(byte) {
            continue;
        }
        write(&text[plain..place]);
        plain = place + 1;
        match byte {
            b'"' => write("\\\""),
            b'\\' => write("\\\\"),
            control => write(&format!("\\u{control:04x}")),
        }
    }
    write(&text[plain..]);
    write("\"");
}

/// Writes a number from the text that DynamoDB or `serde_json` has of it. Returns false if facets cannot hold it.
///
/// It does not go through `serde_json::Number`, which keeps the text as it is if the feature `arbitrary_precision` is enabled.
pub(crate) fn write_number(text: &str, out: &mut String) -> bool {
    let out = Canonical(out);
    let written = if let Ok(number) = text.parse::<u64>() {
        out.serialize_u64(number)
    } else if let Ok(number) = text.parse::<i64>() {
        out.serialize_i64(number)
    } else {
        text.parse().map_err(Error::custom).and_then(|number| out.serialize_f64(number))
    };
    written.is_ok()
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

impl Canonical<'_> {
    /// Without a formatter, which takes a multiple of the time.
    fn integer(self, is_negative: bool, mut number: u64) {
        let mut digits = [b'0'; 20];
        let mut first = digits.len();
        while number > 0 || first == digits.len() {
            first -= 1;
            // One digit fits.
            #[allow(clippy::cast_possible_truncation)]
            let digit = (number % 10) as u8;
            digits[first] += digit;
            number /= 10;
        }
        if is_negative {
            self.0.push('-');
        }
        // They are ASCII.
        self.0.push_str(std::str::from_utf8(&digits[first..]).unwrap_or_default());
    }
}

macro_rules! integers {
    ($($serialize:ident($type:ty);)*) => {$(
        fn $serialize(self, value: $type) -> Result<(), Error> {
            self.integer(value < 0, value.unsigned_abs().into());
            Ok(())
        }
    )*};
}

macro_rules! unsigned_integers {
    ($($serialize:ident($type:ty);)*) => {$(
        fn $serialize(self, value: $type) -> Result<(), Error> {
            self.integer(false, value.into());
            Ok(())
        }
    )*};
}

impl<'a> Serializer for Canonical<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Nested<'a>;
    type SerializeTuple = Nested<'a>;
    type SerializeTupleStruct = Nested<'a>;
    type SerializeTupleVariant = Nested<'a>;
    type SerializeMap = Nested<'a>;
    type SerializeStruct = Struct<'a>;
    type SerializeStructVariant = Nested<'a>;

    integers! {
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
    }

    unsigned_integers! {
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
    }

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.0.push_str(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.serialize_f64(value.into())
    }

    /// DynamoDB returns 38.0 as 38: a whole number is always an integer, where it fits.
    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        let is_whole = value.fract() == 0.0;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Both are within the range.
        if is_whole && (-TWO_TO_63..TWO_TO_63).contains(&value) {
            self.serialize_i64(value as i64)?;
        } else if is_whole && (TWO_TO_63..2.0 * TWO_TO_63).contains(&value) {
            self.serialize_u64(value as u64)?;
        } else {
            // JSON and DynamoDB have no NaN and no infinity. `null` in its place would remove the attribute.
            let number = serde_json::Number::from_f64(value).ok_or_else(|| Error::custom("a number must be finite"))?;
            // A text grows as it must.
            _ = write!(self.0, "{number}");
        }
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        write_text(value, |part| self.0.push_str(part));
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.0.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        let mut object = Nested::begin(self.0, "{", "}");
        object.field(variant, value)?;
        object.end_struct();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Nested<'a>, Error> {
        Ok(Nested::begin(self.0, "[", "]"))
    }

    fn serialize_tuple(self, _: usize) -> Result<Nested<'a>, Error> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Nested<'a>, Error> {
        self.serialize_seq(None)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Nested<'a>, Error> {
        Ok(Nested::variant(self.0, variant, "[", "]}"))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Nested<'a>, Error> {
        Ok(Nested::begin(self.0, "{", "}"))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Struct<'a>, Error> {
        Ok(match name {
            NUMBER | RAW_VALUE => Struct::Hidden { out: self.0, name, text: None },
            _ => Struct::Plain(Nested::begin(self.0, "{", "}")),
        })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Nested<'a>, Error> {
        Ok(Nested::variant(self.0, variant, "{", "}}"))
    }
}

macro_rules! lists {
    ($($list:ident::$add:ident;)*) => {$(
        impl $list for Nested<'_> {
            type Ok = ();
            type Error = Error;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.element(value)
            }

            fn end(self) -> Result<(), Error> {
                self.end_list();
                Ok(())
            }
        }
    )*};
}

lists! {
    SerializeSeq::serialize_element;
    SerializeTuple::serialize_element;
    SerializeTupleStruct::serialize_field;
    SerializeTupleVariant::serialize_field;
}

impl SerializeStructVariant for Nested<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.field(name, value)
    }

    fn end(self) -> Result<(), Error> {
        self.end_struct();
        Ok(())
    }
}

impl SerializeStruct for Struct<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        match self {
            Self::Plain(nested) => nested.field(name, value),
            Self::Hidden { text: Some(_), .. } => Err(not_one_field()),
            Self::Hidden { text, .. } => {
                let mut json = String::new();
                value.serialize(Canonical(&mut json))?;
                *text = Some(serde_json::from_str(&json)?);
                Ok(())
            }
        }
    }

    fn end(self) -> Result<(), Error> {
        match self {
            Self::Plain(nested) => {
                nested.end_struct();
                Ok(())
            }
            Self::Hidden { text: None, .. } => Err(not_one_field()),
            Self::Hidden { out, name: NUMBER, text: Some(digits) } => {
                if write_number(&digits, out) {
                    Ok(())
                } else {
                    Err(Error::custom("a number must be finite, and an `f64` must be able to hold it"))
                }
            }
            Self::Hidden { out, text: Some(json), .. } => {
                serde_json::from_str::<Value>(&json)?.serialize(Canonical(out))
            }
        }
    }
}

fn not_one_field() -> Error {
    Error::custom("a number or raw value of `serde_json` has one field, which is a text")
}

impl SerializeMap for Nested<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let out = self.next();
        let start = out.len();
        key.serialize(Canonical(out))?;
        match out.as_bytes()[start] {
            b'"' => {}
            b'[' | b'{' | b'n' => return Err(Error::custom("a name must be a text")),
            // A number or truth value is as good as a text, as in `serde_json`.
            _ => {
                out.insert(start, '"');
                out.push('"');
            }
        }
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.out.push(':');
        value.serialize(Canonical(self.out))
    }

    fn end(self) -> Result<(), Error> {
        self.end_map();
        Ok(())
    }
}
