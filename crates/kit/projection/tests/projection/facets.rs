//! A typed facet, into a state and out of it.

use std::error::Error;

use projection::{Attributes, Facet, Found, Piece, Shape, State, Unreadable, View};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::pieces::stamp;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Name {
    name: Option<String>,
    words: Vec<String>,
}

impl Facet for Name {
    const WATERMARK: &'static str = "wa";
    const ATTRIBUTES: &'static [&'static str] = &["name", "words"];
    const TEXT_SETS: &'static [&'static str] = &["words"];
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Degrees(f64);

impl Facet for Degrees {
    const WATERMARK: &'static str = "wd";
    const ATTRIBUTES: &'static [&'static str] = &["degrees"];
}

/// It has a member that it does not declare.
#[derive(Serialize, Deserialize)]
struct Undeclared {
    name: String,
    secret: String,
}

impl Facet for Undeclared {
    const WATERMARK: &'static str = "wu";
    const ATTRIBUTES: &'static [&'static str] = &["name", "other"];
}

#[test]
fn a_facet_reads_back_as_it_was_written() {
    let mut state = State::default();
    let name = Name { name: None, words: vec!["a".to_owned()] };
    state.apply([Piece::facet(&name, &stamp(1)).unwrap(), Piece::facet(&Degrees(38.0), &stamp(1)).unwrap()]);
    assert_eq!(state.facet(), Ok(Some(name)));
    assert_eq!(state.facet(), Ok(Some(Degrees(38.0))));
    assert_eq!(state.stamp("wa"), Some(&stamp(1)));
    assert_eq!(State::default().facet::<Name>(), Ok(None));
}

/// A newer version of the program may have written the attribute.
#[test]
fn a_facet_with_an_attribute_that_cannot_be_read_is_not_part_of_the_whole_state() {
    const VIEW: View =
        View { key: "id", facets: &[Shape::of::<Name>(), Shape::of::<Degrees>()], sets: &[], marks: &[] };
    let mut state = State::default();
    let name = Name { name: None, words: vec!["a".to_owned()] };
    state.apply([Piece::facet(&name, &stamp(1)).unwrap(), Piece::facet(&Degrees(38.0), &stamp(1)).unwrap()]);
    for (attribute, has_name, has_degrees) in
        [("words", false, true), ("wa", false, true), ("degrees", true, false), ("unknown", true, true)]
    {
        let unreadable = vec![Unreadable { attribute: attribute.to_owned() }];
        let whole = Found { state: state.clone(), unreadable }.whole(&VIEW);
        assert_eq!(whole.stamp("wa").is_some(), has_name, "{attribute}");
        assert_eq!(whole.stamp("wd").is_some(), has_degrees, "{attribute}");
    }
}

#[test]
fn a_whole_number_is_one_number_however_it_is_written() {
    assert_eq!(Piece::facet(&Degrees(-0.0), &stamp(1)).unwrap(), Piece::facet(&Degrees(0.0), &stamp(1)).unwrap());
    let Piece::Facet { attributes, .. } = Piece::facet(&Degrees(38.0), &stamp(1)).unwrap() else { panic!("a facet") };
    assert_eq!(attributes.get("degrees"), Some(json!(38)));
    let Piece::Facet { attributes, .. } = Piece::facet(&Degrees(1e19), &stamp(1)).unwrap() else { panic!("a facet") };
    assert_eq!(attributes.get("degrees"), Some(json!(10_000_000_000_000_000_000_u64)));
    let Piece::Facet { attributes, .. } = Piece::facet(&Degrees(1e300), &stamp(1)).unwrap() else { panic!("a facet") };
    assert_eq!(attributes.get("degrees"), Some(json!(1e300)));
}

/// As `null`, it would remove the attribute from the item.
#[test]
fn a_number_that_is_not_finite_is_refused_when_it_is_written() {
    for degrees in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = Piece::facet(&Degrees(degrees), &stamp(1)).unwrap_err();
        assert_eq!(error.to_string(), "the value of `wd` cannot be written as JSON");
        assert_eq!(error.source().unwrap().to_string(), "a number must be finite");
    }
}

#[test]
fn an_attribute_that_is_not_declared_is_refused_when_it_is_written() {
    let undeclared = Undeclared { name: "n".to_owned(), secret: "s".to_owned() };
    let error = Piece::facet(&undeclared, &stamp(1)).unwrap_err();
    assert!(error.to_string().contains("`wu`") && !error.to_string().contains("secret"), "{error}");
}

/// It says that it is a set of texts.
#[derive(Serialize, Deserialize)]
struct Numbers(Option<Vec<u8>>);

impl Facet for Numbers {
    const WATERMARK: &'static str = "wn";
    const ATTRIBUTES: &'static [&'static str] = &["numbers"];
    const TEXT_SETS: &'static [&'static str] = &["numbers"];
}

/// It says that it is a set of texts, and is one text.
#[derive(Serialize, Deserialize)]
struct NoList(String);

impl Facet for NoList {
    const WATERMARK: &'static str = "wn";
    const ATTRIBUTES: &'static [&'static str] = &["words"];
    const TEXT_SETS: &'static [&'static str] = &["words"];
}

#[test]
fn a_text_set_with_other_elements_is_refused_when_it_is_written() {
    assert!(Piece::facet(&Numbers(Some(vec![1])), &stamp(1)).is_err());
    assert!(Piece::facet(&Numbers(None), &stamp(1)).is_ok());
    assert!(Piece::facet(&NoList("a".to_owned()), &stamp(1)).is_err());
}

#[test]
fn a_text_set_has_no_order() {
    let of = |name: &Name| Piece::facet(name, &stamp(1)).unwrap();
    for name in [None, Some("n".to_owned())] {
        let words =
            |words: &[&str]| Name { name: name.clone(), words: words.iter().map(ToString::to_string).collect() };
        for same in [["a", "b", "b"], ["b", "a", "a"], ["a", "a", "b"], ["b", "a", "b"]] {
            assert_eq!(of(&words(&same)), of(&words(&["a", "b"])), "{same:?}");
        }
        let Piece::Facet { attributes, .. } = of(&words(&["b", "a"])) else { panic!("a facet") };
        assert_eq!(attributes.get("words"), Some(json!(["a", "b"])));
    }
}

#[test]
fn an_empty_text_set_is_not_stored_and_reads_back() {
    let empty = Name { name: None, words: vec![] };
    let piece = Piece::facet(&empty, &stamp(1)).unwrap();
    let Piece::Facet { attributes, .. } = &piece else { panic!("a facet") };
    assert!(attributes.is_empty());
    let mut state = State::default();
    state.apply([piece]);
    assert_eq!(state.facet(), Ok(Some(empty)));
}

/// Neither is a text set.
#[derive(Serialize, Deserialize)]
struct Lists {
    empty: Vec<u8>,
    nothing: (),
    ordered: Vec<String>,
}

impl Facet for Lists {
    const WATERMARK: &'static str = "wl";
    const ATTRIBUTES: &'static [&'static str] = &["empty", "nothing", "ordered"];
}

#[test]
fn a_list_keeps_its_order_and_an_empty_list_is_stored() {
    let lists = Lists { empty: vec![], nothing: (), ordered: vec!["b".to_owned(), "a".to_owned()] };
    let Piece::Facet { attributes, .. } = Piece::facet(&lists, &stamp(1)).unwrap() else { panic!("a facet") };
    assert_eq!(attributes, Attributes::from([("empty".into(), json!([])), ("ordered".into(), json!(["b", "a"]))]));
    assert!(!attributes.is_empty());
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_there() {
    let attributes = Attributes::from([("name".into(), json!("n")), ("words".into(), json!(7))]);
    let mut state = State::default();
    state.apply([
        Piece::Facet { watermark: "wa".into(), by: stamp(1), attributes },
        Piece::facet(&Degrees(1.5), &stamp(1)).unwrap(),
    ]);
    assert_eq!(state.facet::<Name>().unwrap_err().attribute, "words");
    assert_eq!(state.attribute::<String>("wa", "name").as_deref(), Some("n"));
    assert_eq!(state.attribute::<String>("wa", "words"), None);
    assert_eq!(state.facet(), Ok(Some(Degrees(1.5))));
}
