//! A table for tests.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use embedded_dynamodb::{Engine, Wire};
use order_events::{Event, OrderId};
use order_store::{Applied, OrderStore, table};
use order_view::{OrderView, fold};
use projection::State;
use sample_events::ORDER_HISTORY_TABLE;
use tokio::runtime::Runtime;

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

/// The state of an order after these events.
pub(crate) fn folded(events: &[Event], order_id: &OrderId) -> Option<State> {
    fold(events).unwrap().states.remove(order_id.as_str())
}

/// The order history table, on its own engine.
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
        let create = table::create(&client, ORDER_HISTORY_TABLE).unwrap();
        runtime.block_on(create.send()).unwrap();
        Self { engine, client, runtime }
    }

    pub(crate) fn store(&self) -> OrderStore {
        OrderStore::new(self.client.clone(), ORDER_HISTORY_TABLE)
    }

    pub(crate) fn store_over(&self, wire: &Wire) -> OrderStore {
        OrderStore::new(self.engine.client_over(wire), ORDER_HISTORY_TABLE)
    }

    pub(crate) fn apply(&self, event: &Event) -> Applied {
        self.block_on(self.store().apply(event)).unwrap()
    }

    pub(crate) fn deliver(&self, events: &[Event]) {
        for event in events {
            let _ = self.apply(event);
        }
    }

    /// Deletes an order.
    pub(crate) fn clear(&self, order_id: &OrderId) {
        let key = AttributeValue::S(order_id.to_string());
        let delete = self.client.delete_item().table_name(ORDER_HISTORY_TABLE).key("orderId", key);
        self.block_on(delete.send()).unwrap();
    }

    /// The order's item. This version must be able to read all of it.
    pub(crate) fn state(&self, order_id: &OrderId) -> Option<State> {
        let found = self.block_on(self.store().find_order(order_id)).unwrap()?;
        assert_eq!(found.unreadable, []);
        Some(found.state)
    }

    /// The view of the order.
    pub(crate) fn view(&self, order_id: &OrderId) -> Option<OrderView> {
        let found = self.block_on(self.store().find_order(order_id)).unwrap()?;
        OrderView::of(order_id.clone(), found)
    }

    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}
