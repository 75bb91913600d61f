//! Events into the table, and orders out of it.

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
    /// The store in `table`. Its histories are read from the index [`INDEX`].
    pub fn new(client: Client, table: impl Into<String>) -> Self {
        Self { table: Table::new(client, table, &VIEW), index: INDEX.to_owned() }
    }

    /// The same store, with histories read from another index of the table, such as one that replaces [`INDEX`].
    #[must_use]
    pub fn with_index(self, index: impl Into<String>) -> Self {
        Self { index: index.into(), ..self }
    }

    /// Stores what an event does. When this returns `Ok`, it is in the order's item.
    pub async fn apply(&self, event: &Event) -> Result<Applied, Error> {
        self.table.apply(effect(event)?).await
    }

    /// All that is known of an order, by a consistent read. [`OrderView::of`](order_view::OrderView::of) reads it.
    pub async fn find_order(&self, order_id: &OrderId) -> Result<Option<Found>, Error> {
        self.table.find(order_id.as_str()).await
    }

    /// Checks that the table can be read, at the least cost.
    pub async fn ping(&self) -> Result<(), Error> {
        // No order id is a space.
        self.table.find(" ").await.map(|_| ())
    }
}
