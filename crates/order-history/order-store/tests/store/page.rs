//! A fresh order is put into a page from the index, which lags.

use std::collections::BTreeSet;
use std::time::Instant;

use order_events::{EventType, OrderId, Timestamp};
use order_store::{Filter, HistoryQuery, Page, Position};
use order_view::{OrderStatus, OrderView};
use projection::Found;

use crate::table::folded;

/// An order created at this second.
fn order(second: i64, status: OrderStatus) -> OrderView {
    let created = sample_events::of_type(EventType::OrderCreated);
    let state = folded(std::slice::from_ref(&created), &created.order_id()).unwrap();
    let mut order = OrderView::of(created.order_id(), Found { state, unreadable: Vec::new() }).unwrap();
    order.order_id = OrderId::parse(second.to_string()).unwrap();
    order.order_creation_time = at(second);
    order.state = Some(status);
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

/// Puts a fresh, approved order into a page of at most three.
#[track_caller]
fn check(fresh: i64, page: &[i64], after: Option<i64>, next: Option<i64>, expected: (&[i64], Option<i64>)) {
    let filter = Filter { since: at(0), status: Some(OrderStatus::Approved), keywords: BTreeSet::new() };
    let query = query(filter, 3, after.map(position));
    let orders = page.iter().map(|second| order(*second, OrderStatus::Approved)).collect();
    let mut page = Page { orders, next: next.map(position), left_out: Vec::new() };
    page.put_fresh(order(fresh, OrderStatus::Approved), &query);
    let seconds: Vec<i64> = page.orders.iter().map(|order| order.order_creation_time.as_millis() / 1_000).collect();
    assert_eq!((seconds.as_slice(), page.next), (expected.0, expected.1.map(position)));
}

#[test]
fn a_fresh_order_is_put_at_its_position() {
    check(9, &[], None, None, (&[9], None));
    check(9, &[8, 6], None, None, (&[9, 8, 6], None));
    check(7, &[8, 6], None, None, (&[8, 7, 6], None));
    check(5, &[8, 6], None, None, (&[8, 6, 5], None));
}

#[test]
fn the_last_order_of_a_full_page_moves_to_the_next_page() {
    check(9, &[8, 6, 4], None, Some(4), (&[9, 8, 6], Some(6)));
    check(5, &[8, 6, 4], None, Some(4), (&[8, 6, 5], Some(5)));
    check(9, &[8, 6, 4], None, None, (&[9, 8, 6], Some(6)));
    check(3, &[8, 6, 4], None, None, (&[8, 6, 4], Some(4)));
}

#[test]
fn a_fresh_order_of_another_page_is_not_added() {
    check(3, &[8, 6, 4], None, Some(4), (&[8, 6, 4], Some(4)));
    check(9, &[6, 4], Some(7), None, (&[6, 4], None));
    check(7, &[6, 4], Some(7), None, (&[6, 4], None));
    check(5, &[6, 4], Some(7), None, (&[6, 5, 4], None));
}

#[test]
fn an_order_on_the_page_is_replaced_by_its_fresh_version() {
    let filter = |status| Filter { since: at(0), status, keywords: BTreeSet::new() };
    let stale = || {
        let orders = vec![order(8, OrderStatus::ApprovalPending)];
        Page { orders, next: Some(position(8)), left_out: Vec::new() }
    };
    let fresh = order(8, OrderStatus::Approved);

    let mut page = stale();
    page.put_fresh(fresh.clone(), &query(filter(None), 1, None));
    assert_eq!((page.orders, page.next), (vec![fresh.clone()], Some(position(8))));

    let mut page = stale();
    let pending = filter(Some(OrderStatus::ApprovalPending));
    page.put_fresh(fresh, &query(pending, 1, None));
    assert_eq!((page.orders, page.next), (vec![], Some(position(8))), "it no longer matches");
}
