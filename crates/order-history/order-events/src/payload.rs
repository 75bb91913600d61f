//! The payload of each event type. Unknown fields are ignored. `null` is the same as a missing field.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{ConsumerId, CourierId, Latitude, Longitude, Money, OrderId, Timestamp};

/// The payload of events without data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nothing {}

/// A consumer placed an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderCreated {
    /// The consumer, the restaurant and the ordered items.
    pub order_details: OrderDetails,
    /// The address to deliver to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery_address: Option<Address>,
    /// The restaurant's name when the order was created.
    pub restaurant_name: String,
}

/// The consumer, the restaurant and the ordered items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderDetails {
    /// The consumer who ordered.
    pub consumer_id: ConsumerId,
    /// The restaurant's id.
    pub restaurant_id: u64,
    /// The sum of the line items.
    pub order_total: Money,
    /// The ordered items.
    pub line_items: Vec<LineItem>,
}

/// One line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LineItem {
    /// The menu item's id.
    pub menu_item_id: String,
    /// The item's name when the order was created.
    pub name: String,
    /// The price of one item: a decimal text.
    pub price: Money,
    /// The number of items.
    pub quantity: u32,
}

/// A postal address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Address {
    /// Street and number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street1: Option<String>,
    /// Flat, floor, company.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street2: Option<String>,
    /// City.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub city: Option<String>,
    /// State or region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Postal code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zip: Option<String>,
}

/// A revision of an order, proposed or made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderRevised {
    /// The changes.
    pub order_revision: OrderRevision,
    /// The total before.
    pub current_order_total: Money,
    /// The total after.
    pub new_order_total: Money,
}

/// The changes of a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderRevision {
    /// The new address and time of delivery, if they change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery_information: Option<DeliveryInformation>,
    /// New quantities. Other items keep theirs.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub revised_order_line_items: Vec<RevisedLineItem>,
}

/// The address and time of delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryInformation {
    /// The requested time of delivery.
    pub delivery_time: Timestamp,
    /// The address to deliver to.
    pub delivery_address: Address,
}

/// A menu item's new quantity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RevisedLineItem {
    /// The menu item.
    pub menu_item_id: String,
    /// The new quantity.
    pub quantity: u32,
}

/// The restaurant accepted the ticket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TicketAccepted {
    /// The time when the food should be ready.
    pub ready_by: Timestamp,
}

/// A courier was assigned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryScheduled {
    /// The order that is delivered.
    pub order_id: OrderId,
    /// The courier's id.
    pub courier_id: CourierId,
    /// The estimated time of the courier's arrival at the restaurant.
    pub estimated_pickup_time: Timestamp,
    /// The estimated time of delivery.
    pub estimated_delivery_time: Timestamp,
}

/// The payload of delivery events that contain only the order's id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderReference {
    /// The order that is delivered.
    pub order_id: OrderId,
}

/// The location of the courier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryLocationUpdated {
    /// The order that is delivered.
    pub order_id: OrderId,
    /// Degrees north.
    pub latitude: Latitude,
    /// Degrees east.
    pub longitude: Longitude,
}

/// A charge was requested.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentIntentChargeRequested {
    /// The order that the intent pays for.
    pub order_id: OrderId,
    /// The amount in the currency's minor units, such as cents.
    pub amount: i64,
    /// The currency (ISO 4217), such as `USD`.
    pub currency: String,
}

/// The charge was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentIntentCharged {
    /// The order that the intent pays for.
    pub order_id: OrderId,
    /// The amount in the currency's minor units, such as cents.
    pub amount: i64,
    /// The currency (ISO 4217), such as `USD`.
    pub currency: String,
    /// The payment gateway's id of the charge.
    pub charge_id: String,
}

/// The charge failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentIntentChargeFailed {
    /// The order that the intent pays for.
    pub order_id: OrderId,
    /// The amount in the currency's minor units, such as cents.
    pub amount: i64,
    /// The currency (ISO 4217), such as `USD`.
    pub currency: String,
    /// The payment gateway's id of the charge, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge_id: Option<String>,
    /// Why the charge failed, for programs.
    pub error_code: String,
    /// Why the charge failed, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
