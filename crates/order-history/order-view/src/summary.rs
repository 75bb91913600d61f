//! What a list shows of an order.

use std::collections::BTreeSet;

use order_events::payload::LineItem;
use order_events::{DeliveryStatus, Money, OrderId, OrderStatus, TicketStatus};

use crate::facet::{Details, Payment, Promise, Schedule};
use crate::set::Revision;
use crate::view::{OrderView, Stamped};

/// What a list shows of an order: of an order that is created, all but address, location, timeline and watermarks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderSummary {
    /// Which order.
    pub order_id: OrderId,
    /// What was ordered, by whom, where.
    pub details: Details,
    /// Where the order stands.
    pub status: Option<OrderStatus>,
    /// What it costs.
    pub total: Option<Money>,
    /// Where the kitchen stands.
    pub ticket: Option<TicketStatus>,
    /// What the kitchen promised.
    pub promise: Option<Promise>,
    /// Where the delivery stands.
    pub delivery: Option<DeliveryStatus>,
    /// Who delivers, and when.
    pub schedule: Option<Schedule>,
    /// Where the payment stands.
    pub payment: Option<Payment>,
    /// The revisions made, in order.
    pub revisions: BTreeSet<Revision>,
}

impl OrderSummary {
    /// What was ordered, with the revisions laid over the quantities in the order they were made.
    #[must_use]
    pub fn line_items(&self) -> Vec<LineItem> {
        let mut line_items = self.details.line_items.clone();
        for revised in self.revisions.iter().flat_map(|revision| &revision.line_items) {
            for item in &mut line_items {
                if item.menu_item_id == revised.menu_item_id {
                    item.quantity = revised.quantity;
                }
            }
        }
        line_items
    }
}

impl OrderView {
    /// What a list shows of this order; nothing before its `OrderCreated` has come.
    #[must_use]
    pub fn summary(&self) -> Option<OrderSummary> {
        Some(OrderSummary {
            order_id: self.order_id.clone(),
            details: value(self.details.as_ref())?,
            status: value(self.state.as_ref()),
            total: value(self.total.as_ref()),
            ticket: value(self.ticket.as_ref()),
            promise: value(self.promise.as_ref()),
            delivery: value(self.delivery.as_ref()),
            schedule: value(self.schedule.as_ref()),
            payment: value(self.payment.as_ref()),
            revisions: self.revisions.clone(),
        })
    }
}

fn value<T: Clone>(facet: Option<&Stamped<T>>) -> Option<T> {
    facet.map(|stamped| stamped.value.clone())
}
