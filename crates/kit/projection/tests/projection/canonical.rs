//! What a facet can be made of, written as canonical JSON. `serde_json` says what is right: its objects are sorted.

use std::collections::{BTreeMap, HashMap};

use projection::{Attributes, Facet, Piece};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::pieces::stamp;

#[derive(Serialize)]
struct Any<T>(T);

impl<T: Serialize> Facet for Any<T> {
    const WATERMARK: &'static str = "wb";
    const ATTRIBUTES: &'static [&'static str] = &["place"];
}

/// These are only written.
impl<'de, T> Deserialize<'de> for Any<T> {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom("it is only written"))
    }
}

struct Bytes([u8; 2]);

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

#[track_caller]
fn same(content: impl Serialize) {
    let expected = Attributes::from([("place".into(), serde_json::to_value(&content).unwrap())]);
    let Piece::Facet { attributes, .. } = Piece::facet(&Any(content), &stamp(1)).unwrap() else { panic!("a facet") };
    assert_eq!(attributes, expected);
}

#[derive(Serialize)]
struct Sorted {
    a: u8,
    b: &'static str,
}

/// Its fields are not sorted, and there are as many as are sorted without reading them again.
#[derive(Serialize)]
struct Unsorted {
    e: u8,
    d: Vec<Sorted>,
    h: Option<f32>,
    a: char,
    b: bool,
    c: (i8, i16, i32, i64),
    g: (u8, u16, u32, u64),
    f: f64,
}

/// One more than that.
#[derive(Serialize)]
struct Many {
    i: u8,
    h: u8,
    g: u8,
    f: u8,
    e: u8,
    d: u8,
    c: u8,
    b: u8,
    a: u8,
}

#[derive(Serialize)]
struct Unit;

#[derive(Serialize)]
enum Variant {
    Unit,
    Newtype(u8),
    Tuple(u8, u8),
    Struct { b: u8, a: u8 },
    Empty {},
}

#[test]
fn structs_have_sorted_names() {
    same(Sorted { a: 1, b: "c" });
    let sorted = || Sorted { a: 1, b: "\"}],{[\\" };
    same(Unsorted {
        e: 1,
        d: vec![sorted(), sorted()],
        h: Some(1.5),
        a: '"',
        b: true,
        c: (i8::MIN, i16::MIN, i32::MIN, i64::MIN),
        g: (u8::MAX, u16::MAX, u32::MAX, u64::MAX),
        f: 0.1,
    });
    same([0, 1].map(|_| Many { i: 1, h: 2, g: 3, f: 4, e: 5, d: 6, c: 7, b: 8, a: 9 }));
    same((Sorted { a: 0, b: "" }, Unit, ()));
}

#[test]
fn variants_are_written_as_serde_json_does() {
    same(Variant::Unit);
    same(Variant::Newtype(1));
    same(Variant::Tuple(1, 2));
    same(Variant::Struct { b: 1, a: 2 });
    same(Variant::Empty {});
}

#[test]
fn rare_types_are_written_as_serde_json_does() {
    same(1.5_f32);
    same('\u{e4}');
    same([Some(1), None]);
    same(Bytes([1, 255]));
    same("\0\u{1f} \"\\/\u{7f}\u{10ffff}");
}

fn is_refused(name: impl Ord + Serialize) {
    assert!(Piece::facet(&Any(BTreeMap::from([(name, 1)])), &stamp(1)).is_err());
}

#[test]
fn names_of_a_map_are_texts() {
    same(HashMap::from([("b", 1), ("a", 2), ("\"", 3)]));
    same(HashMap::from([(2, "b"), (10, "a")]));
    same(BTreeMap::from([(true, 1), (false, 2)]));
    same(BTreeMap::from([('b', 1), ('a', 2)]));
    is_refused([1]);
    is_refused(());
    is_refused(BTreeMap::from([(1, 1)]));
}

/// A value as `serde_json` passes it to a serializer: a struct of one field, which has the value's text. So it passes a `Number` where any
/// crate of the program enables `arbitrary_precision`, and a `RawValue`.
struct Hidden(&'static str, &'static [&'static str]);

const NUMBER: &str = "$serde_json::private::Number";
const RAW_VALUE: &str = "$serde_json::private::RawValue";

impl Serialize for Hidden {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(name, texts) = self;
        let mut hidden = serializer.serialize_struct(name, texts.len())?;
        for text in *texts {
            hidden.serialize_field(name, text)?;
        }
        hidden.end()
    }
}

#[track_caller]
fn is_written_as(hidden: Hidden, expected: &Value) {
    let Piece::Facet { attributes, .. } = Piece::facet(&Any([hidden]), &stamp(1)).unwrap() else { panic!("a facet") };
    assert_eq!(attributes, Attributes::from([("place".into(), json!([expected]))]));
}

#[test]
fn a_number_of_arbitrary_precision_is_written_as_a_number() {
    let number = |text, expected: Value| is_written_as(Hidden(NUMBER, text), &expected);
    number(&["38"], json!(38));
    number(&["-38.0"], json!(-38));
    number(&["-0"], json!(0));
    number(&["-122.270"], json!(-122.27));
    number(&["18446744073709551615"], json!(u64::MAX));
    number(&["-9223372036854775808"], json!(i64::MIN));
    number(&["1E+2"], json!(100));
    number(&["123456789012345678901234567890"], json!(123_456_789_012_345_678_901_234_567_890_f64));
}

#[test]
fn a_raw_value_is_written_as_the_json_that_it_holds() {
    let raw = |text, expected: Value| is_written_as(Hidden(RAW_VALUE, text), &expected);
    raw(&["38.0"], json!(38));
    raw(&["\"a \\\"b\\\"\""], json!("a \"b\""));
    raw(&["{ \"b\": [1.0, null], \"a\": {} }"], json!({"a": {}, "b": [1, null]}));
}

#[test]
fn a_number_or_raw_value_that_is_none_is_refused() {
    for name in [NUMBER, RAW_VALUE] {
        for texts in [&["NaN"][..], &["inf"], &["1e400"], &[""], &["secret"], &[], &["1", "2"]] {
            let error = Piece::facet(&Any(Hidden(name, texts)), &stamp(1)).unwrap_err();
            assert!(!format!("{error:?}").contains("secret"), "{error:?}");
        }
    }
}
