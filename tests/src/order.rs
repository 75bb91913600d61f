//! Orders of a test's own: the story of `events/story.json`, told anew.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use order_events::{ConsistencyToken, Event, EventType, Message, OrderId};
use order_view::{OrderView, fold};
use projection::Found;
use sample_events::{message_of_order, story_messages};
use serde_json::Value;
use uuid::Uuid;

/// An event, and the message that tells it.
#[derive(Debug, Clone)]
pub struct Told {
    /// What is told.
    pub event: Event,
    /// The body of the message.
    pub body: String,
    /// The event's type as its service calls it, which may be a Java class name.
    pub type_name: String,
}

/// An order and all that happens to it.
#[derive(Debug, Clone)]
pub struct Order {
    /// Which order.
    pub id: OrderId,
    /// Whose.
    pub consumer_id: String,
    /// What happens, in order, a second after each other.
    pub story: Vec<Told>,
}

impl Told {
    fn new(message: &Value) -> Self {
        let type_name = message["headers"]["event-type"].as_str().unwrap().to_owned();
        let body = message.to_string();
        Self { event: Message::parse(&body).unwrap().event, body, type_name }
    }
}

impl Order {
    /// An order that nobody has made yet, of this consumer, created so many minutes ago.
    #[must_use]
    pub fn new(consumer_id: &str, minutes_ago: u64) -> Self {
        let id = Uuid::new_v4().to_string();
        let now = u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
        let created = now - minutes_ago * 60_000;
        let told = |(message, second): (&Value, u64)| {
            let event_id = format!("{:016x}-{:016x}", created + second * 1_000, number()).parse().unwrap();
            Told::new(&message_of_order(message, event_id, &id, Some(consumer_id)))
        };
        let story = story_messages().iter().zip(0..).map(told).collect();
        Self { id: id.parse().unwrap(), consumer_id: consumer_id.to_owned(), story }
    }

    /// The last event of this type.
    #[must_use]
    pub fn event(&self, event_type: EventType) -> &Told {
        self.story.iter().rfind(|told| told.event.event_type() == event_type).unwrap()
    }

    /// What names its last event of this type to a query.
    #[must_use]
    pub fn token(&self, event_type: EventType) -> String {
        let event_id = self.event(event_type).event.id;
        ConsistencyToken { event_type, event_id, order_id: self.id.clone() }.to_string()
    }

    /// How the API shows the order when the events of `told` have been seen.
    #[must_use]
    pub fn as_told<'a>(&self, told: impl IntoIterator<Item = &'a Told>) -> Value {
        let mut folded = fold(told.into_iter().map(|told| &told.event)).unwrap();
        let state = folded.states.remove(self.id.as_str()).expect("some of the events are the order's");
        let order = OrderView::of(self.id.clone(), Found { state, unreadable: Vec::new() });
        serde_json::to_value(query_api::Order::from(&order.expect("the order was created"))).unwrap()
    }
}

/// A consumer whom nobody else knows.
#[must_use]
pub fn consumer() -> String {
    format!("consumer-{}", Uuid::new_v4())
}

/// A number that no other event has, of this run or another.
fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let (run, _) = Uuid::new_v4().as_u64_pair();
    (run << 32) | NEXT.fetch_add(1, Ordering::Relaxed)
}
