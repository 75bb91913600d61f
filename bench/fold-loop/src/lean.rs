//! The floor: the same messages, parsed by derived code that borrows where possible and checks nothing.

use std::borrow::Cow;
use std::hint::black_box;

use serde::Deserialize;

use crate::Result;

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    payload: Cow<'a, str>,
    headers: Headers<'a>,
}

#[derive(Deserialize)]
struct Headers<'a> {
    #[serde(rename = "ID")]
    id: &'a str,
    #[serde(rename = "event-type")]
    event_type: &'a str,
    #[serde(rename = "event-aggregate-type")]
    aggregate_type: &'a str,
    #[serde(rename = "event-aggregate-id")]
    aggregate_id: &'a str,
    #[serde(rename = "DATE")]
    date: &'a str,
}

macro_rules! payloads {
    ($($name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)* })*) => {$(
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[allow(dead_code)] // What is read is not used.
        struct $name<'a> { $($(#[$attribute])* $field: $type,)* }
    )*};
}

payloads! {
    OrderCreated { #[serde(borrow)] order_details: OrderDetails<'a>, delivery_address: Address<'a>, restaurant_name: &'a str, }
    OrderDetails { consumer_id: &'a str, restaurant_id: u64, order_total: &'a str, #[serde(borrow)] line_items: Vec<LineItem<'a>>, }
    LineItem { menu_item_id: &'a str, name: &'a str, price: &'a str, quantity: u32, }
    Address { street1: &'a str, city: &'a str, state: &'a str, zip: &'a str, }
    TicketAccepted { ready_by: &'a str, }
    DeliveryScheduled { order_id: &'a str, courier_id: u64, estimated_pickup_time: &'a str, estimated_delivery_time: &'a str, }
    OrderReference { order_id: &'a str, }
    Location { order_id: &'a str, latitude: f64, longitude: f64, }
    ChargeRequested { order_id: &'a str, amount: i64, currency: &'a str, }
    Charged { order_id: &'a str, amount: i64, currency: &'a str, charge_id: &'a str, }
}

#[derive(Deserialize)]
struct Nothing {}

/// Parses a message of the benchmark, and drops it.
pub(crate) fn read(line: &str) -> Result<()> {
    let Message { payload, headers } = serde_json::from_str(line)?;
    let Headers { id, event_type, aggregate_type, aggregate_id, date } = headers;
    black_box((id, aggregate_type, aggregate_id, date));
    match event_type.rsplit('.').next().unwrap_or_default() {
        "OrderCreatedEvent" => payload_of::<OrderCreated<'_>>(&payload),
        "TicketAcceptedEvent" => payload_of::<TicketAccepted<'_>>(&payload),
        "DeliveryScheduled" => payload_of::<DeliveryScheduled<'_>>(&payload),
        "DeliveryPickedUp" | "DeliveryDelivered" => payload_of::<OrderReference<'_>>(&payload),
        "DeliveryLocationUpdated" => payload_of::<Location<'_>>(&payload),
        "PaymentIntentChargeRequested" => payload_of::<ChargeRequested<'_>>(&payload),
        "PaymentIntentCharged" => payload_of::<Charged<'_>>(&payload),
        _ => payload_of::<Nothing>(&payload),
    }
}

fn payload_of<'a, T: Deserialize<'a>>(payload: &'a str) -> Result<()> {
    black_box(serde_json::from_str::<T>(payload)?);
    Ok(())
}
