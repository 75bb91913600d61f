#![doc = include_str!("../README.md")]
// This crate is for tests: an unreadable sample should stop the test.
#![allow(clippy::unwrap_used, clippy::missing_panics_doc)]

mod arbitrary;

use std::collections::HashSet;
use std::path::Path;

use order_events::{Event, EventId, EventType, Message, OrderId};
use serde_json::Value;

pub use arbitrary::arbitrary;

/// The name of the view's table in `template.yaml`. Only for tests: functions get the name from their environment.
pub const ORDER_HISTORY_TABLE: &str = "ftgo-order-history";

/// The name of the idempotency records' table in `template.yaml`.
pub const IDEMPOTENCY_TABLE: &str = "ftgo-order-history-idempotency";

/// A file of `events/`, by its name without `.json`.
#[must_use]
pub fn sample(name: &str) -> Value {
    let events = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../events");
    let text = std::fs::read_to_string(events.join(format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// All events of order 99, in sequence: every event type, two revisions, two deliveries.
#[must_use]
pub fn story() -> Vec<Event> {
    story_messages().iter().map(|message| read(&message.to_string())).collect()
}

/// The messages of the [`story`]. Types that are not in `story.json` are added from their own samples.
#[must_use]
pub fn story_messages() -> Vec<Value> {
    let Value::Array(mut messages) = sample("story") else { panic!("story.json must be an array") };
    let present: HashSet<_> = messages.iter().map(|message| read(&message.to_string()).event_type()).collect();
    let missing = EventType::ALL.iter().filter(|event_type| !present.contains(event_type));
    messages.extend(missing.map(|event_type| message_of_type(*event_type)));
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

/// The same event for another order, with the same event id.
#[must_use]
pub fn of_order(event: &Event, order_id: &OrderId) -> Event {
    let message = serde_json::from_str(&event.to_message().unwrap()).unwrap();
    read(&message_of_order(&message, event.id, order_id.as_str(), None).to_string())
}

/// The same message for another order, with this event id, the date in it and, if given, this consumer.
#[must_use]
pub fn message_of_order(message: &Value, id: EventId, order_id: &str, consumer_id: Option<&str>) -> Value {
    let mut message = message.clone();
    let mut payload: Value = serde_json::from_str(message["payload"].as_str().unwrap()).unwrap();
    let headers = &mut message["headers"];
    headers["ID"] = id.to_string().into();
    headers["DATE"] = id.time().to_http_date().into();
    // Payments and deliveries have their own aggregate id, and name the order in the payload.
    if payload.get("orderId").is_some() {
        payload["orderId"] = order_id.into();
    } else {
        headers["event-aggregate-id"] = order_id.into();
        headers["PARTITION_ID"] = order_id.into();
    }
    if let (Some(details), Some(consumer_id)) = (payload.get_mut("orderDetails"), consumer_id) {
        details["consumerId"] = consumer_id.into();
    }
    message["payload"] = payload.to_string().into();
    message
}

fn read(message: &str) -> Event {
    Message::parse(message).unwrap().event
}

#[cfg(test)]
mod tests {
    use order_events::Payload;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_message_of_the_story_can_be_changed_to_another_order() {
        let id = "0000019ccd52c800-0000000000000001".parse().unwrap();
        for message in story_messages() {
            let message = message_of_order(&message, id, "7", Some("8"));
            assert_eq!(message["headers"]["DATE"], json!("Sun, 08 Mar 2026 12:01:20 +0000"));
            let event = read(&message.to_string());
            assert_eq!((event.id, event.order_id().as_str()), (id, "7"));
            if let Payload::OrderCreated(created) = event.payload {
                assert_eq!(created.order_details.consumer_id.as_str(), "8");
            }
        }
    }
}
