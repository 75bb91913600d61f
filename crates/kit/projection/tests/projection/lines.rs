//! Items as lines of DynamoDB JSON.

use projection::dynamodb::{Item, read_item, write_item};
use projection::{Attributes, BadLine, Found, Piece, State, Unreadable, read_line, write_line};
use proptest::prelude::*;
use serde_json::{Value, json};

use aws_sdk_dynamodb::types::AttributeValue;

use crate::pieces::{VIEW, pieces, stamp};

fn line(key: &str, state: &State) -> String {
    let mut line = Vec::new();
    write_line(&VIEW, key, state, &mut line);
    String::from_utf8(line).unwrap()
}

fn read(line: &str) -> Result<(String, Found), BadLine> {
    read_line(&VIEW, line.as_bytes())
}

fn state(pieces: &[Piece]) -> State {
    let mut state = State::default();
    state.apply(pieces.iter().cloned());
    state
}

/// The item of a line, read by code that shares nothing with the codec.
fn item(line: &str) -> Item {
    let line: Value = serde_json::from_str(line).unwrap();
    let item = line["Item"].as_object().unwrap();
    item.iter().map(|(name, value)| (name.clone(), attribute_value(value))).collect()
}

fn attribute_value(typed: &Value) -> AttributeValue {
    let (kind, value) = typed.as_object().and_then(|typed| typed.iter().next()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let elements = || value.as_array().unwrap().iter();
    match kind.as_str() {
        "S" => AttributeValue::S(text(value)),
        "N" => AttributeValue::N(text(value)),
        "BOOL" => AttributeValue::Bool(value.as_bool().unwrap()),
        "NULL" => AttributeValue::Null(value.as_bool().unwrap()),
        "SS" => AttributeValue::Ss(elements().map(text).collect()),
        "L" => AttributeValue::L(elements().map(attribute_value).collect()),
        "M" => {
            let members = value.as_object().unwrap().iter();
            AttributeValue::M(members.map(|(name, value)| (name.clone(), attribute_value(value))).collect())
        }
        other => panic!("no type {other} is written"),
    }
}

/// Any content that a facet can have, with any text in it.
fn content() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<String>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e100..1e100).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_line_reads_back(key in any::<String>(), pieces in pieces(40)) {
        let state = state(&pieces);
        let line = line(&key, &state);
        prop_assert_eq!(line.matches('\n').count(), 1);
        prop_assert_eq!(&item(&line), &write_item(&VIEW, &key, &state));
        prop_assert_eq!(read_item(&VIEW, item(&line)).state, state.clone());
        prop_assert_eq!(read(&line).unwrap(), (key, Found { state, unreadable: vec![] }));
    }

    #[test]
    fn any_content_reads_back(content in content(), text in any::<String>(), word in ".{1,5}") {
        let place = Piece::facet(&crate::table::Place(content), &stamp(1)).unwrap();
        let attributes = Attributes::from([("name".into(), json!(text)), ("words".into(), json!([word]))]);
        let name = Piece::Facet { watermark: "wa".into(), by: stamp(2), attributes };
        let state = state(&[place, name, Piece::Element { set: "notes".into(), element: text }]);
        let line = line("1", &state);
        prop_assert_eq!(&item(&line), &write_item(&VIEW, "1", &state));
        prop_assert_eq!(read(&line).unwrap().1, Found { state: state.clone(), unreadable: vec![] });
        prop_assert_eq!(read_item(&VIEW, item(&line)).state, state);
    }

    #[test]
    fn a_line_that_is_cut_off_is_refused(pieces in pieces(10), at in any::<prop::sample::Index>()) {
        let line = line("1", &state(&pieces));
        let cut = at.index(line.len() - 2);
        let is_not_json = matches!(read(&line[..cut]), Err(BadLine::NotJson { .. }));
        prop_assert!(is_not_json, "{}", &line[..cut]);
    }
}

#[test]
fn a_line_is_as_an_export_writes_it() {
    let pieces = [
        Piece::Mark { attribute: "Order1".into(), by: stamp(2) },
        Piece::Facet {
            watermark: "wa".into(),
            by: stamp(1),
            attributes: Attributes::from([("name".into(), json!("a \"b\"\n")), ("words".into(), json!(["x", "y"]))]),
        },
        Piece::Facet {
            watermark: "wb".into(),
            by: stamp(2),
            attributes: Attributes::from([("place".into(), json!({"n": [1, -2.5, true, null]}))]),
        },
        Piece::Element { set: "steps".into(), element: "1".to_owned() },
    ];
    let expected = concat!(
        r#"{"Item":{"id":{"S":"7"},"wa":{"S":"0001"},"name":{"S":"a \"b\"\u000a"},"words":{"SS":["x","y"]},"#,
        r#""wb":{"S":"0002"},"place":{"M":{"n":{"L":[{"N":"1"},{"N":"-2.5"},{"BOOL":true},{"NULL":true}]}}},"#,
        r#""steps":{"SS":["1"]},"Order1":{"S":"0002"}}}"#,
        "\n"
    );
    assert_eq!(line("7", &state(&pieces)), expected);
}

#[test]
fn what_the_view_does_not_declare_is_left_out() {
    let undeclared = state(&[
        Piece::Mark { attribute: "Shipment7".into(), by: stamp(1) },
        Piece::Element { set: "tags".into(), element: "x".to_owned() },
        Piece::Facet {
            watermark: "wz".into(),
            by: stamp(1),
            attributes: Attributes::from([("name".into(), json!(1))]),
        },
    ]);
    assert_eq!(line("1", &undeclared), "{\"Item\":{\"id\":{\"S\":\"1\"}}}\n");
    assert_eq!(write_item(&VIEW, "1", &undeclared), item(&line("1", &undeclared)));
}

#[test]
fn an_incremental_export_holds_the_new_image() {
    let line = r#"{"Metadata":{"WriteTimestampMicros":{"N":"1"}},"Keys":{"id":{"S":"1"}},"OldImage":{"id":{"S":"0"}},"NewImage":{"id":{"S":"1"},"wa":{"S":"0001"}}}"#;
    let (key, found) = read(line).unwrap();
    assert_eq!((key.as_str(), found.state.stamp("wa")), ("1", Some(&stamp(1))));
    let deletion = r#"{"Metadata":{},"Keys":{"id":{"S":"1"}},"OldImage":{"id":{"S":"1"}}}"#;
    assert!(matches!(read(deletion), Err(BadLine::NotAnItem { .. })), "{:?}", read(deletion));
}

#[test]
fn a_line_of_a_newer_version_is_read_as_far_as_it_is_known() {
    let line = r#"{"Item":{"novelty":{"M":{"a":{"B":"AA=="}}},"wz":{"S":"0009"},"wa":{"BOOL":true},"name":{"S":"n"},"words":{"NS":["1"]},
        "steps":{"N":"1"},"notes":{"SS":["b","a"]},"Order1":{"S":"0001"},"Ticket1":{"N":"1"},"place":{"L":[{"N":"1"},{"XS":[]}]},"id":{"S":"1"}}}"#;
    let (key, found) = read(line).unwrap();
    assert_eq!(key, "1");
    let unreadable: Vec<_> = found.unreadable.iter().map(|unreadable| unreadable.attribute.as_str()).collect();
    assert_eq!(unreadable, ["wa", "words", "steps", "Ticket1", "place"]);
    assert_eq!(found.state.attribute::<String>("wa", "name").as_deref(), Some("n"));
    assert_eq!(found.state.set("notes").collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(found.state.marks().collect::<Vec<_>>(), [("Order1", &stamp(1))]);
}

fn words(content: &str) -> String {
    format!(r#"{{"Item":{{"id":{{"S":"1"}},"wa":{{"S":"0001"}},"words":{content}}}}}"#)
}

/// What a line and the item of the line say about the attribute `words`, which is a text set.
#[track_caller]
fn read_words(line: &str) -> (Option<Value>, Vec<Unreadable>) {
    let (_, found) = read(line).unwrap();
    assert_eq!(read_item(&VIEW, item(line)), found, "{line}");
    (found.state.attribute("wa", "words"), found.unreadable)
}

#[test]
fn a_text_set_is_read_from_a_set_or_a_list_of_texts() {
    let sets = [
        (r#"{"SS":["b","a"]}"#, Some(json!(["a", "b"]))),
        (r#"{"L":[{"S":"b"},{"S":"a"},{"S":"b"}]}"#, Some(json!(["a", "b"]))),
        (r#"{"L":[{"S":"5"},{"S":"\"]"}]}"#, Some(json!(["5", "\"]"]))),
        (r#"{"L":[]}"#, None),
    ];
    for (content, expected) in sets {
        assert_eq!(read_words(&words(content)), (expected, vec![]), "{content}");
    }
}

#[test]
fn a_text_set_that_is_something_else_is_unreadable() {
    let contents = [
        (r#"{"L":[{"N":"5"}]}"#, json!([5])),
        (r#"{"L":[{"N":"12"}]}"#, json!([12])),
        (r#"{"L":[{"BOOL":true}]}"#, json!([true])),
        (r#"{"L":[{"S":"a"},{"NULL":true}]}"#, json!(["a", null])),
        (r#"{"L":[{"L":[]}]}"#, json!([[]])),
        (r#"{"M":{}}"#, json!({})),
        (r#"{"S":"a"}"#, json!("a")),
        (r#"{"NULL":true}"#, json!(null)),
    ];
    for (content, kept) in contents {
        let expected = Unreadable { attribute: "words".to_owned() };
        // It is kept, so that a facet is not read as one whose set is empty.
        assert_eq!(read_words(&words(content)), (Some(kept), vec![expected]), "{content}");
    }
}

/// A program can make it, though not from a facet: it must neither stop the program nor become a set of other texts.
#[test]
fn a_text_set_that_is_something_else_in_memory_is_written_as_what_it_is() {
    let contents = [
        (json!([5]), r#"{"L":[{"N":"5"}]}"#),
        (json!([12]), r#"{"L":[{"N":"12"}]}"#),
        (json!([true]), r#"{"L":[{"BOOL":true}]}"#),
        (json!(["a", 1]), r#"{"L":[{"S":"a"},{"N":"1"}]}"#),
        (json!([]), r#"{"L":[]}"#),
        (json!(["b", "a", "b"]), r#"{"SS":["a","b"]}"#),
    ];
    for (content, expected) in contents {
        let attributes = Attributes::from([("words".into(), content)]);
        let state = state(&[Piece::Facet { watermark: "wa".into(), by: stamp(1), attributes }]);
        assert_eq!(line("1", &state).trim_end(), words(expected));
        assert_eq!(write_item(&VIEW, "1", &state), item(&words(expected)));
    }
}

/// One unknown type in a list or map is enough, wherever it is.
#[test]
fn content_of_an_unknown_type_is_unreadable() {
    let place = |content: &str| format!(r#"{{"Item":{{"id":{{"S":"1"}},"wb":{{"S":"0001"}},"place":{content}}}}}"#);
    let contents = [
        r#"{"XS":[]}"#,
        r#"{"L":[{"N":"1"},{"XS":[]}]}"#,
        r#"{"L":[{"XS":[]},{"N":"1"}]}"#,
        r#"{"M":{"a":{"N":"1"},"b":{"XS":[]}}}"#,
        r#"{"M":{"a":{"XS":[]},"b":{"N":"1"}}}"#,
    ];
    for content in contents {
        let (_, found) = read(&place(content)).unwrap();
        let unreadable: Vec<_> = found.unreadable.iter().map(|unreadable| unreadable.attribute.as_str()).collect();
        assert_eq!(unreadable, ["place"], "{content}");
        assert_eq!(found.state.attribute::<Value>("wb", "place"), None, "{content}");
    }
}

#[track_caller]
fn refused(line: &str, message: &str) {
    let error = read(line).unwrap_err();
    assert_eq!(error.to_string(), message);
    assert!(!error.to_string().contains("secret"));
}

#[test]
fn the_error_for_a_line_that_is_not_an_item_names_the_column_and_no_content() {
    let expected = r#"expected {"Item":{"name":{"S":"text"}, …}}"#;
    refused("", "not valid JSON at column 0");
    refused(r#"{"Item":{"id":{"S":"secret"}}"#, "not valid JSON at column 29");
    refused(r#"{"Item":{"id":{"S":"1"}}} secret"#, "not valid JSON at column 27");
    refused(r#"["secret"]"#, &format!("not DynamoDB JSON at column 0: {expected}"));
    refused(r#"{"secret":1}"#, &format!("not DynamoDB JSON at column 12: {expected}"));
    refused(r#"{"Item":{"id":"secret"}}"#, &format!("not DynamoDB JSON at column 22: {expected}"));
    refused(r#"{"Item":{"name":{"S":"a","N":"1"}}}"#, &format!("not DynamoDB JSON at column 28: {expected}"));
    refused(r#"{"Item":{"name":{"S":"secret"}}}"#, "the item has no key `id`, or its key is not a text");
    refused(r#"{"Item":{"id":{"N":"1"}}}"#, "the item has no key `id`, or its key is not a text");
}
