//! Every error names the field and the reason, and contains no value.

use std::error::Error;

use order_events::Message;
use serde_json::{Value, json};

#[track_caller]
fn check(body: &str, code: &str, text: &str) {
    let malformed = Message::parse(body).unwrap_err();
    let causes = std::iter::successors(Some(&malformed as &dyn Error), |&error| error.source());
    let error = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    assert_eq!(malformed.code(), code, "{error}");
    assert_eq!(error.matches(text).count(), 1, "{error}");
    assert!(!error.contains("SECRET"), "the error contains a value: {error}");
}

fn message(payload: &str, headers: &Value) -> String {
    let mut all = json!({
        "ID": "0000019ca9450a07-0242ac1200080001",
        "event-type": "DeliveryScheduled",
        "event-aggregate-type": "Delivery",
        "event-aggregate-id": "d1"
    });
    for (name, value) in headers.as_object().unwrap() {
        if value.is_null() {
            all.as_object_mut().unwrap().remove(name);
        } else {
            all[name] = value.clone();
        }
    }
    json!({"payload": payload, "headers": all}).to_string()
}

fn scheduled() -> Value {
    json!({
        "orderId": 99,
        "courierId": 7,
        "estimatedPickupTime": "2026-03-01T12:32:00",
        "estimatedDeliveryTime": "2026-03-01T12:55:00"
    })
}

#[test]
fn the_error_for_an_invalid_body_says_what_is_wrong() {
    check("", "malformed_body", "not valid JSON");
    check("SECRET", "malformed_body", "not valid JSON");
    check(r#""SECRET""#, "malformed_body", "expected an object");
    check("{}", "malformed_envelope", "no `headers`");
    check(r#"{"headers": "SECRET"}"#, "malformed_body", "`headers`: expected an object");
    check(r#"{"headers": {"ID": ["SECRET"]}}"#, "malformed_body", "`headers.ID`: expected a text");
    check(r#"{"headers": {}}"#, "malformed_payload", "`payload` is missing");
    check(r#"{"headers": {}, "payload": {"a": "SECRET"}}"#, "malformed_body", "`payload`: expected a string");
    check(r#"{"Message": {"a": "SECRET"}}"#, "malformed_body", "`Message`: expected a string");
    check(r#"{"Message": "SECRET"}"#, "malformed_body", "not valid JSON");
    let mut nested = message(&scheduled().to_string(), &json!({}));
    for _ in 0..4 {
        nested = json!({ "Message": nested }).to_string();
    }
    check(&nested, "malformed_envelope", "more than 3 envelopes");
}

#[test]
fn the_error_for_an_invalid_header_names_the_header() {
    let check = |headers: Value, code: &str, text: &str| check(&message("{}", &headers), code, text);
    for name in ["ID", "event-type", "event-aggregate-type", "event-aggregate-id"] {
        let mut headers = json!({});
        headers[name] = Value::Null;
        check(headers, "malformed_header", &format!("header `{name}` is missing"));
    }
    check(json!({"ID": "SECRET"}), "malformed_header", "header `ID` is not valid: must be an Eventuate id");
    // A random UUID does not sort by time.
    check(
        json!({"ID": "f47ac10b-58cc-4372-a567-0e02b2c3d479"}),
        "malformed_header",
        "ids that do not sort by time would break the view",
    );
    check(json!({"event-type": "SECRET"}), "unknown_event_type", "must be one of OrderCreated, ");
    check(json!({"event-aggregate-type": "SECRET"}), "wrong_aggregate", "DeliveryScheduled is published by Delivery");
    check(json!({"event-aggregate-id": ""}), "malformed_header", "must not be empty");
    check(json!({"event-aggregate-id": "SECRET 1"}), "malformed_header", "white space");
    check(json!({"event-aggregate-id": "SECRET\u{ffff}1"}), "malformed_header", "white space");
    check(json!({"event-aggregate-id": "x".repeat(256)}), "malformed_header", "at most 255 characters");
}

/// With such a watermark, every later event would look old.
#[test]
fn an_id_with_an_impossible_time_is_refused_with_any_date() {
    let check = |id: &str, date: Option<&str>, code: &str, text: &str| {
        let mut headers = json!({ "ID": id });
        headers.as_object_mut().unwrap().extend(date.map(|date| ("DATE".to_owned(), json!(date))));
        check(&message(&scheduled().to_string(), &headers), code, text);
    };
    let march = "Sun, 1 Mar 2026 12:00:00 GMT";
    let of_1970 = "0000000000000001-0000000000000002";
    let of_no_time = "ffffffffffffffff-ffffffffffffffff";
    let of_2100 = "000003bb2cc3d800-0000000000000000";
    for id in [of_1970, of_no_time, of_2100, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "ffffffff-ffff-7fff-bfff-ffffffffffff"] {
        for date in [None, Some(march), Some("SECRET"), Some("Fri, 1 Jan 2100 00:00:00 GMT")] {
            let text = "header `ID` is not valid: must contain a time between 2001 and 2100";
            check(id, date, "malformed_header", text);
        }
    }
    let of_2099 = "000003b3d512ac00-0000000000000000";
    let yesterday_and_a_millisecond = "0000019ca41eadff-0000000000000000";
    let tomorrow_and_a_millisecond = "0000019cae6b6601-0000000000000000";
    for id in [of_2099, yesterday_and_a_millisecond, tomorrow_and_a_millisecond] {
        check(id, Some(march), "date_mismatch", "more than 24 hours from the message's `DATE`");
    }
}

/// For invalid JSON, the error has line and column instead of a path, which could contain customer data.
#[test]
fn errors_never_contain_unknown_names() {
    let name = "SECRET".repeat(30_000);
    for broken in ["[}", r#"{"a":}"#, r#""\q""#, "1e", r#"{"SECRET":[1,}]"#] {
        let payload = format!(r#"{{"{name}":{broken}}}"#);
        check(&message(&payload, &json!({})), "malformed_payload", "DeliveryScheduled: not valid JSON");
        let body = format!(r#"{{"headers":{{"{name}":{broken}}}}}"#);
        check(&body, "malformed_body", "the message cannot be read: not valid JSON");
    }
    let deep = format!(r#"{{"{name}":{}"#, "[".repeat(200));
    check(&message(&deep, &json!({})), "malformed_payload", "DeliveryScheduled: not valid JSON");
    for header in ["event-type", "event-aggregate-type", "event-aggregate-id", "ID"] {
        let refused = Message::parse(&message("{}", &json!({header: name}))).unwrap_err();
        assert!(refused.to_string().len() < 200, "{refused}");
    }
}

/// serde also reads a struct from an array of its members' values, but no publisher sends that on purpose.
#[test]
fn an_array_instead_of_a_message_or_its_headers_is_refused() {
    let headers = json!(["0000019ca9450a07-0242ac1200080001", "DeliveryPickedUp", "Delivery", "d1", null]);
    let payload = json!({"orderId": 99}).to_string();
    check(
        &json!({"headers": headers, "payload": payload}).to_string(),
        "malformed_body",
        "`headers`: expected an object",
    );
    let headers: Value = serde_json::from_str(&message(&payload, &json!({"event-type": "DeliveryPickedUp"}))).unwrap();
    let body = json!([headers["headers"], payload, null, null]);
    check(&body.to_string(), "malformed_body", "expected an object");
    check(&json!({"Message": body.to_string()}).to_string(), "malformed_body", "expected an object");
    check(&json!({"detail": body}).to_string(), "malformed_body", "expected an object");
}

#[test]
fn the_error_for_an_invalid_payload_names_the_field() {
    let check = |payload: &str, text: &str| {
        let text = format!("the payload is not valid for DeliveryScheduled: {text}");
        check(&message(payload, &json!({})), "malformed_payload", &text);
    };
    check("SECRET", "not valid JSON");
    check("[]", "expected an object");
    check("{}", "missing field `orderId`");
    check(&format!("{} trailing", scheduled()), "not valid JSON");
    let with = |name: &str, value: Value| {
        let mut payload = scheduled();
        payload[name] = value;
        payload.to_string()
    };
    check(&with("orderId", json!(["SECRET"])), "`orderId`: expected a text or a whole number");
    check(&with("orderId", json!("SECRET 1")), "`orderId`: must not contain white space");
    check(&with("courierId", json!(1.5)), "`courierId`: expected a text or a whole number");
    check(&with("estimatedPickupTime", json!("SECRET")), "`estimatedPickupTime`: must be a date and time");
    check(&with("estimatedPickupTime", json!(5)), "`estimatedPickupTime`: expected a date and time");
    check(&with("estimatedDeliveryTime", json!([2026, 13, 1, 0, 0])), "`estimatedDeliveryTime`: must be a date");
}

#[test]
fn the_error_for_a_price_that_is_a_float_names_its_path() {
    let payload = json!({
        "orderDetails": {
            "lineItems": [
                {"quantity": 1, "menuItemId": "1", "name": "SECRET", "price": "1.00"},
                {"quantity": 1, "menuItemId": "2", "name": "SECRET", "price": 9.95}
            ],
            "orderTotal": "10.95", "restaurantId": 1, "consumerId": 1
        },
        "restaurantName": "SECRET"
    });
    let headers = json!({
        "event-type": "OrderCreated", "event-aggregate-type": "Order", "event-aggregate-id": "99"
    });
    check(
        &message(&payload.to_string(), &headers),
        "malformed_payload",
        "`orderDetails.lineItems[1].price`: expected a string",
    );
}
