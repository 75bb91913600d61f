//! A consumer's orders, newest first, filtered and paged.

use std::collections::BTreeSet;
use std::time::Instant;

use aws_sdk_dynamodb::operation::query::QueryOutput;
use aws_sdk_dynamodb::types::AttributeValue;
use order_events::{ConsumerId, OrderId, Timestamp};
use order_view::facet::{CONSUMER_ID, KEYWORDS, ORDER_CREATION_TIME, STATUS};
use order_view::{OrderStatus, OrderView, VIEW};
use projection::Unreadable;
use projection::dynamodb::{Error, Item, read_item};

use crate::store::OrderStore;

/// Which orders to find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryQuery {
    /// Whose.
    pub consumer_id: ConsumerId,
    /// Which of theirs.
    pub filter: Filter,
    /// The most orders that a page shows; at least one.
    pub page_size: usize,
    /// The last order of the page before; `None` for the first page.
    pub after: Option<Position>,
    /// The most orders to ask DynamoDB for, in all requests together; at least one.
    pub read_budget: usize,
    /// No request to DynamoDB is begun after this moment, but for the first: the page then shows what was found.
    pub read_until: Instant,
}

/// Which orders of a consumer to find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Only those made after this moment.
    pub since: Timestamp,
    /// Only those in this state.
    pub status: Option<OrderStatus>,
    /// Only those that have one of these words, as [`order_view::keywords`] makes them; empty for all.
    pub keywords: BTreeSet<String>,
}

/// Where an order stands in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Which order.
    pub order_id: OrderId,
    /// When it was made.
    pub order_creation_time: Timestamp,
}

/// Some of the orders found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Newest first. There may be fewer than asked for, even none, and still more to find.
    pub orders: Vec<OrderView>,
    /// Where to go on; `None` at the end.
    pub next: Option<Position>,
    /// The keys of items that are no orders of ours, and so are not among the orders.
    pub left_out: Vec<Unreadable>,
}

/// How many orders to look at in one request when some of them will not match: some 70 KB, well below the 1 MB that
/// DynamoDB reads at once
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html>).
const STRIDE: usize = 100;

impl Filter {
    /// The same question in memory as [`OrderStore::find_order_history`] asks DynamoDB.
    #[must_use]
    pub fn matches(&self, order: &OrderView) -> bool {
        let Self { since, status, keywords } = self;
        order.order_creation_time > *since
            && (status.is_none() || *status == order.state)
            && (keywords.is_empty() || !keywords.is_disjoint(&order.keywords))
    }

    /// Whether there is no filter expression, so that every order read is one to show; time is the key condition's.
    fn takes_all(&self) -> bool {
        let Self { since: _, status, keywords } = self;
        status.is_none() && keywords.is_empty()
    }
}

impl Position {
    /// Where `order` stands.
    #[must_use]
    pub fn of(order: &OrderView) -> Self {
        Self { order_id: order.order_id.clone(), order_creation_time: order.order_creation_time }
    }

    /// Reads the key of an item of the index.
    fn read(key: &Item) -> Option<Self> {
        let millis = key.get(ORDER_CREATION_TIME)?.as_n().ok()?.parse().ok()?;
        let order_id = key.get(VIEW.key)?.as_s().ok()?.parse().ok()?;
        Some(Self { order_id, order_creation_time: Timestamp::from_millis(millis)? })
    }

    fn key(&self, consumer_id: &ConsumerId) -> Item {
        Item::from([
            (CONSUMER_ID.to_owned(), AttributeValue::S(consumer_id.to_string())),
            (ORDER_CREATION_TIME.to_owned(), AttributeValue::N(self.order_creation_time.as_millis().to_string())),
            (VIEW.key.to_owned(), AttributeValue::S(self.order_id.to_string())),
        ])
    }
}

impl Page {
    /// Shows `fresh`, the order as its own item has it, in this page of `query`, which comes from the index and may be older.
    ///
    /// At the edges of a page, orders of the same millisecond have an order that only the index knows: there it is left to the
    /// index.
    pub fn show(&mut self, fresh: OrderView, query: &HistoryQuery) {
        let matches = query.filter.matches(&fresh);
        if let Some(place) = self.orders.iter().position(|order| order.order_id == fresh.order_id) {
            if matches {
                self.orders[place] = fresh;
            } else {
                self.orders.remove(place);
            }
            return;
        }
        let made = fresh.order_creation_time;
        let after_start = query.after.as_ref().is_none_or(|start| made < start.order_creation_time);
        let before_end = self.next.as_ref().is_none_or(|end| made > end.order_creation_time);
        if matches && after_start && before_end {
            let place = self.orders.partition_point(|order| order.order_creation_time >= made);
            self.orders.insert(place, fresh);
            self.cut(query.page_size);
        }
    }

    /// Leaves all but the first `length` orders to the next page; `length` is at least one.
    pub fn cut(&mut self, length: usize) {
        if self.orders.len() > length {
            self.orders.truncate(length);
            self.next = self.orders.last().map(Position::of);
        }
    }
}

impl OrderStore {
    /// One page of a consumer's orders. Without a filter it is one request.
    pub async fn find_order_history(&self, query: &HistoryQuery) -> Result<Page, Error> {
        let (mut orders, mut left_out) = (Vec::new(), Vec::new());
        let mut after = query.after.as_ref().map(|after| after.key(&query.consumer_id));
        let mut budget = query.read_budget;
        loop {
            // One more than the page holds shows whether there is a next page.
            let wanted = query.page_size + 1 - orders.len();
            let limit = if query.filter.takes_all() { wanted } else { STRIDE };
            let limit = limit.min(budget.max(1));
            let found = self.query(query, after, limit).await?;
            for item in found.items.unwrap_or_default() {
                if orders.len() == query.page_size {
                    return Ok(Page { next: orders.last().map(Position::of), orders, left_out });
                }
                match read_order(item) {
                    Ok(order) => orders.push(order),
                    Err(unreadable) => left_out.push(unreadable),
                }
            }
            after = found.last_evaluated_key;
            // What was asked for, not what was read: orders so large that DynamoDB stops at 1 MB use up the budget as fast.
            budget = budget.saturating_sub(limit);
            let Some(last) = &after else { return Ok(Page { orders, next: None, left_out }) };
            // A page cannot end at a key that is not ours: then it reads on.
            if let Some(next) = Position::read(last)
                && (budget == 0 || Instant::now() >= query.read_until)
            {
                return Ok(Page { orders, next: Some(next), left_out });
            }
            // Whether another one matches may take many more requests to find out: the next page will see.
            if orders.len() == query.page_size {
                return Ok(Page { next: orders.last().map(Position::of), orders, left_out });
            }
        }
    }

    async fn query(&self, query: &HistoryQuery, after: Option<Item>, limit: usize) -> Result<QueryOutput, Error> {
        let Filter { since, status, keywords } = &query.filter;
        let mut request = self
            .table
            .client
            .query()
            .table_name(&self.table.name)
            .index_name(&self.index)
            .scan_index_forward(false)
            .limit(limit.try_into().unwrap_or(i32::MAX))
            .set_exclusive_start_key(after)
            .key_condition_expression("#consumerId = :consumerId AND #orderCreationTime > :since")
            .expression_attribute_names("#consumerId", CONSUMER_ID)
            .expression_attribute_names("#orderCreationTime", ORDER_CREATION_TIME)
            .expression_attribute_values(":consumerId", AttributeValue::S(query.consumer_id.to_string()))
            .expression_attribute_values(":since", AttributeValue::N(since.as_millis().to_string()));
        // A name or value that no expression uses is an error, so they come with their clauses.
        let mut clauses = Vec::new();
        if let Some(status) = status {
            clauses.push("#status = :status".to_owned());
            let status = AttributeValue::S(status.as_str().to_owned());
            request =
                request.expression_attribute_names("#status", STATUS).expression_attribute_values(":status", status);
        }
        if !keywords.is_empty() {
            request = request.expression_attribute_names("#keywords", KEYWORDS);
            let mut any = Vec::new();
            for (place, keyword) in keywords.iter().enumerate() {
                any.push(format!("contains(#keywords, :keyword{place})"));
                let keyword = AttributeValue::S(keyword.clone());
                request = request.expression_attribute_values(format!(":keyword{place}"), keyword);
            }
            clauses.push(format!("({})", any.join(" OR ")));
        }
        let filter = (!clauses.is_empty()).then(|| clauses.join(" AND "));
        let found = request.set_filter_expression(filter).send().await;
        found.map_err(|error| Error::from_sdk(error, &self.table.name))
    }
}

/// Reads an item of the index.
fn read_order(item: Item) -> Result<OrderView, Unreadable> {
    let position = Position::read(&item).ok_or_else(|| Unreadable { attribute: VIEW.key.to_owned() })?;
    OrderView::of(position.order_id, read_item(&VIEW, item))
        .ok_or_else(|| Unreadable { attribute: CONSUMER_ID.to_owned() })
}
