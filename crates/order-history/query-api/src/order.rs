//! An order as JSON. What is not known yet is left out; there is no `null`.

use order_events::payload;
#[cfg(feature = "openapi")]
use order_events::{DeliveryStatus, EventType, OrderStatus, PaymentStatus, TicketStatus};
use order_view::{OrderSummary, OrderView};
use serde::Serialize;

/// What a list shows of an order. What is not known yet is left out.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct OrderEntry {
    /// The order's id.
    order_id: String,
    /// Whose order it is.
    consumer_id: String,
    /// Where the order stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(extend("enum" = texts(OrderStatus::ALL))))]
    status: Option<String>,
    /// The restaurant's id.
    restaurant_id: u64,
    /// The restaurant's name when the order was made.
    restaurant_name: String,
    /// When the order was made, in UTC.
    #[cfg_attr(feature = "openapi", schemars(extend("format" = "date-time")))]
    order_creation_time: String,
    /// What the order costs now: a decimal text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(extend("pattern" = DECIMAL)))]
    order_total: Option<String>,
    /// What was ordered, with the quantities as revised.
    line_items: Vec<LineItem>,
    /// Where the kitchen stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket: Option<Ticket>,
    /// Where the delivery stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery: Option<Delivery>,
    /// Where the payment stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment: Option<Payment>,
}

/// All that is known of an order. What is not known yet is left out.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Order {
    #[serde(flatten)]
    entry: OrderEntry,
    /// Where it should be delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_address: Option<Address>,
    /// When it should be delivered, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(extend("format" = "date-time")))]
    delivery_time: Option<String>,
    /// What happened, in the order of the events' ids.
    timeline: Vec<TimelineEntry>,
}

/// One line of an order.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct LineItem {
    /// The menu item's id.
    menu_item_id: String,
    /// Its name when the order was made.
    name: String,
    /// The price of one: a decimal text.
    #[cfg_attr(feature = "openapi", schemars(extend("pattern" = DECIMAL)))]
    price: String,
    /// How many.
    quantity: u32,
}

/// Where the kitchen stands.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Ticket {
    /// Where the kitchen stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(extend("enum" = texts(TicketStatus::ALL))))]
    status: Option<String>,
    /// By when the kitchen promised to be done, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(extend("format" = "date-time")))]
    ready_by: Option<String>,
}

/// Where the delivery stands.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Delivery {
    /// Where the delivery stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(extend("enum" = texts(DeliveryStatus::ALL))))]
    status: Option<String>,
    /// The courier's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    courier_id: Option<String>,
    /// When the courier should be at the restaurant, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(extend("format" = "date-time")))]
    estimated_pickup_time: Option<String>,
    /// When the courier should be at the consumer's, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schemars(extend("format" = "date-time")))]
    estimated_delivery_time: Option<String>,
    /// Where the courier was seen last; never in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<Location>,
}

/// Where the courier was seen last.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
struct Location {
    /// Degrees north.
    latitude: f64,
    /// Degrees east.
    longitude: f64,
    /// When, in UTC.
    #[cfg_attr(feature = "openapi", schemars(extend("format" = "date-time")))]
    at: String,
}

/// Where the payment stands.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct Payment {
    /// Where the payment stands.
    #[cfg_attr(feature = "openapi", schemars(extend("enum" = texts(PaymentStatus::ALL))))]
    status: String,
    /// The payment intent that says so.
    payment_intent_id: String,
    /// In minor units: cents.
    amount: i64,
    /// Such as `USD`.
    currency: String,
    /// The payment provider's name for the charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    charge_id: Option<String>,
    /// Why it failed, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
    /// Why it failed, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
}

/// A postal address.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
struct Address {
    /// Street and number.
    #[serde(skip_serializing_if = "Option::is_none")]
    street1: Option<String>,
    /// Flat, floor, company.
    #[serde(skip_serializing_if = "Option::is_none")]
    street2: Option<String>,
    /// City.
    #[serde(skip_serializing_if = "Option::is_none")]
    city: Option<String>,
    /// State or region.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<String>,
    /// Postal code.
    #[serde(skip_serializing_if = "Option::is_none")]
    zip: Option<String>,
}

/// Something that happened to the order.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
struct TimelineEntry {
    /// The event's id.
    event_id: String,
    /// What happened.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schemars(extend("enum" = texts(EventType::ALL))))]
    event_type: String,
    /// When, in UTC.
    #[cfg_attr(feature = "openapi", schemars(extend("format" = "date-time")))]
    at: String,
}

/// Money: digits, perhaps a sign before and a fraction after them.
#[cfg(feature = "openapi")]
const DECIMAL: &str = r"^-?[0-9]+(\.[0-9]+)?$";

#[cfg(feature = "openapi")]
fn texts<T: ToString>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

impl From<&OrderSummary> for OrderEntry {
    fn from(order: &OrderSummary) -> Self {
        let details = &order.details;
        Self {
            order_id: order.order_id.to_string(),
            consumer_id: details.consumer_id.to_string(),
            status: order.status.as_ref().map(ToString::to_string),
            restaurant_id: details.restaurant_id,
            restaurant_name: details.restaurant_name.clone(),
            order_creation_time: details.order_creation_time.to_string(),
            order_total: order.total.as_ref().map(ToString::to_string),
            line_items: order.line_items().into_iter().map(LineItem::from).collect(),
            ticket: (order.ticket.is_some() || order.promise.is_some()).then(|| Ticket {
                status: order.ticket.as_ref().map(ToString::to_string),
                ready_by: order.promise.as_ref().map(|promise| promise.ready_by.to_string()),
            }),
            delivery: (order.delivery.is_some() || order.schedule.is_some()).then(|| delivery(order)),
            payment: order.payment.as_ref().map(Payment::from),
        }
    }
}

impl Order {
    /// The order, if its `OrderCreated` has come.
    #[must_use]
    pub fn of(view: &OrderView) -> Option<Self> {
        let summary = view.summary()?;
        let mut entry = OrderEntry::from(&summary);
        if let Some(location) = &view.location {
            let location = &location.value;
            entry.delivery.get_or_insert_with(|| delivery(&summary)).location = Some(Location {
                latitude: location.latitude.as_f64(),
                longitude: location.longitude.as_f64(),
                at: location.at.to_string(),
            });
        }
        let address = view.address.as_ref().map(|address| &address.value);
        let timeline = view.timeline.iter().map(|entry| TimelineEntry {
            event_id: entry.event_id.to_string(),
            event_type: entry.event_type.to_string(),
            at: entry.at.to_string(),
        });
        Some(Self {
            entry,
            delivery_address: address.map(|address| Address::from(&address.delivery_address)),
            delivery_time: address.and_then(|address| address.delivery_time).as_ref().map(ToString::to_string),
            timeline: timeline.collect(),
        })
    }
}

fn delivery(order: &OrderSummary) -> Delivery {
    let schedule = order.schedule.as_ref();
    Delivery {
        status: order.delivery.as_ref().map(ToString::to_string),
        courier_id: schedule.map(|schedule| schedule.courier_id.to_string()),
        estimated_pickup_time: schedule.map(|schedule| schedule.estimated_pickup_time.to_string()),
        estimated_delivery_time: schedule.map(|schedule| schedule.estimated_delivery_time.to_string()),
        location: None,
    }
}

impl From<payload::LineItem> for LineItem {
    fn from(item: payload::LineItem) -> Self {
        Self {
            menu_item_id: item.menu_item_id,
            name: item.name,
            price: item.price.to_string(),
            quantity: item.quantity,
        }
    }
}

impl From<&payload::Address> for Address {
    fn from(address: &payload::Address) -> Self {
        let payload::Address { street1, street2, city, state, zip } = address.clone();
        Self { street1, street2, city, state, zip }
    }
}

impl From<&order_view::Payment> for Payment {
    fn from(payment: &order_view::Payment) -> Self {
        Self {
            status: payment.status.to_string(),
            payment_intent_id: payment.payment_intent_id.to_string(),
            amount: payment.amount,
            currency: payment.currency.clone(),
            charge_id: payment.charge_id.clone(),
            error_code: payment.error_code.clone(),
            error_message: payment.error_message.clone(),
        }
    }
}
