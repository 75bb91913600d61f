//! The expression of every event, as a snapshot for reviewers: `tests/store/snapshots/`.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use order_events::EventType;
use order_view::{VIEW, effect};
use projection::Piece;
use projection::dynamodb::{Update, render};
use sample_events::of_type;

#[test]
fn the_expression_of_every_event_is_as_in_the_snapshot() {
    for &event_type in EventType::ALL {
        let effect = effect(&of_type(event_type)).unwrap();
        insta::assert_snapshot!(event_type.name(), readable(&render(&VIEW, &effect.pieces)));
    }
}

#[test]
fn the_expression_of_a_late_event_contains_only_its_new_pieces() {
    let mut effect = effect(&of_type(EventType::OrderRevised)).unwrap();
    effect.pieces.retain(|piece| matches!(piece, Piece::Element { .. }));
    insta::assert_snapshot!("OrderRevised_late", readable(&render(&VIEW, &effect.pieces)));
}

/// One clause per line. Names that are equal to their alias are left out.
fn readable(update: &Update) -> String {
    let update_expression =
        update.update_expression.replace(", ", "\n    ").replace(" REMOVE ", "\nREMOVE ").replace(" ADD ", "\nADD ");
    let condition = update.condition_expression.as_deref().unwrap_or("nothing");
    let mut lines = vec![update_expression, format!("IF  {}", condition.replace(" AND ", "\nAND "))];
    let names: BTreeMap<_, _> = update.names.iter().collect();
    let renamed = names.iter().filter(|(alias, name)| alias[1..] != name[..]);
    lines.extend(renamed.map(|(alias, name)| format!("{alias} is {name}")));
    let values: BTreeMap<_, _> = update.values.iter().collect();
    lines.extend(values.iter().map(|(alias, value)| format!("{alias} is {}", show(value))));
    lines.join("\n")
}

fn show(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => format!("S {text:?}"),
        AttributeValue::N(number) => format!("N {number}"),
        AttributeValue::Ss(elements) => format!("SS {elements:#?}"),
        AttributeValue::L(values) => {
            let values: Vec<_> = values.iter().map(show).collect();
            format!("L\n    {}", values.join("\n    "))
        }
        AttributeValue::M(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            let members: Vec<_> = members.iter().map(|(name, value)| format!("{name}: {}", show(value))).collect();
            format!("M {{{}}}", members.join(", "))
        }
        other => panic!("we store no {other:?}"),
    }
}
