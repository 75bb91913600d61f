//! A consumer's orders, newest first, filtered and paged.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use aws_sdk_dynamodb::types::AttributeValue;
use order_events::{ConsumerId, OrderId, OrderStatus, Timestamp};
use order_view::OrderSummary;

use crate::attribute::{CONSUMER_ID, KEYWORDS, ORDER_CREATION_TIME, ORDER_ID, STATUS};
use crate::error::Error;
use crate::item::{Item, read_position, read_summary};
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
    /// The most orders to read in search of those that match the filter; at least one.
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
    pub orders: Vec<OrderSummary>,
    /// Where to go on; `None` at the end.
    pub next: Option<Position>,
}

/// How many orders to look at in one request when some of them will not match: some 70 KB, well below the 1 MB that
/// DynamoDB reads at once
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html>).
const STRIDE: usize = 100;

impl Filter {
    /// The same question in memory as `Expressions` ask DynamoDB.
    #[must_use]
    pub fn matches(&self, order: &OrderSummary) -> bool {
        let Self { since, status, keywords } = self;
        order.details.order_creation_time > *since
            && status.is_none_or(|status| order.status == Some(status))
            && (keywords.is_empty() || !keywords.is_disjoint(&order.details.keywords))
    }

    /// Whether there is no filter expression, so that every order read is one to show; time is the key condition's.
    fn takes_all(&self) -> bool {
        let Self { since: _, status, keywords } = self;
        status.is_none() && keywords.is_empty()
    }
}

/// What a query asks DynamoDB. A name or value that no expression uses is an error, so they are made together.
struct Expressions {
    key_condition: &'static str,
    filter: Option<String>,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

impl Expressions {
    fn of(consumer_id: &ConsumerId, filter: &Filter) -> Self {
        let Filter { since, status, keywords } = filter;
        let mut names = HashMap::from([
            ("#consumerId".to_owned(), CONSUMER_ID.to_owned()),
            ("#orderCreationTime".to_owned(), ORDER_CREATION_TIME.to_owned()),
        ]);
        let mut values = HashMap::from([
            (":consumerId".to_owned(), AttributeValue::S(consumer_id.to_string())),
            (":since".to_owned(), AttributeValue::N(since.as_millis().to_string())),
        ]);
        let mut clauses = Vec::new();
        if let Some(status) = status {
            names.insert("#status".to_owned(), STATUS.to_owned());
            values.insert(":status".to_owned(), AttributeValue::S(status.to_string()));
            clauses.push("#status = :status".to_owned());
        }
        if !keywords.is_empty() {
            names.insert("#keywords".to_owned(), KEYWORDS.to_owned());
            let mut any = Vec::new();
            for (place, keyword) in keywords.iter().enumerate() {
                values.insert(format!(":keyword{place}"), AttributeValue::S(keyword.clone()));
                any.push(format!("contains(#keywords, :keyword{place})"));
            }
            clauses.push(format!("({})", any.join(" OR ")));
        }
        Self {
            key_condition: "#consumerId = :consumerId AND #orderCreationTime > :since",
            filter: (!clauses.is_empty()).then(|| clauses.join(" AND ")),
            names,
            values,
        }
    }
}

impl Position {
    /// Where `order` stands.
    #[must_use]
    pub fn of(order: &OrderSummary) -> Self {
        Self { order_id: order.order_id.clone(), order_creation_time: order.details.order_creation_time }
    }

    fn key(&self, consumer_id: &ConsumerId) -> Item {
        Item::from([
            (CONSUMER_ID.to_owned(), AttributeValue::S(consumer_id.to_string())),
            (ORDER_CREATION_TIME.to_owned(), AttributeValue::N(self.order_creation_time.as_millis().to_string())),
            (ORDER_ID.to_owned(), AttributeValue::S(self.order_id.to_string())),
        ])
    }
}

impl Page {
    /// Shows `fresh`, the order as its own item has it, in this page of `query`, which comes from the index and may be older.
    ///
    /// At the edges of a page, orders of the same millisecond have an order that only the index knows: there it is left to the
    /// index.
    pub fn show(&mut self, fresh: OrderSummary, query: &HistoryQuery) {
        let matches = query.filter.matches(&fresh);
        if let Some(place) = self.orders.iter().position(|order| order.order_id == fresh.order_id) {
            if matches {
                self.orders[place] = fresh;
            } else {
                self.orders.remove(place);
            }
            return;
        }
        let made = fresh.details.order_creation_time;
        let after_start = query.after.as_ref().is_none_or(|start| made < start.order_creation_time);
        let before_end = self.next.as_ref().is_none_or(|end| made > end.order_creation_time);
        if matches && after_start && before_end {
            let place = self.orders.partition_point(|order| order.details.order_creation_time >= made);
            self.orders.insert(place, fresh);
            if self.orders.len() > query.page_size {
                self.orders.truncate(query.page_size);
                self.next = self.orders.last().map(Position::of);
            }
        }
    }
}

impl OrderStore {
    /// One page of a consumer's orders. Without a filter it is one request.
    pub async fn find_order_history(&self, query: &HistoryQuery) -> Result<Page, Error> {
        let mut orders = Vec::new();
        let mut after = query.after.clone();
        let mut budget = query.read_budget;
        loop {
            // One more than the page holds shows whether there is a next page.
            let wanted = query.page_size + 1 - orders.len();
            let limit = if query.filter.takes_all() { wanted } else { STRIDE };
            let found = self.query(query, after.as_ref(), limit.min(budget)).await?;
            for item in &found.items {
                if orders.len() == query.page_size {
                    let next = orders.last().map(Position::of);
                    return Ok(Page { orders, next });
                }
                orders.push(read_summary(item)?);
            }
            after = found.last.as_ref().map(read_position).transpose()?;
            budget = budget.saturating_sub(found.looked_at);
            if after.is_none() || budget == 0 || Instant::now() >= query.read_until {
                return Ok(Page { orders, next: after });
            }
            // Whether another one matches may take many more requests to find out: the next page will see.
            if orders.len() == query.page_size {
                let next = orders.last().map(Position::of);
                return Ok(Page { orders, next });
            }
        }
    }

    async fn query(&self, query: &HistoryQuery, after: Option<&Position>, limit: usize) -> Result<Found, Error> {
        let Expressions { key_condition, filter, names, values } = Expressions::of(&query.consumer_id, &query.filter);
        let found = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(&self.index)
            .scan_index_forward(false)
            .limit(limit.try_into().unwrap_or(i32::MAX))
            .set_exclusive_start_key(after.map(|after| after.key(&query.consumer_id)))
            .key_condition_expression(key_condition)
            .set_filter_expression(filter)
            .set_expression_attribute_names(Some(names))
            .set_expression_attribute_values(Some(values))
            .send()
            .await
            .map_err(Error::from_sdk)?;
        Ok(Found {
            items: found.items.unwrap_or_default(),
            looked_at: found.scanned_count.try_into().unwrap_or_default(),
            last: found.last_evaluated_key,
        })
    }
}

struct Found {
    items: Vec<Item>,
    looked_at: usize,
    last: Option<Item>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that cannot go on should stop there.
mod tests {
    use order_events::OrderId;
    use order_view::{Effect, OrderView};

    use super::*;

    /// An order made at this second.
    fn order(second: i64, status: OrderStatus) -> OrderSummary {
        let created = sample_events::of_type(order_events::EventType::OrderCreated);
        let mut view = OrderView::empty(created.order_id());
        view.apply(Effect::of(&created));
        let mut order = view.summary().unwrap();
        order.order_id = OrderId::parse(second.to_string()).unwrap();
        order.details.order_creation_time = at(second);
        order.status = Some(status);
        order
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_millis(second * 1_000).unwrap()
    }

    fn position(second: i64) -> Position {
        Position::of(&order(second, OrderStatus::Approved))
    }

    fn query(filter: Filter, page_size: usize, after: Option<Position>) -> HistoryQuery {
        let consumer_id = "7".parse().unwrap();
        HistoryQuery { consumer_id, filter, page_size, after, read_budget: 1_000, read_until: Instant::now() }
    }

    /// Shows a fresh, approved order in a page of at most three.
    #[track_caller]
    fn check(fresh: i64, page: &[i64], after: Option<i64>, next: Option<i64>, expected: (&[i64], Option<i64>)) {
        let filter = Filter { since: at(0), status: Some(OrderStatus::Approved), keywords: BTreeSet::new() };
        let query = query(filter, 3, after.map(position));
        let orders = page.iter().map(|second| order(*second, OrderStatus::Approved)).collect();
        let mut page = Page { orders, next: next.map(position) };
        page.show(order(fresh, OrderStatus::Approved), &query);
        let seconds: Vec<i64> =
            page.orders.iter().map(|order| order.details.order_creation_time.as_millis() / 1_000).collect();
        assert_eq!((seconds.as_slice(), page.next), (expected.0, expected.1.map(position)));
    }

    #[test]
    fn a_fresh_order_is_put_where_it_belongs() {
        check(9, &[], None, None, (&[9], None));
        check(9, &[8, 6], None, None, (&[9, 8, 6], None));
        check(7, &[8, 6], None, None, (&[8, 7, 6], None));
        check(5, &[8, 6], None, None, (&[8, 6, 5], None));
    }

    #[test]
    fn a_full_page_gives_its_last_order_to_the_next_page() {
        check(9, &[8, 6, 4], None, Some(4), (&[9, 8, 6], Some(6)));
        check(5, &[8, 6, 4], None, Some(4), (&[8, 6, 5], Some(5)));
        check(9, &[8, 6, 4], None, None, (&[9, 8, 6], Some(6)));
        check(3, &[8, 6, 4], None, None, (&[8, 6, 4], Some(4)));
    }

    #[test]
    fn an_order_of_another_page_is_left_to_it() {
        check(3, &[8, 6, 4], None, Some(4), (&[8, 6, 4], Some(4)));
        check(9, &[6, 4], Some(7), None, (&[6, 4], None));
        check(7, &[6, 4], Some(7), None, (&[6, 4], None));
        check(5, &[6, 4], Some(7), None, (&[6, 5, 4], None));
    }

    #[test]
    fn an_order_that_is_there_is_shown_as_it_is_now() {
        let filter = |status| Filter { since: at(0), status, keywords: BTreeSet::new() };
        let stale = || Page { orders: vec![order(8, OrderStatus::ApprovalPending)], next: Some(position(8)) };
        let fresh = order(8, OrderStatus::Approved);

        let mut page = stale();
        page.show(fresh.clone(), &query(filter(None), 1, None));
        assert_eq!((page.orders, page.next), (vec![fresh.clone()], Some(position(8))));

        let mut page = stale();
        let pending = filter(Some(OrderStatus::ApprovalPending));
        page.show(fresh, &query(pending, 1, None));
        assert_eq!((page.orders, page.next), (vec![], Some(position(8))), "it does not match any more");
    }
}
