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

/// A query for orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryQuery {
    /// The consumer.
    pub consumer_id: ConsumerId,
    /// The filter for the consumer's orders.
    pub filter: Filter,
    /// The largest number of orders on a page, at least 1.
    pub page_size: usize,
    /// The last order of the previous page; `None` for the first page.
    pub after: Option<Position>,
    /// The largest number of orders to read from DynamoDB, in all requests together, at least 1.
    pub read_budget: usize,
    /// After this time, only the first request to DynamoDB is sent. The page then contains the orders found so far.
    pub read_until: Instant,
}

/// A filter for the orders of a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// Only orders created after this time.
    pub since: Timestamp,
    /// Only orders with this status.
    pub status: Option<OrderStatus>,
    /// Only orders with at least one of these words, which come from [`order_view::keywords`]; empty for all.
    pub keywords: BTreeSet<String>,
}

/// The position of an order in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The order's id.
    pub order_id: OrderId,
    /// The time when it was created.
    pub order_creation_time: Timestamp,
}

/// A page of orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Newest first. There may be fewer than requested, or none, even if the list continues.
    pub orders: Vec<OrderView>,
    /// The start of the next page; `None` at the end.
    pub next: Option<Position>,
    /// The items whose keys cannot be read. They are not in `orders`.
    pub left_out: Vec<Unreadable>,
}

/// The number of orders to read in one request with a filter: about 70 KB, well below the 1 MB that
/// DynamoDB reads per request
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html>).
const ORDERS_PER_REQUEST: usize = 100;

impl Filter {
    /// The same filter in memory as that of [`OrderStore::find_order_history`] in DynamoDB.
    #[must_use]
    pub fn matches(&self, order: &OrderView) -> bool {
        let Self { since, status, keywords } = self;
        order.order_creation_time > *since
            && (status.is_none() || *status == order.state)
            && (keywords.is_empty() || !keywords.is_disjoint(&order.keywords))
    }

    /// Whether there is no filter expression, so that every order matches. The time is in the key condition.
    fn has_no_expression(&self) -> bool {
        let Self { since: _, status, keywords } = self;
        status.is_none() && keywords.is_empty()
    }
}

impl Position {
    /// The position of `order`.
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
    /// Puts `fresh` into this page of `query`. `fresh` was read from the order's item; the page was read from the
    /// index, and may be older.
    ///
    /// At the edges of a page, only the index knows the sequence of orders of the same millisecond. There, the page is not
    /// changed.
    pub fn put_fresh(&mut self, fresh: OrderView, query: &HistoryQuery) {
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

    /// Keeps the first `length` orders, and leaves the others to the next page. `length` is at least one.
    pub fn cut(&mut self, length: usize) {
        if self.orders.len() > length {
            self.orders.truncate(length);
            self.next = self.orders.last().map(Position::of);
        }
    }
}

impl OrderStore {
    /// One page of a consumer's orders. Without a filter, this is one request.
    pub async fn find_order_history(&self, query: &HistoryQuery) -> Result<Page, Error> {
        let (mut orders, mut left_out) = (Vec::new(), Vec::new());
        let mut after = query.after.as_ref().map(|after| after.key(&query.consumer_id));
        let mut budget = query.read_budget;
        loop {
            // One more than the page size shows whether there is a next page.
            let wanted = query.page_size + 1 - orders.len();
            let limit = if query.filter.has_no_expression() { wanted } else { ORDERS_PER_REQUEST };
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
            // The requested number counts, even if DynamoDB stops earlier because the orders exceed 1 MB.
            budget = budget.saturating_sub(limit);
            let Some(last) = &after else { return Ok(Page { orders, next: None, left_out }) };
            // A page cannot end at an unreadable key: then the next orders are read.
            if let Some(next) = Position::read(last)
                && (budget == 0 || Instant::now() >= query.read_until)
            {
                return Ok(Page { orders, next: Some(next), left_out });
            }
            // Another match may need many more requests. They are left to the next page.
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
        // An unused name or value is an error, so each is added with its clause.
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
