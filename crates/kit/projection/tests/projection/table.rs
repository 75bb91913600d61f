//! The same rules in a table.

use std::cell::Cell;
use std::slice;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use embedded_dynamodb::{Engine, Wire};
use projection::dynamodb::{Applied, Error, Item, Table, item_size, read_item};
use projection::{Attributes, Effect, Facet, Piece, State, Unreadable};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::pieces::{VIEW, honest_pieces, stamp};

#[derive(Serialize, Deserialize)]
pub(crate) struct Place(pub(crate) Value);

impl Facet for Place {
    const WATERMARK: &'static str = "wb";
    const ATTRIBUTES: &'static [&'static str] = &["place"];
}

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) runtime: Runtime,
}

impl World {
    pub(crate) fn create() -> Self {
        let world = Self {
            engine: Engine::start(),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
        };
        let key = AttributeDefinition::builder().attribute_name(VIEW.key).attribute_type(ScalarAttributeType::S);
        let create = world
            .engine
            .client()
            .create_table()
            .table_name("view")
            .billing_mode(BillingMode::PayPerRequest)
            .attribute_definitions(key.build().unwrap())
            .key_schema(KeySchemaElement::builder().attribute_name(VIEW.key).key_type(KeyType::Hash).build().unwrap());
        world.runtime.block_on(create.send()).unwrap();
        world
    }

    pub(crate) fn table(&self) -> Table {
        Table::new(self.engine.client(), "view", &VIEW)
    }

    pub(crate) fn table_over(&self, wire: &Wire) -> Table {
        Table::new(self.engine.client_over(wire), "view", &VIEW)
    }

    pub(crate) fn state(&self, key: &str) -> State {
        let found = self.runtime.block_on(self.table().find(key)).unwrap().unwrap_or_default();
        assert_eq!(found.unreadable, []);
        found.state
    }
}

pub(crate) fn state(pieces: &[Piece]) -> State {
    let mut state = State::default();
    assert_eq!(state.apply(pieces.iter().cloned()), [], "an id stands for one content");
    state
}

/// Some events come as events, others in partial views of two rebuilds, while both go on.
#[test]
fn events_and_partial_views_add_up_to_what_they_add_up_to_in_memory() {
    let world = World::create();
    let case = Cell::new(0);
    let mut runner = TestRunner::new(Config { cases: 500, failure_persistence: None, ..Config::default() });
    let histories = (honest_pieces(15), honest_pieces(15), honest_pieces(15));
    runner
        .run(&histories, |(live, some, others)| {
            case.set(case.get() + 1);
            let key = format!("key-{}", case.get());
            world.runtime.block_on(async {
                let table = world.table();
                let _ = table.merge(&key, state(&some)).await.unwrap();
                for piece in &live {
                    let _ = table.apply(Effect { key: key.clone(), pieces: vec![piece.clone()] }).await.unwrap();
                }
                let _ = table.merge(&key, state(&others)).await.unwrap();
                let _ = table.merge(&key, state(&some)).await.unwrap();
            });
            prop_assert_eq!(world.state(&key), state(&[live, some, others].concat()));
            Ok(())
        })
        .unwrap();
}

/// Whatever DynamoDB makes of a number's text, table and memory agree.
#[test]
fn a_number_reads_back_as_it_is_in_memory() {
    let world = World::create();
    let floats =
        [0.0, -0.0, 38.0, -122.27, 1e-7, 0.1 + 0.2, 9_007_199_254_740_993.0, 1e16, 9.3e18, 1e19, 1e21, -1e19, 1e100];
    for (n, float) in floats.into_iter().enumerate() {
        let piece =
            Piece::facet(&Place(json!({"float": float, "list": [float, u64::MAX, i64::MIN]})), &stamp(1)).unwrap();
        let key = n.to_string();
        let effect = Effect { key: key.clone(), pieces: vec![piece.clone()] };
        let _ = world.runtime.block_on(world.table().apply(effect)).unwrap();
        assert_eq!(world.state(&key), state(&[piece]), "{float}");
    }
}

#[test]
fn of_two_events_with_one_id_the_first_stays_in_the_table() {
    let world = World::create();
    let facet = |name: &str| Piece::Facet {
        watermark: "wa".into(),
        by: stamp(1),
        attributes: Attributes::from([("name".into(), json!(name))]),
    };
    let apply = |name| {
        let effect = Effect { key: "1".to_owned(), pieces: vec![facet(name)] };
        world.runtime.block_on(world.table().apply(effect)).unwrap()
    };
    assert_eq!((apply("first"), apply("second")), (Applied::Written, Applied::Duplicate));
    assert_eq!(world.state("1").attribute::<String>("wa", "name").as_deref(), Some("first"));
}

/// A second time it would be no duplicate, for the view would not read it.
#[test]
fn what_the_view_does_not_declare_is_not_written() {
    let (world, wire) = (World::create(), Wire::watched());
    let attributes = |name: &'static str| Attributes::from([(name.into(), json!(1))]);
    let undeclared = [
        Piece::Mark { attribute: "Shipment7".into(), by: stamp(1) },
        Piece::Element { set: "tags".into(), element: "x".to_owned() },
        Piece::Facet { watermark: "wz".into(), by: stamp(1), attributes: attributes("name") },
        Piece::Facet { watermark: "wa".into(), by: stamp(1), attributes: attributes("other") },
    ];
    for piece in undeclared {
        let effect = Effect { key: "1".to_owned(), pieces: vec![piece] };
        let error = world.runtime.block_on(world.table_over(&wire).apply(effect)).unwrap_err();
        assert!(matches!(error, Error::Unwritable(_)) && !error.is_retryable(), "{error:?}");
    }
    assert_eq!(wire.requests().len(), 0);
}

#[test]
fn a_text_set_that_is_no_list_of_texts_is_not_written() {
    let (world, wire) = (World::create(), Wire::watched());
    let table = world.table_over(&wire);
    for words in [json!([5]), json!([12]), json!([true]), json!(["a", 1]), json!([]), json!("a"), json!(null)] {
        let attributes = Attributes::from([("name".into(), json!("n")), ("words".into(), words.clone())]);
        let piece = Piece::Facet { watermark: "wa".into(), by: stamp(1), attributes };
        let merged = world.runtime.block_on(table.merge("1", state(slice::from_ref(&piece))));
        let applied = world.runtime.block_on(table.apply(Effect { key: "1".to_owned(), pieces: vec![piece] }));
        for error in [merged.unwrap_err(), applied.unwrap_err()] {
            assert!(matches!(error, Error::Unwritable(_)), "{words}: {error:?}");
            assert!(error.to_string().starts_with("the value of `words` is not a list of texts"), "{error}");
        }
    }
    assert_eq!(wire.requests().len(), 0);
}

/// DynamoDB would refuse the expression, and its message is about paths.
#[test]
fn a_facet_or_mark_twice_in_one_effect_is_not_written() {
    let (world, wire) = (World::create(), Wire::watched());
    let mark = |event| Piece::Mark { attribute: "Order1".into(), by: stamp(event) };
    let other = Piece::Mark { attribute: "Order2".into(), by: stamp(1) };
    for (attribute, one, two) in
        [("wa", facet("wa", 1), facet("wa", 2)), ("wa", facet("wa", 1), facet("wa", 1)), ("Order1", mark(1), mark(2))]
    {
        let effect = Effect { key: "1".to_owned(), pieces: vec![one, other.clone(), two] };
        let error = world.runtime.block_on(world.table_over(&wire).apply(effect)).unwrap_err();
        assert!(matches!(error, Error::Unwritable(_)), "{error:?}");
        let expected = format!("the value of `{attribute}` is in the effect more than once");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    assert_eq!(wire.requests().len(), 0);
}

#[test]
fn an_element_twice_in_one_effect_is_one_element() {
    let world = World::create();
    let element = Piece::Element { set: "steps".into(), element: "x".to_owned() };
    let effect = Effect { key: "1".to_owned(), pieces: vec![element.clone(), element.clone()] };
    let _ = world.runtime.block_on(world.table().apply(effect)).unwrap();
    assert_eq!(world.state("1"), state(&[element]));
}

/// It would pass for the id of a later event, and the event would be taken for a duplicate.
#[test]
fn a_watermark_that_is_not_an_id_stops_the_event() {
    for garbage in [AttributeValue::S("garbage".to_owned()), AttributeValue::Bool(true)] {
        let error = apply_after([("wa", garbage)], vec![facet("wa", 1)]).unwrap_err();
        assert!(matches!(&error, Error::Corrupt(corrupt) if corrupt.attribute == "wa"), "{error:?}");
    }
}

#[test]
fn what_does_not_decide_about_an_event_does_not_stop_it() {
    let id = |id: &str| AttributeValue::S(id.to_owned());
    let other = ("steps", AttributeValue::N("1".to_owned()));
    assert_eq!(apply_after([("wa", id("0002")), other], vec![facet("wa", 1)]).unwrap().0, Applied::Duplicate);
    let both = vec![facet("wa", 1), facet("wb", 1)];
    let (applied, state) = apply_after([("wa", id("0002")), ("wb", id(""))], both).unwrap();
    assert_eq!(
        (applied, state.stamp("wb")),
        (Applied::WrittenLate, Some(&stamp(1))),
        "an empty text is older than every id"
    );
}

fn facet(watermark: &'static str, event: usize) -> Piece {
    Piece::Facet { watermark: watermark.into(), by: stamp(event), attributes: Attributes::new() }
}

/// What an effect does to an item with these attributes.
fn apply_after<const N: usize>(
    attributes: [(&str, AttributeValue); N],
    pieces: Vec<Piece>,
) -> Result<(Applied, State), Error> {
    let world = World::create();
    let mut put = world.engine.client().put_item().table_name("view").item("id", AttributeValue::S("1".to_owned()));
    for (name, value) in attributes {
        put = put.item(name, value);
    }
    world.runtime.block_on(async {
        put.send().await.unwrap();
        let applied = world.table().apply(Effect { key: "1".to_owned(), pieces }).await?;
        Ok((applied, world.table().find("1").await?.unwrap_or_default().state))
    })
}

#[test]
fn an_item_of_a_newer_version_is_read_as_far_as_it_is_known() {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let item = Item::from([
        ("id".to_owned(), text("1")),
        ("wa".to_owned(), AttributeValue::Bool(true)),
        ("name".to_owned(), text("n")),
        ("words".to_owned(), AttributeValue::Ns(vec!["1".to_owned()])),
        ("steps".to_owned(), AttributeValue::N("1".to_owned())),
        ("notes".to_owned(), AttributeValue::Ss(vec!["b".to_owned(), "a".to_owned()])),
        ("Order1".to_owned(), text("0001")),
        ("Ticket1".to_owned(), AttributeValue::N("1".to_owned())),
        ("novelty".to_owned(), text("?")),
        ("wz".to_owned(), text("0009")),
    ]);
    let found = read_item(&VIEW, item);
    let unreadable = ["words", "wa", "steps", "Ticket1"].map(|name| Unreadable { attribute: name.to_owned() });
    assert_eq!(found.unreadable, unreadable);
    assert_eq!(found.state.attribute::<String>("wa", "name").as_deref(), Some("n"));
    assert_eq!(found.state.set("notes").collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(found.state.marks().collect::<Vec<_>>(), [("Order1", &stamp(1))]);
}

/// Such as an item of an index that does not contain the watermarks.
#[test]
fn a_facet_without_its_watermark_is_there_if_it_has_an_attribute() {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let found = read_item(&VIEW, Item::from([("id".to_owned(), text("1")), ("place".to_owned(), text("Oakland"))]));
    assert_eq!(found.unreadable, []);
    assert_eq!(found.state.facet().unwrap().map(|Place(place)| place), Some(json!("Oakland")));
    assert_eq!((found.state.stamp("wa"), found.state.stamp("wb")), (None, Some(&"".into())));
}

#[test]
fn the_size_of_an_item_is_that_of_its_names_and_values() {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let number = |number: &str| AttributeValue::N(number.to_owned());
    let bytes = |bytes: &[u8]| Blob::new(bytes);
    let list = vec![text("ab"), AttributeValue::Bool(true)];
    let map = [("key".to_owned(), text("vv"))].into();
    for (value, size) in [
        (text(""), 0),
        (text("café"), 5),
        (number("0"), 1),
        (number("7"), 2),
        (number("100"), 2),
        (number("-1.5"), 3),
        (number("-0.01250"), 4),
        (number("12345E-20"), 4),
        (AttributeValue::B(bytes(&[1, 2, 3])), 3),
        (AttributeValue::Bool(false), 1),
        (AttributeValue::Null(true), 1),
        (AttributeValue::Ss(vec!["a".to_owned(), "bc".to_owned()]), 3),
        (AttributeValue::Ns(vec!["1".to_owned(), "-22".to_owned()]), 5),
        (AttributeValue::Bs(vec![bytes(&[1]), bytes(&[2, 3])]), 3),
        (AttributeValue::L(list), 3 + (1 + 2) + (1 + 1)),
        (AttributeValue::M(map), 3 + (1 + 3 + 2)),
    ] {
        let item = Item::from([("id".to_owned(), text("1")), ("name".to_owned(), value)]);
        assert_eq!(item_size(&item), 2 + 1 + 4 + size, "{item:?}");
    }
}
