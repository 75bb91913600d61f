//! The JSON of an order. Members without a value are left out, and never `null`.

use std::collections::BTreeSet;

use order_events::payload::{Address, LineItem};
use order_events::{ConsumerId, OrderId, Timestamp};
use order_view::facet::{Location, Payment, Promise, Schedule, Total};
use order_view::{DeliveryStatus, OrderStatus, OrderView, TicketStatus, TimelineEntry};
use serde::Serialize;

/// An order in a list. Members without a value are left out.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct OrderEntry<'a> {
    /// The order's id.
    order_id: &'a OrderId,
    /// The consumer who ordered.
    consumer_id: &'a ConsumerId,
    /// The status of the order.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a OrderStatus>,
    /// The restaurant's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    restaurant_id: Option<u64>,
    /// The restaurant's name when the order was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    restaurant_name: Option<&'a str>,
    /// The time when the order was created, in UTC.
    order_creation_time: Timestamp,
    /// The current total of the order: a decimal text.
    #[serde(skip_serializing_if = "Option::is_none")]
    order_total: Option<&'a Total>,
    /// The ordered items, with revised quantities.
    #[serde(skip_serializing_if = "Option::is_none")]
    line_items: Option<Vec<LineItem>>,
    /// The ticket of the kitchen.
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<Ticket<'a>>,
    /// The delivery of the order.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery: Option<Delivery<'a>>,
    /// The payment of the order.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment: Option<&'a Payment>,
}

/// An order with all its details. Members without a value are left out.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Order<'a> {
    #[serde(flatten)]
    entry: OrderEntry<'a>,
    /// The address to deliver to.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_address: Option<&'a Address>,
    /// The requested time of delivery, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_time: Option<Timestamp>,
    /// The events of the order, sorted by event id.
    timeline: &'a BTreeSet<TimelineEntry>,
}

/// The ticket of the kitchen.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Ticket<'a> {
    /// The status of the kitchen's work.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a TicketStatus>,
    /// The time when the food should be ready, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    ready_by: Option<&'a Promise>,
}

/// The delivery of an order.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Delivery<'a> {
    /// The status of the delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a DeliveryStatus>,
    #[serde(flatten)]
    schedule: Option<&'a Schedule>,
    /// The last known location of the courier. It is never in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<&'a Location>,
}

impl<'a> OrderEntry<'a> {
    fn new(order: &'a OrderView, location: Option<&'a Location>) -> Self {
        let details = order.details.as_ref();
        let (status, ready_by) = (order.ticket.as_ref(), order.promise.as_ref());
        let ticket = (status.is_some() || ready_by.is_some()).then_some(Ticket { status, ready_by });
        let (status, schedule) = (order.delivery.as_ref(), order.schedule.as_ref());
        let delivery = status.is_some() || schedule.is_some() || location.is_some();
        Self {
            order_id: &order.order_id,
            consumer_id: &order.consumer_id,
            status: order.state.as_ref(),
            restaurant_id: details.map(|details| details.restaurant_id),
            restaurant_name: details.map(|details| details.restaurant_name.as_str()),
            order_creation_time: order.order_creation_time,
            order_total: order.total.as_ref(),
            line_items: order.line_items(),
            ticket,
            delivery: delivery.then_some(Delivery { status, schedule, location }),
            payment: order.payment.as_ref(),
        }
    }
}

impl<'a> From<&'a OrderView> for OrderEntry<'a> {
    fn from(order: &'a OrderView) -> Self {
        Self::new(order, None)
    }
}

impl<'a> From<&'a OrderView> for Order<'a> {
    fn from(order: &'a OrderView) -> Self {
        let address = order.address.as_ref();
        Self {
            entry: OrderEntry::new(order, order.location.as_ref()),
            delivery_address: address.and_then(|address| address.delivery_address.as_ref()),
            delivery_time: address.and_then(|address| address.delivery_time),
            timeline: &order.timeline,
        }
    }
}
