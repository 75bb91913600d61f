//! FTGO's messages, plain and wrapped.

use order_events::{EventType, Message, Payload, Timestamp};
use serde_json::{Value, json};

/// In the form of FTGO's Order service: Java class names, numeric ids, no nulls.
fn order_created() -> Value {
    let payload = json!({
        "orderDetails": {
            "lineItems": [{"quantity": 5, "menuItemId": "1", "name": "Chicken Vindaloo", "price": "12.34"}],
            "orderTotal": "61.70",
            "restaurantId": 1,
            "consumerId": 1_511_300_065_921_u64,
            "aFieldOfTomorrow": true
        },
        "deliveryAddress": {"street1": "9 Amazing View", "city": "Oakland", "state": "CA", "zip": "94612"},
        "restaurantName": "Ajanta"
    });
    json!({
        "payload": payload.to_string(),
        "headers": {
            "PARTITION_ID": "99",
            "DATE": "Sun, 1 Mar 2026 12:00:00 GMT",
            "event-aggregate-type": "net.chrisrichardson.ftgo.orderservice.domain.Order",
            "event-type": "net.chrisrichardson.ftgo.orderservice.api.events.OrderCreatedEvent",
            "event-aggregate-id": "99",
            "DESTINATION": "net.chrisrichardson.ftgo.orderservice.domain.Order",
            "ID": "0000019ca9450a07-0242ac1200080001"
        }
    })
}

#[test]
fn an_order_created_message_of_ftgo_is_read() {
    let event = Message::parse(&order_created().to_string()).unwrap().event;
    assert_eq!(event.event_type(), EventType::OrderCreated);
    assert_eq!(event.order_id().as_str(), "99");
    assert_eq!(event.at().to_string(), "2026-03-01T12:00:00.007Z", "from the id, not from DATE");
    let Payload::OrderCreated(payload) = event.payload else {
        panic!("not OrderCreated");
    };
    assert_eq!(payload.order_details.consumer_id.as_str(), "1511300065921");
    assert_eq!(payload.order_details.order_total.as_str(), "61.70");
    assert_eq!(payload.delivery_address.unwrap().street2, None);
}

#[test]
fn a_message_wrapped_in_sns_or_eventbridge_or_both_is_the_same_event() {
    let plain = order_created();
    let sns = json!({"Type": "Notification", "TopicArn": "arn", "Message": plain.to_string()});
    let eventbridge = json!({"detail-type": "OrderCreated", "source": "ftgo", "detail": plain});
    let both = json!({"Type": "Notification", "Message": eventbridge.to_string()});
    let expected = Message::parse(&plain.to_string()).unwrap();
    for wrapped in [sns, eventbridge, both] {
        assert_eq!(Message::parse(&wrapped.to_string()).unwrap(), expected);
    }
}

#[test]
fn a_short_type_name_and_a_java_class_name_mean_the_same() {
    let names = ["OrderCreated", "OrderCreatedEvent", "a.b.OrderCreated", "a.b.Outer$OrderCreatedEvent"];
    for name in names {
        let mut message = order_created();
        message["headers"]["event-type"] = name.into();
        let event = Message::parse(&message.to_string()).unwrap().event;
        assert_eq!(event.event_type(), EventType::OrderCreated, "{name}");
    }
}

#[test]
fn a_date_within_24_hours_of_the_id_and_an_unreadable_date_are_accepted() {
    let expected = Message::parse(&order_created().to_string()).unwrap();
    let dates = [
        json!("Sat, 28 Feb 2026 12:00:01 GMT"),
        json!("Mon, 2 Mar 2026 12:00:00 GMT"),
        json!("2026-03-01T12:00:00Z"),
        json!("yesterday"),
        json!(""),
        json!(1_772_366_400_007_u64),
        json!(-1.5),
        json!(true),
        json!([2026, 3, 1]),
        json!({"year": 2026}),
        // A name with a special meaning in serde_json.
        json!({"year": {"$serde_json::private::RawValue": "["}}),
        json!(null),
    ];
    for date in dates {
        let mut message = order_created();
        message["headers"]["DATE"] = date.clone();
        assert_eq!(Message::parse(&message.to_string()).unwrap(), expected, "{date}");
    }
}

#[test]
fn the_content_of_an_event_is_the_same_in_every_envelope() {
    let plain = Message::parse(&order_created().to_string()).unwrap();
    let mut again = order_created();
    again["headers"]["DATE"] = "Mon, 2 Mar 2026 12:00:00 GMT".into();
    assert_eq!(Message::parse(&again.to_string()).unwrap().content(), plain.content());

    again["headers"]["event-aggregate-id"] = "100".into();
    assert_ne!(Message::parse(&again.to_string()).unwrap().content(), plain.content());
}

#[test]
fn null_is_the_same_as_a_missing_field() {
    let revised = |revision: Value| {
        let payload = json!({"orderRevision": revision, "currentOrderTotal": "1", "newOrderTotal": "2"});
        let message = json!({
            "payload": payload.to_string(),
            "headers": {
                "ID": "0000019ca9450a07-0242ac1200080001", "event-type": "OrderRevised",
                "event-aggregate-type": "Order", "event-aggregate-id": "99", "DATE": null
            }
        });
        Message::parse(&message.to_string()).unwrap().event
    };
    let missing = revised(json!({}));
    assert_eq!(revised(json!({"deliveryInformation": null, "revisedOrderLineItems": null})), missing);
}

#[test]
fn a_message_with_another_date_is_the_same_event() {
    let event = Message::parse(&order_created().to_string()).unwrap().event;
    let date = Timestamp::from_millis(event.at().as_millis() - 3_600_000).unwrap();
    let message = event.to_message_dated(date).unwrap();
    assert_eq!(Message::parse(&message).unwrap().event, event);
    let headers: Value = serde_json::from_str(&message).unwrap();
    assert_eq!(headers["headers"]["DATE"], "Sun, 01 Mar 2026 11:00:00 +0000");
}
