//! What each event type carries. Unknown fields are ignored; a `null` is the same as a missing field.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{ConsumerId, CourierId, Latitude, Longitude, Money, OrderId, Timestamp};

/// For events whose type says it all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nothing {}

/// A consumer placed an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderCreated {
    /// What was ordered, where, by whom.
    pub order_details: OrderDetails,
    /// Where it should go.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery_address: Option<Address>,
    /// The restaurant's name at that time.
    pub restaurant_name: String,
}

/// What was ordered, where, by whom.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderDetails {
    /// Who ordered.
    pub consumer_id: ConsumerId,
    /// Where.
    pub restaurant_id: u64,
    /// The sum of the line items.
    pub order_total: Money,
    /// What.
    pub line_items: Vec<LineItem>,
}

/// One line of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct LineItem {
    /// The menu item's id.
    pub menu_item_id: String,
    /// Its name when the order was made.
    pub name: String,
    /// The price of one: a decimal text.
    pub price: Money,
    /// How many.
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
    /// What changes.
    pub order_revision: OrderRevision,
    /// The total before.
    pub current_order_total: Money,
    /// The total after.
    pub new_order_total: Money,
}

/// What a revision changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderRevision {
    /// Where and when to deliver, if that changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery_information: Option<DeliveryInformation>,
    /// New quantities; items not named keep theirs.
    #[serde(default, deserialize_with = "null_is_empty")]
    pub revised_order_line_items: Vec<RevisedLineItem>,
}

/// Where and when to deliver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryInformation {
    /// When.
    pub delivery_time: Timestamp,
    /// Where.
    pub delivery_address: Address,
}

/// A menu item's new quantity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RevisedLineItem {
    /// The menu item.
    pub menu_item_id: String,
    /// How many from now on.
    pub quantity: u32,
}

/// The restaurant will cook it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TicketAccepted {
    /// By when it promises to be done.
    pub ready_by: Timestamp,
}

/// A courier was assigned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryScheduled {
    /// The order delivered.
    pub order_id: OrderId,
    /// By whom.
    pub courier_id: CourierId,
    /// When the courier should be at the restaurant.
    pub estimated_pickup_time: Timestamp,
    /// When the courier should be at the consumer's.
    pub estimated_delivery_time: Timestamp,
}

/// For delivery events that only name their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfOrder {
    /// The order delivered.
    pub order_id: OrderId,
}

/// Where the courier is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryLocationUpdated {
    /// The order delivered.
    pub order_id: OrderId,
    /// North.
    pub latitude: Latitude,
    /// East.
    pub longitude: Longitude,
}

/// A charge was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentIntentChargeRequested {
    /// The order paid for.
    pub order_id: OrderId,
    /// In minor units: cents.
    pub amount: i64,
    /// Such as `USD`.
    pub currency: String,
}

/// The money is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentIntentCharged {
    /// The order paid for.
    pub order_id: OrderId,
    /// In minor units: cents.
    pub amount: i64,
    /// Such as `USD`.
    pub currency: String,
    /// The payment provider's name for the charge.
    pub charge_id: String,
}

/// The charge was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaymentIntentChargeFailed {
    /// The order not paid for.
    pub order_id: OrderId,
    /// In minor units: cents.
    pub amount: i64,
    /// Such as `USD`.
    pub currency: String,
    /// The payment provider's name for the charge, if it came to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge_id: Option<String>,
    /// Why, for programs.
    pub error_code: String,
    /// Why, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}

fn null_is_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}
