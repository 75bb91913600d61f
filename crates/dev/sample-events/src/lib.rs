#![doc = include_str!("../README.md")]
// This crate serves tests: a sample that cannot be read should stop the test there.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

mod arbitrary;

use std::collections::HashSet;
use std::path::Path;

use order_events::{Event, EventType, Message, OrderId};
use serde_json::Value;

pub use arbitrary::arbitrary;

/// The view's table, as `template.yaml` names it. For tests: a function has the name from its environment.
pub const ORDER_HISTORY_TABLE: &str = "ftgo-order-history";

/// The idempotency records' table, as `template.yaml` names it.
pub const IDEMPOTENCY_TABLE: &str = "ftgo-order-history-idempotency";

/// A file of `events/`, by its name without `.json`.
#[must_use]
pub fn sample(name: &str) -> Value {
    let events = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../events");
    let text = std::fs::read_to_string(events.join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The whole life of order 99: every event type, two revisions, two deliveries; in order.
#[must_use]
pub fn story() -> Vec<Event> {
    story_messages().iter().map(|message| read(&message.to_string())).collect()
}

/// The messages of the [`story`]. A type that `story.json` does not tell comes in with its own sample.
#[must_use]
pub fn story_messages() -> Vec<Value> {
    let Value::Array(mut messages) = sample("story") else { panic!("the story is an array") };
    let told: HashSet<_> = messages.iter().map(|message| read(&message.to_string()).event_type()).collect();
    let untold = EventType::ALL.iter().filter(|event_type| !told.contains(event_type));
    messages.extend(untold.map(|event_type| message_of_type(*event_type)));
    messages.sort_by_key(|message| read(&message.to_string()).id);
    messages
}

/// The message in the sample of this type.
pub(crate) fn message_of_type(event_type: EventType) -> Value {
    let sample = sample(event_type.name());
    serde_json::from_str(sample["Records"][0]["body"].as_str().unwrap()).unwrap()
}

/// The last event of this type in the story.
#[must_use]
pub fn of_type(event_type: EventType) -> Event {
    story().into_iter().rfind(|event| event.event_type() == event_type).unwrap()
}

/// The same event, told of another order.
#[must_use]
pub fn of_order(event: &Event, order_id: &OrderId) -> Event {
    let mut message: Value = serde_json::from_str(&event.to_message().unwrap()).unwrap();
    let mut payload: Value = serde_json::from_str(message["payload"].as_str().unwrap()).unwrap();
    if payload["orderId"].is_string() {
        payload["orderId"] = order_id.as_str().into();
        message["payload"] = payload.to_string().into();
    } else {
        message["headers"]["event-aggregate-id"] = order_id.as_str().into();
    }
    read(&message.to_string())
}

fn read(message: &str) -> Event {
    Message::parse(message).unwrap().event
}
