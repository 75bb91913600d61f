//! Compares the items of two orders.

use std::collections::{BTreeMap, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;
use order_view::VIEW;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// An item as DynamoDB has it.
pub(super) type Item = HashMap<String, AttributeValue>;

/// The ids in an order's item, with a placeholder for each. Two orders with the same events have the same placeholders.
#[derive(Debug)]
pub(super) struct Names(Vec<(String, String)>);

impl Names {
    /// The ids of an order and of its events, in sequence. The ids of its other aggregates contain the order's id.
    pub(super) fn new(order_id: &str, event_ids: &[String]) -> Self {
        let events = event_ids.iter().enumerate().map(|(index, id)| (id.clone(), format!("(event {index:02})")));
        Self(events.chain([(order_id.to_owned(), "(order)".to_owned())]).collect())
    }

    fn replace(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, placeholder)| text.replace(name.as_str(), placeholder))
    }
}

/// The content of an item, without its key and with placeholders for the ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Content(String);

impl Content {
    pub(super) fn of(item: &Item, names: &Names) -> Self {
        let attributes = item.iter().filter(|(name, _)| *name != VIEW.key);
        let attributes = attributes.map(|(name, value)| (names.replace(name), canonical(value, names)));
        Self(json!(attributes.collect::<BTreeMap<_, _>>()).to_string())
    }

    /// Eight hexadecimal digits: equal for equal contents, and almost certainly different otherwise.
    pub(super) fn digest(&self) -> String {
        let digest = Sha256::digest(self.0.as_bytes());
        digest.iter().take(4).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
    }
}

fn canonical(value: &AttributeValue, names: &Names) -> Value {
    let set = |kind: &str, elements: Vec<String>| {
        let mut elements: Vec<_> = elements.iter().map(|element| names.replace(element)).collect();
        elements.sort();
        json!({kind: elements})
    };
    match value {
        AttributeValue::S(text) => json!({"S": names.replace(text)}),
        AttributeValue::N(number) => json!({"N": number}),
        AttributeValue::Bool(truth) => json!({"BOOL": truth}),
        AttributeValue::Null(_) => json!({"NULL": true}),
        AttributeValue::B(bytes) => json!({"B": bytes.as_ref()}),
        AttributeValue::L(list) => json!({"L": list.iter().map(|value| canonical(value, names)).collect::<Vec<_>>()}),
        AttributeValue::M(map) => {
            let members = map.iter().map(|(name, value)| (names.replace(name), canonical(value, names)));
            json!({"M": members.collect::<BTreeMap<_, _>>()})
        }
        AttributeValue::Ss(texts) => set("SS", texts.clone()),
        AttributeValue::Ns(numbers) => set("NS", numbers.clone()),
        // No view writes any other kind.
        other => json!(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [[&str; 2]; 2] = [
        ["0000019ca9450a07-00000000000000a0", "0000019ca9450b07-00000000000000a0"],
        ["0000019ca9450a07-00000000000000b1", "0000019ca9450b07-00000000000000b1"],
    ];

    /// The item of an order after two events.
    fn item(order_id: &str, [first, second]: [&str; 2]) -> Item {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let mut timeline = vec![format!("{first} OrderCreated"), format!("{second} DeliveryScheduled")];
        // A set has no order.
        if order_id.ends_with('b') {
            timeline.reverse();
        }
        Item::from([
            ("orderId".to_owned(), text(order_id)),
            ("status".to_owned(), text("APPROVAL_PENDING")),
            ("ws".to_owned(), text(first)),
            (format!("Deliverydelivery-{order_id}"), text(second)),
            ("timeline".to_owned(), AttributeValue::Ss(timeline)),
            (
                "payment".to_owned(),
                AttributeValue::M([("amount".to_owned(), AttributeValue::N("7".to_owned()))].into()),
            ),
        ])
    }

    type Change = fn(&mut Item);

    fn content(lane: usize, change: impl FnOnce(&mut Item)) -> Content {
        let order_id = ["shuffle-1-a", "shuffle-1-b"][lane];
        let mut item = item(order_id, EVENTS[lane]);
        change(&mut item);
        Content::of(&item, &Names::new(order_id, &EVENTS[lane].map(str::to_owned)))
    }

    #[test]
    fn two_orders_with_the_same_events_are_equal() {
        let [one, other] = [content(0, |_| {}), content(1, |_| {})];
        assert_eq!(one, other);
        assert_eq!(one.digest(), other.digest());
    }

    #[test]
    fn a_changed_item_is_not_equal() {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let changes: [(&str, Change); 6] = [
            ("a value", |item| _ = item.insert("status".to_owned(), AttributeValue::S("APPROVED".to_owned()))),
            ("a watermark", |item| _ = item.insert("ws".to_owned(), AttributeValue::S(EVENTS[1][1].to_owned()))),
            ("an attribute more", |item| _ = item.insert("note".to_owned(), AttributeValue::Null(true))),
            ("an attribute less", |item| _ = item.remove("timeline")),
            ("an element less", |item| {
                item.insert("timeline".to_owned(), AttributeValue::Ss(vec![format!("{} OrderCreated", EVENTS[1][0])]));
            }),
            ("a value further down", |item| {
                let amount = ("amount".to_owned(), AttributeValue::N("8".to_owned()));
                item.insert("payment".to_owned(), AttributeValue::M([amount].into()));
            }),
        ];
        let one = content(0, |_| {});
        for (what, change) in changes {
            let other = content(1, change);
            assert_ne!(one, other, "{what}");
            assert_ne!(one.digest(), other.digest(), "{what}");
        }
        // An event id of the other order has no placeholder here.
        assert_ne!(one, content(1, |item| _ = item.insert("ws".to_owned(), text(EVENTS[0][0]))));
    }
}
