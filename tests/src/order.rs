//! New orders for a test, with the events of `events/story.json`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use order_events::{ConsistencyToken, Event, EventType, Message, OrderId};
use order_view::{OrderView, fold};
use projection::Found;
use sample_events::{message_of_order, story_messages};
use serde_json::Value;
use uuid::Uuid;

/// An event, and its message.
#[derive(Debug, Clone)]
pub struct PublishedEvent {
    /// The parsed event.
    pub event: Event,
    /// The body of the message.
    pub body: String,
    /// The event's type in the message, which may be a Java class name.
    pub type_name: String,
}

/// An order with all its events.
#[derive(Debug, Clone)]
pub struct Order {
    /// A random id.
    pub id: OrderId,
    /// The consumer who created it.
    pub consumer_id: String,
    /// The events in sequence, one second apart.
    pub story: Vec<PublishedEvent>,
}

impl PublishedEvent {
    fn new(message: &Value) -> Self {
        let type_name = message["headers"]["event-type"].as_str().unwrap().to_owned();
        let body = message.to_string();
        Self { event: Message::parse(&body).unwrap().event, body, type_name }
    }
}

impl Order {
    /// A new order of this consumer, created this many minutes ago.
    #[must_use]
    pub fn new(consumer_id: &str, minutes_ago: u64) -> Self {
        let id = Uuid::new_v4().to_string();
        let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
        let created = now - minutes_ago * 60_000;
        let published = |(message, second): (&Value, u64)| {
            let event_id = format!("{:016x}-{:016x}", created + second * 1_000, number()).parse().unwrap();
            PublishedEvent::new(&message_of_order(message, event_id, &id, Some(consumer_id)))
        };
        let story = story_messages().iter().zip(0..).map(published).collect();
        Self { id: id.parse().unwrap(), consumer_id: consumer_id.to_owned(), story }
    }

    /// The last event of this type.
    #[must_use]
    pub fn event(&self, event_type: EventType) -> &PublishedEvent {
        self.story.iter().rfind(|published| published.event.event_type() == event_type).unwrap()
    }

    /// The consistency token of its last event of this type.
    #[must_use]
    pub fn token(&self, event_type: EventType) -> String {
        let event_id = self.event(event_type).event.id;
        ConsistencyToken { event_type, event_id, order_id: self.id.clone() }.to_string()
    }

    /// The API's JSON of the order after these events.
    #[must_use]
    pub fn expected_json<'a>(&self, published: impl IntoIterator<Item = &'a PublishedEvent>) -> Value {
        let mut folded = fold(published.into_iter().map(|published| &published.event)).unwrap();
        let state = folded.states.remove(self.id.as_str()).expect("no event belongs to the order");
        let order = OrderView::of(self.id.clone(), Found { state, unreadable: Vec::new() });
        serde_json::to_value(query_api::Order::from(&order.expect("the events do not create the order"))).unwrap()
    }
}

/// A new consumer.
#[must_use]
pub fn consumer() -> String {
    format!("consumer-{}", Uuid::new_v4())
}

/// A number that no other event has, in this run or another.
fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (run, _) = Uuid::new_v4().as_u64_pair();
    (run << 32) | NEXT.fetch_add(1, Ordering::Relaxed)
}
