//! Partial views into a table, with what they cost.

use std::cell::Cell;
use std::thread;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use embedded_dynamodb::{Disturbance, Wire};
use projection::dynamodb::{Error, Item, Merged, Outcome, Table, item_size, render, write_item};
use projection::{Attributes, Piece, Shape, State, View};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use tokio::runtime::Runtime;

use crate::pieces::{VIEW, honest_pieces, pieces, stamp};
use crate::table::{World, state};

fn merge_over(world: &World, wire: &Wire, key: &str, state: State) -> Merged {
    world.runtime.block_on(world.table_over(wire).merge(key, state)).unwrap()
}

fn name(name: &str) -> Piece {
    let attributes = Attributes::from([("name".into(), json!(name))]);
    Piece::Facet { watermark: "wa".into(), by: stamp(1), attributes }
}

fn two_facets() -> [Piece; 5] {
    let place = Attributes::from([("place".into(), json!(1))]);
    [
        Piece::Mark { attribute: "Order1".into(), by: stamp(2) },
        name("n"),
        Piece::Facet { watermark: "wb".into(), by: stamp(2), attributes: place },
        Piece::Element { set: "steps".into(), element: "1".to_owned() },
        Piece::Element { set: "steps".into(), element: "2".to_owned() },
    ]
}

#[test]
fn a_partial_view_under_a_fresh_key_is_one_request() {
    let (world, wire) = (World::create(), Wire::watched());
    let merged = merge_over(&world, &wire, "1", state(&two_facets()));
    assert_eq!((merged.outcome, merged.requests, merged.contradictions), (Outcome::Created, 1, vec![]));
    assert!((merged.write_units - 1.0).abs() < f64::EPSILON, "{}", merged.write_units);
    assert_eq!((wire.count("PutItem"), wire.requests().len()), (1, 1));
    assert_eq!(world.state("1"), state(&two_facets()));
}

#[test]
fn a_partial_view_again_is_one_request_that_changes_nothing() {
    let (world, wire) = (World::create(), Wire::watched());
    let _ = merge_over(&world, &wire, "1", state(&two_facets()));
    let again = merge_over(&world, &wire, "1", state(&two_facets()));
    assert_eq!((again.outcome, again.requests), (Outcome::Unchanged, 1));
    assert_eq!(wire.count("UpdateItem"), 0);
}

#[test]
fn a_partial_view_that_adds_to_an_item_is_one_update_of_what_is_news() {
    let (world, wire) = (World::create(), Wire::watched());
    let (some, others) = (&two_facets()[..2], &two_facets()[1..]);
    let _ = merge_over(&world, &wire, "1", state(some));
    let merged = merge_over(&world, &wire, "1", state(others));
    assert_eq!((merged.outcome, merged.requests), (Outcome::Updated, 2));
    assert_eq!((wire.count("PutItem"), wire.count("UpdateItem")), (2, 1));
    assert_eq!(world.state("1"), state(&two_facets()));
}

#[test]
fn an_empty_partial_view_sends_no_request() {
    let (world, wire) = (World::create(), Wire::watched());
    let merged = merge_over(&world, &wire, "1", State::default());
    assert_eq!((merged.outcome, wire.requests().len()), (Outcome::Unchanged, 0));
}

#[test]
fn a_server_that_does_not_return_the_old_item_is_asked_for_it() {
    let (world, wire) = (World::create(), Wire::disturbed(|_| Disturbance::HideOldItem));
    let _ = merge_over(&world, &wire, "1", state(&two_facets()[..2]));
    let merged = merge_over(&world, &wire, "1", state(&two_facets()[1..]));
    assert_eq!((merged.requests, wire.count("GetItem")), (3, 1));
    assert_eq!(world.state("1"), state(&two_facets()));
}

/// DynamoDB refuses an expression of more than 4 KB; an item is no expression.
#[test]
fn a_partial_view_of_very_many_sources_is_created_at_once_and_updated_by_parts() {
    let (world, wire) = (World::create(), Wire::watched());
    let marks = (0..100).map(|n| Piece::Mark { attribute: format!("Order{n:0>200}").into(), by: stamp(n) });
    let elements = (0..100).map(|n| Piece::Element { set: "steps".into(), element: format!("{n:0>300}") });
    let pieces: Vec<_> = marks.chain(elements).collect();
    for pieces in pieces.chunks(40) {
        let longest = render(&VIEW, pieces).condition_expression.unwrap_or_default().len();
        assert!(longest < 4_096, "{longest}");
    }
    let merged = merge_over(&world, &wire, "fresh", state(&pieces));
    assert_eq!((merged.outcome, wire.requests().len()), (Outcome::Created, 1));
    let units = item_size(&write_item(&VIEW, "fresh", &state(&pieces))).div_ceil(1_024);
    assert!((merged.write_units - f64::from(u32::try_from(units).unwrap())).abs() < f64::EPSILON, "{merged:?}");
    assert_eq!(world.state("fresh"), state(&pieces));

    let _ = merge_over(&world, &wire, "there", state(&[name("n")]));
    let merged = merge_over(&world, &wire, "there", state(&pieces));
    assert_eq!((merged.outcome, merged.requests), (Outcome::Updated, 4), "one refused, three updates");
    assert_eq!(world.state("there"), state(&[pieces, vec![name("n")]].concat()));
}

#[test]
fn what_the_view_does_not_declare_is_not_merged() {
    let (world, wire) = (World::create(), Wire::watched());
    let undeclared = Piece::Element { set: "tags".into(), element: "x".to_owned() };
    let merge = world.table_over(&wire).merge("1", state(&[undeclared])).await_in(&world);
    assert!(matches!(merge, Err(Error::Unwritable(_))), "{merge:?}");
    assert_eq!(wire.requests().len(), 0);
}

/// The process ends at any request, before or after it took effect, and what it did is done again.
#[test]
fn a_merge_that_is_killed_at_any_request_and_repeated_leaves_the_same_item() {
    let world = World::create();
    let case = Cell::new(0);
    let mut runner = TestRunner::new(Config { cases: 60, failure_persistence: None, ..Config::default() });
    runner
        .run(&(pieces(15), pieces(15)), |(stored, added)| {
            let (stored, added) = (folded(&stored), folded(&added));
            let mut expected = stored.clone();
            expected.merge(added.clone());
            for kill in 1.. {
                case.set(case.get() + 1);
                let key = format!("key-{}", case.get());
                let _ = world.table().merge(&key, stored.clone()).await_in(&world).unwrap();
                let end = if case.get() % 2 == 0 { Disturbance::FailBefore } else { Disturbance::LoseResponse };
                let wire = Wire::disturbed(move |request| if request.number == kill { end } else { Disturbance::None });
                let killed = world.table_over(&wire).merge(&key, added.clone()).await_in(&world);
                let _ = world.table().merge(&key, added.clone()).await_in(&world).unwrap();
                prop_assert_eq!(world.state(&key), expected.clone());
                if killed.is_ok() {
                    break;
                }
            }
            Ok(())
        })
        .unwrap();
}

/// As in memory: so a rebuild makes the same table whatever the order of its batches.
#[test]
fn of_two_contents_with_one_id_the_same_one_stays_in_any_order_and_both_orders_report_it() {
    let world = World::create();
    for (key, contents) in [("1", ["first", "second"]), ("2", ["second", "first"])] {
        let mut last = None;
        for content in contents {
            last = Some(world.table().merge(key, state(&[name(content)])).await_in(&world).unwrap());
        }
        let contradictions = last.unwrap().contradictions;
        let reported: Vec<_> = contradictions.iter().map(|found| (&*found.watermark, &found.by)).collect();
        assert_eq!(reported, [("wa", &stamp(1))], "{key}");
        assert_eq!(world.state(key).attribute::<String>("wa", "name").as_deref(), Some("second"), "{key}");
    }
}

/// One attribute's name is another's with a word before it, as an alias in an expression might be.
const LOOK_ALIKES: View = View {
    key: "id",
    facets: &[Shape { watermark: "wl", attributes: &["at", "stored_at", "old_at", "eventAt"], text_sets: &[] }],
    sets: &[],
    marks: &[],
};

#[test]
fn of_two_contents_with_one_id_one_stays_whole_whatever_its_attributes_are_called() {
    let world = World::create();
    let table = Table::new(world.engine.client(), "view", &LOOK_ALIKES);
    let content = |letter: &str| {
        let attributes = LOOK_ALIKES.facets[0].attributes.iter().map(|name| (*name, json!(format!("{letter} {name}"))));
        state(&[Piece::Facet { watermark: "wl".into(), by: stamp(1), attributes: attributes.collect() }])
    };
    for letter in ["a", "b"] {
        let _ = table.merge("1", content(letter)).await_in(&world).unwrap();
    }
    let found = table.find("1").await_in(&world).unwrap().unwrap();
    assert_eq!(found.state, content("b"));
}

/// Merges the name `m` into an item that has the name `a` under the same id. After the merge has seen `a`, another writer puts `theirs`.
/// Returns the item, what was done to it, and the number of requests.
fn merge_while_another_writer_puts(theirs: Item) -> (Item, Outcome, usize) {
    let world = World::create();
    let _ = world.table().merge("1", state(&[name("a")])).await_in(&world).unwrap();
    let client = world.engine.client();
    let wire = Wire::disturbed(move |request| {
        if request.number == 2 {
            let put = client.put_item().table_name("view").set_item(Some(theirs.clone())).send();
            // This thread is that of the merge, so it cannot wait for a request.
            thread::scope(|scope| scope.spawn(|| Runtime::new().unwrap().block_on(put).unwrap()).join()).unwrap();
        }
        Disturbance::None
    });
    let merged = merge_over(&world, &wire, "1", state(&[name("m")]));
    let item = world.engine.client().get_item().table_name("view").key("id", AttributeValue::S("1".to_owned())).send();
    (item.await_in(&world).unwrap().item.unwrap(), merged.outcome, merged.requests)
}

#[test]
fn of_two_contents_with_one_id_the_same_one_stays_if_writers_are_concurrent() {
    let item = |name: &str, by| {
        let attributes = Attributes::from([("name".into(), json!(name))]);
        write_item(&VIEW, "1", &state(&[Piece::Facet { watermark: "wa".into(), by: stamp(by), attributes }]))
    };
    let lower = merge_while_another_writer_puts(item("k", 1));
    assert_eq!(lower, (item("m", 1), Outcome::Updated, 3));
    let equal = merge_while_another_writer_puts(item("m", 1));
    assert_eq!(equal, (item("m", 1), Outcome::Unchanged, 2));
    let higher = merge_while_another_writer_puts(item("z", 1));
    assert_eq!(higher, (item("z", 1), Outcome::Unchanged, 2));
    let later = merge_while_another_writer_puts(item("b", 2));
    assert_eq!(later, (item("b", 2), Outcome::Unchanged, 2));
}

#[test]
fn a_content_that_cannot_be_read_is_not_replaced_by_another_one_with_its_id() {
    let mut theirs = write_item(&VIEW, "1", &state(&[name("k")]));
    theirs.insert("name".to_owned(), AttributeValue::B(Blob::new([1])));
    let (item, outcome, _) = merge_while_another_writer_puts(theirs.clone());
    assert_eq!((item, outcome), (theirs, Outcome::Unchanged));
}

#[test]
fn merges_with_contradictions_add_up_to_what_they_add_up_to_in_memory() {
    let world = World::create();
    let case = Cell::new(0);
    let mut runner = TestRunner::new(Config { cases: 300, failure_persistence: None, ..Config::default() });
    runner
        .run(&(pieces(12), pieces(12), pieces(12)), |(a, b, c)| {
            case.set(case.get() + 1);
            let key = format!("key-{}", case.get());
            let mut expected = State::default();
            for pieces in [&a, &b, &c, &a] {
                let partial = folded(pieces);
                let contradicted = expected.merge(partial.clone());
                let merged = world.table().merge(&key, partial).await_in(&world).unwrap();
                prop_assert_eq!(merged.contradictions, contradicted);
            }
            prop_assert_eq!(world.state(&key), expected);
            Ok(())
        })
        .unwrap();
}

#[test]
fn partial_views_of_several_rebuilds_at_once_lose_nothing() {
    let world = World::create();
    let case = Cell::new(0);
    let mut runner = TestRunner::new(Config { cases: 100, failure_persistence: None, ..Config::default() });
    runner
        .run(&(honest_pieces(15), honest_pieces(15), pieces(10)), |(a, b, c)| {
            case.set(case.get() + 1);
            let key = format!("key-{}", case.get());
            let table = world.table();
            let (a, b, c) = (folded(&a), folded(&b), folded(&c));
            let (one, two, three) = world.runtime.block_on(async {
                tokio::join!(table.merge(&key, a.clone()), table.merge(&key, b.clone()), table.merge(&key, c.clone()))
            });
            let _ = (one.unwrap(), two.unwrap(), three.unwrap());
            let mut expected = a;
            expected.merge(b);
            expected.merge(c);
            prop_assert_eq!(world.state(&key), expected);
            Ok(())
        })
        .unwrap();
}

fn folded(pieces: &[Piece]) -> State {
    let mut state = State::default();
    state.apply(pieces.iter().cloned());
    state
}

trait AwaitIn: Future + Sized {
    fn await_in(self, world: &World) -> Self::Output {
        world.runtime.block_on(self)
    }
}

impl<F: Future> AwaitIn for F {}
