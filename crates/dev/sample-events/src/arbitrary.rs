//! Arbitrary events of one order: any type, any aggregate instance, any id.

use order_events::{Event, EventType};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Up to `most` events of order 99 with distinct ids, in arbitrary sequence.
pub fn arbitrary(most: usize) -> impl Strategy<Value = Vec<Event>> {
    let seed = (proptest::sample::select(EventType::ALL), 0..3_u8, any::<u16>());
    proptest::collection::vec(seed, 0..most)
        .prop_map(|seeds| {
            let numbered = seeds.into_iter().enumerate();
            numbered.map(|(id, (event_type, instance, salt))| event(id, event_type, instance, salt)).collect()
        })
        .prop_shuffle()
}

fn event(id: usize, event_type: EventType, instance: u8, salt: u16) -> Event {
    let aggregate = event_type.aggregate().name();
    let own_id = format!("{aggregate}-{instance}");
    let of_order = matches!(aggregate, "Order" | "Ticket");
    let message = json!({
        "payload": payload(event_type, salt).to_string(),
        "headers": {
            "ID": format!("0000019ca945{id:04x}-{salt:016x}"),
            "event-type": event_type.name(),
            "event-aggregate-type": aggregate,
            "event-aggregate-id": if of_order { "99" } else { &own_id },
        },
    });
    crate::read(&message.to_string())
}

/// The sample's payload with varied fields.
fn payload(event_type: EventType, salt: u16) -> Value {
    let sample = crate::message_of_type(event_type);
    let mut payload: Map<String, Value> = serde_json::from_str(sample["payload"].as_str().unwrap()).unwrap();
    let Value::Object(varied) = varied(event_type, salt) else { unreachable!("`varied` returns an object") };
    payload.extend(varied);
    Value::Object(payload)
}

/// One object with the fields of all types; each type ignores unknown fields.
fn varied(event_type: EventType, salt: u16) -> Value {
    let revision = json!({
        "deliveryInformation": salt.is_multiple_of(2).then(|| json!({
            "deliveryTime": "2026-03-01T13:00:00",
            "deliveryAddress": if salt.is_multiple_of(4) { json!({}) } else { json!({"street1": format!("{salt} Street")}) },
        })),
        "revisedOrderLineItems": [{"menuItemId": (salt % 3).to_string(), "quantity": salt % 5}],
    });
    let charge_failed = event_type == EventType::PaymentIntentChargeFailed;
    json!({
        "orderDetails": {
            "consumerId": salt,
            "restaurantId": if salt.is_multiple_of(5) { u64::MAX } else { salt.into() },
            "orderTotal": format!("{salt}.00"),
            "lineItems": line_items(salt),
        },
        "deliveryAddress": (salt % 2 == 1).then(|| json!({"city": format!("City {salt}")})),
        // Sometimes without a word, so that there are no keywords.
        "restaurantName": if salt.is_multiple_of(7) { "–" } else { "Ajanta" },
        "orderRevision": revision,
        "currentOrderTotal": "1.00",
        "newOrderTotal": format!("{salt}.50"),
        "readyBy": "2026-03-01T12:30:00",
        "orderId": 99,
        "courierId": salt,
        "estimatedPickupTime": "2026-03-01T12:32:00",
        "estimatedDeliveryTime": "2026-03-01T12:55:00",
        "latitude": f64::from(salt) / 1_000.0,
        "longitude": -f64::from(salt) / 1_000.0,
        "amount": i64::from(salt) - 30_000,
        "currency": "USD",
        "chargeId": (!charge_failed || salt.is_multiple_of(2)).then(|| format!("ch_{salt}")),
        "errorCode": "card_declined",
        "errorMessage": salt.is_multiple_of(3).then_some("no"),
    })
}

fn line_items(salt: u16) -> Value {
    if salt.is_multiple_of(7) {
        return json!([]);
    }
    json!([
        {"menuItemId": "1", "name": format!("Dish {salt}"), "price": "1.00", "quantity": 1},
        {"menuItemId": "2", "name": "", "price": "2.00", "quantity": 2},
    ])
}
