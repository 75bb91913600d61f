//! Applies events to the table, and reads orders.

use aws_sdk_dynamodb::Client;
use order_events::{Event, OrderId};
use order_view::{VIEW, effect};
use projection::Found;
use projection::dynamodb::{Applied, Error, Table};

use crate::table::INDEX;

/// The order history table.
#[derive(Debug, Clone)]
pub struct OrderStore {
    pub(crate) table: Table,
    pub(crate) index: String,
}

impl OrderStore {
    /// A store on `table`. Lists are read from the index [`INDEX`].
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { table: Table::new(client, table, &VIEW), index: INDEX.to_owned() }
    }

    /// The same store, with lists from another index of the table, such as one that replaces [`INDEX`].
    #[must_use]
    pub fn with_index(self, index: impl Into<String>) -> Self {
        Self { index: index.into(), ..self }
    }

    /// Applies an event to the order's item. If this returns `Ok`, the effect is stored.
    pub async fn apply(&self, event: &Event) -> Result<Applied, Error> {
        self.table.apply(effect(event)?).await
    }

    /// Reads an order's item with a consistent read. [`OrderView::of`](order_view::OrderView::of) interprets it.
    pub async fn find_order(&self, order_id: &OrderId) -> Result<Option<Found>, Error> {
        self.table.find(order_id.as_str()).await
    }

    /// Checks that the table can be read.
    pub async fn ping(&self) -> Result<(), Error> {
        // No order has this key, because an order id contains no spaces.
        self.table.find(" ").await.map(|_| ())
    }
}
