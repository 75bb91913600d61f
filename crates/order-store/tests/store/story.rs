//! The story of one order from `events/`, and a table to tell it to.

use aws_sdk_dynamodb::Client;
use embedded_dynamodb::{Engine, Wire};
use order_events::{Event, EventType, Message, OrderId};
use order_store::{Applied, OrderStore, table};
use order_view::{Effect, OrderView};
use tokio::runtime::Runtime;

pub(crate) const TABLE: &str = "ftgo-order-history";

pub(crate) fn events() -> Vec<Event> {
    let story = include_str!("../../../../events/story.json");
    let messages: Vec<serde_json::Value> = serde_json::from_str(story).unwrap();
    messages.iter().map(|message| Message::parse(&message.to_string()).unwrap().event).collect()
}

/// The last of its type.
pub(crate) fn of_type(story: &[Event], event_type: EventType) -> &Event {
    story.iter().rfind(|event| event.event_type() == event_type).unwrap()
}

/// The same event, told of another order.
pub(crate) fn of_order(event: &Event, order_id: &OrderId) -> Event {
    let mut message: serde_json::Value = serde_json::from_str(&event.to_message().unwrap()).unwrap();
    let mut payload: serde_json::Value = serde_json::from_str(message["payload"].as_str().unwrap()).unwrap();
    if payload["orderId"].is_string() {
        payload["orderId"] = order_id.as_str().into();
        message["payload"] = payload.to_string().into();
    } else {
        message["headers"]["event-aggregate-id"] = order_id.as_str().into();
    }
    Message::parse(&message.to_string()).unwrap().event
}

/// Calls `visit` with every order of `0..n` (Heap's algorithm).
pub(crate) fn permutations(n: usize, visit: &mut impl FnMut(&[usize])) {
    fn heap(k: usize, order: &mut [usize], visit: &mut impl FnMut(&[usize])) {
        if k <= 1 {
            return visit(order);
        }
        for i in 0..k {
            heap(k - 1, order, visit);
            if i < k - 1 {
                order.swap(if k.is_multiple_of(2) { i } else { 0 }, k - 1);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    heap(n, &mut order, visit);
}

/// The order history table on an engine of its own.
pub(crate) struct Table {
    pub(crate) engine: Engine,
    pub(crate) client: Client,
    runtime: Runtime,
}

impl Table {
    pub(crate) fn create() -> Self {
        let engine = Engine::start();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = engine.client();
        let create = table::create(&client, TABLE).unwrap();
        runtime.block_on(create.send()).unwrap();
        Self { engine, client, runtime }
    }

    pub(crate) fn store(&self) -> OrderStore {
        OrderStore::new(self.client.clone(), TABLE)
    }

    pub(crate) fn store_over(&self, wire: &Wire) -> OrderStore {
        OrderStore::new(self.engine.client_over(wire), TABLE)
    }

    pub(crate) fn apply(&self, event: &Event) -> Applied {
        self.block_on(self.store().apply(Effect::of(event))).unwrap()
    }

    pub(crate) fn deliver(&self, events: &[Event]) {
        for event in events {
            let _ = self.apply(event);
        }
    }

    pub(crate) fn view(&self, order_id: &OrderId) -> Option<OrderView> {
        self.block_on(self.store().find_order(order_id)).unwrap()
    }

    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}
