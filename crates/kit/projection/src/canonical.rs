//! Writing canonical JSON: sorted names, no white space, whole numbers without a fraction.

use std::fmt::{Display, Write};

use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::Error;

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
}

impl<'a> Nested<'a> {
    fn begin(out: &'a mut String, begin: &str, end: &'static str) -> Self {
        out.push_str(begin);
        Self { start: out.len(), out, end }
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

    fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Error> {
        let out = self.next();
        write_text(name, |part| out.push_str(part));
        out.push(':');
        value.serialize(Canonical(out))
    }

    fn end_list(self) {
        self.out.push_str(self.end);
    }

    fn end_object(self) {
        sort_members(self.out, self.start);
        self.out.push_str(self.end);
    }
}

/// Sorts the members of an object, of which `out` has the content from `start`.
pub(crate) fn sort_members(out: &mut String, start: usize) {
    let content = &out[start..];
    if members(content).is_sorted_by_key(|(name, _)| name) {
        return;
    }
    let mut sorted: Vec<_> = members(content).collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    let mut text = String::with_capacity(content.len());
    for (name, value) in sorted {
        if !text.is_empty() {
            text.push(',');
        }
        text.extend(["\"", name, "\":", value]);
    }
    out.replace_range(start.., &text);
}

/// Writes a list as the set that it is: it has no order. `None` if it has other elements than texts.
pub(crate) fn write_set(texts: &str, out: &mut String) -> Option<()> {
    let mut elements: Vec<_> = elements(texts).collect();
    elements.sort_unstable();
    elements.dedup();
    out.push('[');
    for (place, element) in elements.into_iter().enumerate() {
        let Json::Text(text) = Json::of(element) else { return None };
        out.push_str(if place == 0 { "" } else { "," });
        out.push_str(text);
    }
    out.push(']');
    Some(())
}

/// Writes a JSON text in parts.
pub(crate) fn write_text(text: &str, mut write: impl FnMut(&str)) {
    write("\"");
    let mut plain = 0;
    for (place, byte) in text.bytes().enumerate() {
        if byte >= b' ' && byte != b'"' && byte != b'\\' {
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

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

impl Canonical<'_> {
    fn display(self, value: impl Display) {
        // A text grows as it must.
        let _ = write!(self.0, "{value}");
    }
}

macro_rules! displayed {
    ($($serialize:ident($type:ty);)*) => {$(
        fn $serialize(self, value: $type) -> Result<(), Error> {
            self.display(value);
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
    type SerializeStruct = Nested<'a>;
    type SerializeStructVariant = Nested<'a>;

    displayed! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.serialize_f64(value.into())
    }

    /// DynamoDB returns 38.0 as 38: a whole number is always an integer, where it fits.
    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        let is_whole = value.fract() == 0.0;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Both are within the range.
        if is_whole && (-TWO_TO_63..TWO_TO_63).contains(&value) {
            self.display(value as i64);
        } else if is_whole && (TWO_TO_63..2.0 * TWO_TO_63).contains(&value) {
            self.display(value as u64);
        } else {
            match serde_json::Number::from_f64(value) {
                Some(number) => self.display(number),
                None => self.serialize_unit()?,
            }
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
        object.member(variant, value)?;
        object.end_object();
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

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Nested<'a>, Error> {
        self.serialize_map(None)
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

macro_rules! structs {
    ($($object:ident;)*) => {$(
        impl $object for Nested<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
                self.member(name, value)
            }

            fn end(self) -> Result<(), Error> {
                self.end_object();
                Ok(())
            }
        }
    )*};
}

structs! {
    SerializeStruct;
    SerializeStructVariant;
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
        self.end_object();
        Ok(())
    }
}
