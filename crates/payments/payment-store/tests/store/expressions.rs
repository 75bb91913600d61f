//! The transaction of every command, as a snapshot for reviewers: `tests/store/snapshots/`.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem};
use lambda_boot::Clock;
use payment_intents::{Change, NewIntent, Outcome, PaymentIntent};
use payment_store::{Guard, PaymentStore, ReadItem, StoredIntent, UnitOfWork, Write};

use crate::world::{NOW, amount, at, charged_as, declined, tables};

fn store() -> PaymentStore {
    let config =
        aws_sdk_dynamodb::Config::builder().behavior_version(aws_sdk_dynamodb::config::BehaviorVersion::latest());
    let now = std::time::UNIX_EPOCH + std::time::Duration::from_millis(NOW);
    PaymentStore::new(aws_sdk_dynamodb::Client::from_conf(config.build()), tables(), Clock::from_fn(move || now))
}

fn created() -> Change {
    let new = NewIntent {
        id: "3f2b8c1e-5a47-4d0e-9c6b-7e1f0a9d2c35".parse().unwrap(),
        order_id: "99".parse().unwrap(),
        consumer_id: "1511300065921".parse().unwrap(),
        amount: amount(6_063),
        currency: "USD".parse().unwrap(),
    };
    PaymentIntent::create(new, at(0))
}

fn found(intent: &PaymentIntent) -> StoredIntent {
    StoredIntent { intent: intent.clone(), last_event_id: Some("0000019ca9450a07-0242ac1200080001".parse().unwrap()) }
}

fn requested() -> Change {
    created().after.request_charge(at(1_000)).unwrap()
}

fn settled(outcome: Outcome) -> Change {
    requested().after.settle(outcome, at(2_000)).unwrap()
}

fn render(change: &Change) -> String {
    let mut work = UnitOfWork::new();
    let before = change.before.as_ref().map(found);
    let guard = Guard::default();
    let after =
        store().add(&mut work, change, before.as_ref().map_or(ReadItem::Guard(&guard), ReadItem::Intent)).unwrap();
    let mut text = work.writes().iter().map(readable).collect::<Vec<_>>().join("\n\n");
    // Random in every run.
    if let Some(id) = after.last_event_id {
        text = text.replace(&id.to_string(), "<event id>");
    }
    text
}

#[test]
fn the_transaction_of_every_command_is_as_in_the_snapshot() {
    insta::assert_snapshot!("create", render(&created()));
    insta::assert_snapshot!("amount", render(&created().after.change_amount(amount(7_000), at(1_000)).unwrap()));
    insta::assert_snapshot!("charge", render(&requested()));
    insta::assert_snapshot!("settle_charged", render(&settled(charged_as("ch_1"))));
    insta::assert_snapshot!("settle_failed", render(&settled(declined())));
}

#[test]
fn the_second_intent_of_an_order_has_a_condition_on_the_last_event() {
    let mut work = UnitOfWork::new();
    let last_event_id = Some("0000019ca9450a07-0242ac1200080001".parse().unwrap());
    let guard = Guard { last_event_id, ..Guard::default() };
    store().add(&mut work, &created(), ReadItem::Guard(&guard)).unwrap();
    let text = work.writes().iter().map(readable).collect::<Vec<_>>().join("\n\n");
    insta::assert_snapshot!("create_again", text);
}

/// One clause per line. Names that are equal to their alias are left out.
fn readable((item, kind): &(TransactWriteItem, Write)) -> String {
    let mut lines = vec![format!("{kind:?}")];
    let (names, values, condition) = if let Some(put) = item.put() {
        lines.push(format!("PUT {} {}", put.table_name(), shown(put.item())));
        (put.expression_attribute_names(), put.expression_attribute_values(), put.condition_expression())
    } else {
        let update = item.update().unwrap();
        lines.push(format!("UPDATE {} {}", update.table_name(), shown(update.key())));
        lines.push(update.update_expression().replace(", ", "\n    ").replace(" REMOVE ", "\nREMOVE "));
        (update.expression_attribute_names(), update.expression_attribute_values(), update.condition_expression())
    };
    lines.push(format!("IF  {}", condition.unwrap_or("nothing").replace(" AND ", "\nAND ")));
    let names: BTreeMap<_, _> = names.into_iter().flatten().collect();
    lines.extend(
        names.iter().filter(|(alias, name)| alias[1..] != name[..]).map(|(alias, name)| format!("{alias} is {name}")),
    );
    let values: BTreeMap<_, _> = values.into_iter().flatten().collect();
    lines.extend(values.iter().map(|(alias, value)| format!("{alias} is {}", show(value))));
    lines.join("\n")
}

fn shown(item: &HashMap<String, AttributeValue>) -> String {
    let item: BTreeMap<_, _> = item.iter().collect();
    item.iter().fold(String::new(), |mut text, (name, value)| {
        let _ = write!(text, "\n    {name}: {}", show(value));
        text
    })
}

fn show(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => format!("S {text:?}"),
        AttributeValue::N(number) => format!("N {number}"),
        other => panic!("we store no {other:?}"),
    }
}
