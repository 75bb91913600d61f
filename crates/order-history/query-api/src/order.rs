//! An order as JSON. What is not known yet is left out; there is no `null`.

use std::collections::BTreeSet;

use order_events::payload::{Address, LineItem};
use order_events::{ConsumerId, OrderId, Timestamp};
use order_view::facet::{Location, Payment, Promise, Schedule, Total};
use order_view::{DeliveryStatus, OrderStatus, OrderView, TicketStatus, TimelineEntry};
use serde::Serialize;

/// What a list shows of an order. What is not known yet is left out.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct OrderEntry<'a> {
    /// The order's id.
    order_id: &'a OrderId,
    /// Whose order it is.
    consumer_id: &'a ConsumerId,
    /// Where the order stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a OrderStatus>,
    /// The restaurant's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    restaurant_id: Option<u64>,
    /// The restaurant's name when the order was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    restaurant_name: Option<&'a str>,
    /// When the order was made, in UTC.
    order_creation_time: Timestamp,
    /// What the order costs now: a decimal text.
    #[serde(skip_serializing_if = "Option::is_none")]
    order_total: Option<&'a Total>,
    /// What was ordered, with the quantities as revised.
    #[serde(skip_serializing_if = "Option::is_none")]
    line_items: Option<Vec<LineItem>>,
    /// Where the kitchen stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<Ticket<'a>>,
    /// Where the delivery stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery: Option<Delivery<'a>>,
    /// Where the payment stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment: Option<&'a Payment>,
}

/// All that is known of an order. What is not known yet is left out.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Order<'a> {
    #[serde(flatten)]
    entry: OrderEntry<'a>,
    /// Where it should be delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_address: Option<&'a Address>,
    /// When it should be delivered, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_time: Option<Timestamp>,
    /// What happened, in the order of the events' ids.
    timeline: &'a BTreeSet<TimelineEntry>,
}

/// Where the kitchen stands.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Ticket<'a> {
    /// Where the kitchen stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a TicketStatus>,
    /// By when the kitchen promised to be done, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    ready_by: Option<&'a Promise>,
}

/// Where the delivery stands.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Delivery<'a> {
    /// Where the delivery stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a DeliveryStatus>,
    #[serde(flatten)]
    schedule: Option<&'a Schedule>,
    /// Where the courier was seen last; never in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<&'a Location>,
}

impl<'a> OrderEntry<'a> {
    /// The entry, with the courier's location if it is given.
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
