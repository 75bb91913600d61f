//! The console of `make run`, on the real system with the real functions.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A failed unwrap fails the test.

mod shuffle;
mod system;

use std::collections::BTreeSet;

use reqwest::{StatusCode, redirect};
use serde_json::{Value, json};

use crate::system::{System, eventually, send};

#[tokio::test]
async fn the_state_shows_the_whole_system() {
    let system = System::start("shown", &[]);
    let state = system.read("state").await;
    let named = |list: &str, name: &str| {
        let found = state[list].as_array().unwrap().iter().find(|entry| entry["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {list}: {state}")).clone()
    };
    assert_eq!(
        named("queues", "ftgo-order-history-OrderCreated"),
        json!({
            "name": "ftgo-order-history-OrderCreated",
            "function": "ftgo-order-history-OrderCreated",
            "waiting": 0,
            "inFlight": 0,
            "deadLetterQueue": "ftgo-order-history-OrderCreated-dlq",
            "deadLetters": 0,
        })
    );
    assert_eq!(named("queues", "ftgo-order-history-archive")["function"], "ftgo-order-history-archiver");
    assert_eq!(named("queues", "ftgo-payments-charge")["deadLetterQueue"], "ftgo-payments-charge-dlq");
    let names: BTreeSet<_> =
        state["functions"].as_array().unwrap().iter().map(|function| &function["name"]).map(Value::to_string).collect();
    assert_eq!(names.len(), 26, "{names:?}");
    let created = named("functions", "ftgo-order-history-OrderCreated");
    assert!(created["processes"].as_u64() >= Some(1), "{created}");
    assert!(created["invocations"].as_u64() >= Some(1), "{created}");
    assert_eq!(created["failures"], 0);
    assert!(created["lastLine"].as_str().unwrap().contains("batch processed"), "{created}");
    assert!(created["lastLineAt"].as_str().unwrap().ends_with('Z'), "{created}");
    assert!(named("functions", "ftgo-order-history-query-api")["processes"].as_u64() >= Some(1));

    let topic = &state["topic"];
    assert_eq!(topic["subscriptions"], 21, "one for each event type, the archive and the charges");
    // Eleven events of the demo, and two for each of its payments.
    assert_eq!(topic["published"], 15, "{topic}");
    let recent = topic["recent"].as_array().unwrap();
    assert!(recent[0]["eventType"].as_str().unwrap().starts_with("PaymentIntent"), "the newest first: {topic}");
    assert!(recent.iter().all(|event| event["orderId"].is_string() && event["eventId"].is_string()), "{topic}");
    let orders = state["orders"].as_array().unwrap();
    let first = json!({"orderId": "101", "consumerId": "42", "status": "APPROVAL_PENDING"});
    assert_eq!((orders.len(), &orders[0]), (3, &first), "the newest first");

    system.eventually("state", |state| (state["outbox"]["unpublished"] == 0).then_some(())).await;
    let archived = |state: &Value| (state["archive"]["files"].as_u64() > Some(0)).then(|| state["archive"].clone());
    let archive = system.eventually("state", archived).await;
    assert!(archive["bytes"].as_u64() > Some(0), "{archive}");
    assert!(archive["newest"].as_str().unwrap().starts_with("events/dt="), "{archive}");

    let log = system.read("functions/ftgo-order-history-OrderCreated/log?lines=1").await;
    assert_eq!(log["lines"].as_array().unwrap().len(), 1, "{log}");
}

#[tokio::test]
async fn the_buttons_create_an_order_and_publish_its_events() {
    let system = System::start("orders", &[]);
    let created = system.act("orders", json!({})).await;
    let order = created["orderId"].as_str().unwrap();
    let of_order = |state: &Value, key: &str| {
        let orders = state["orders"].as_array().unwrap();
        orders.iter().find(|known| known["orderId"] == order).map(|known| known[key].clone())
    };
    let consumer = system.eventually("state", |state| of_order(state, "consumerId")).await;
    assert_eq!(consumer, "1511300065921");

    let way = [
        ("OrderAuthorized", "/status", "APPROVED"),
        ("OrderRevisionProposed", "/status", "REVISION_PENDING"),
        ("OrderRevised", "/status", "APPROVED"),
        ("TicketCreated", "/ticket/status", "AWAITING_ACCEPTANCE"),
        ("TicketAccepted", "/ticket/status", "ACCEPTED"),
        ("DeliveryScheduled", "/delivery/status", "SCHEDULED"),
        ("TicketPreparationStarted", "/ticket/status", "PREPARING"),
        ("TicketPreparationCompleted", "/ticket/status", "READY_FOR_PICKUP"),
        ("TicketPickedUp", "/ticket/status", "PICKED_UP"),
        ("DeliveryPickedUp", "/delivery/status", "PICKED_UP"),
        ("DeliveryLocationUpdated", "/delivery/location/latitude", ""),
        ("DeliveryDelivered", "/delivery/status", "DELIVERED"),
    ];
    let page = format!("{}/orders/{order}", system.http);
    let before = send(system.client.get(&page)).await.1;
    for (event_type, place, expected) in way {
        let next = system.read(&format!("orders/{order}/next")).await;
        let offered = next["events"].as_array().unwrap().iter().find(|event| event["eventType"] == event_type);
        assert!(!offered.unwrap_or_else(|| panic!("no {event_type} in {next}"))["text"].as_str().unwrap().is_empty());
        let published = system.act(&format!("orders/{order}/events"), json!({"eventType": event_type})).await;
        assert!(published["eventId"].is_string(), "{published}");
        let happened =
            |shown: &Value| shown.pointer(place).is_some_and(|value| expected.is_empty() || value == expected);
        eventually(|| system.client.get(&page), |shown| happened(shown).then_some(())).await;
    }
    assert_eq!(
        system.read(&format!("orders/{order}/next")).await,
        json!({"events": []}),
        "a delivered order has no next events"
    );
    let after = send(system.client.get(&page)).await.1;
    let quantity = |order: &Value| order["lineItems"][0]["quantity"].as_u64().unwrap();
    assert_eq!(quantity(&after), quantity(&before) + 1, "the revision adds one");
    assert_ne!(after["orderTotal"], before["orderTotal"]);

    let refused = [
        (format!("orders/{order}/events"), json!({"eventType": "TicketCreated"}), StatusCode::BAD_REQUEST),
        (format!("orders/{order}/events"), json!({"eventType": "PaymentIntentCharged"}), StatusCode::BAD_REQUEST),
        (format!("orders/{order}/events"), json!({}), StatusCode::BAD_REQUEST),
        ("orders/no-such-order/events".to_owned(), json!({"eventType": "TicketCreated"}), StatusCode::NOT_FOUND),
    ];
    for (path, body, expected) in refused {
        let (status, problem) = send(system.post(&format!("api/{path}"), &body)).await;
        assert_eq!(status, expected, "{path} {body}: {problem}");
        assert!(!problem["message"].as_str().unwrap().is_empty());
    }
    assert_eq!(send(system.get("api/orders/no-such-order/next")).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn two_concurrent_clicks_publish_one_event() {
    let system = System::start("clicks", &[]);
    let next = system.read("orders/101/next").await;
    assert_eq!(next["events"][0]["eventType"], "OrderAuthorized", "{next}");
    let before = system.read("state").await["topic"]["published"].as_u64().unwrap();
    let click = || send(system.post("api/orders/101/events", &json!({"eventType": "OrderAuthorized"})));
    let (one, other) = tokio::join!(click(), click());
    let mut statuses = [one.0, other.0];
    statuses.sort();
    assert_eq!(statuses, [StatusCode::OK, StatusCode::BAD_REQUEST], "{one:?} {other:?}");
    let after = system.read("state").await;
    assert_eq!(after["topic"]["published"], before + 1, "{after}");
    let next = system.read("orders/101/next").await;
    assert_ne!(next["events"][0]["eventType"], "OrderAuthorized", "the view has the event: {next}");
}

#[tokio::test]
async fn a_dead_letter_is_shown_with_its_reason_and_moved_back() {
    let system = System::start("dead-letters", &[("DEMO", "0"), ("VISIBILITY_TIMEOUT", "1")]);
    system.publish("OrderCreated", r#"{"payload": "{}", "headers": {}}"#).await;
    let queue = "ftgo-order-history-OrderCreated";
    let depth = |state: &Value| {
        let queues = state["queues"].as_array().unwrap();
        queues.iter().find(|known| known["name"] == queue).unwrap()["deadLetters"].as_u64().unwrap()
    };
    system.eventually("state", |state| (depth(state) == 1).then_some(())).await;
    let letters = system.read(&format!("dead-letters/{queue}-dlq")).await;
    let letter = &letters["messages"][0];
    assert_eq!(letters["messages"].as_array().unwrap().len(), 1, "{letters}");
    assert_eq!((&letter["reason"], &letter["receiveCount"]), (&json!("malformed_header"), &json!(5)), "{letter}");
    assert!(letter["detail"].as_str().unwrap().contains("event-type"), "{letter}");
    assert!(letter["body"].as_str().unwrap().contains("headers"), "{letter}");
    assert!(letter["messageId"].is_string() && letter["sentAt"].as_str().unwrap().ends_with('Z'), "{letter}");
    for _ in 0..2 {
        let again = system.read(&format!("dead-letters/{queue}-dlq")).await;
        assert_eq!(again, letters, "reading changes nothing");
    }
    assert_eq!(depth(&system.read("state").await), 1);

    let recent = system.read("state").await["topic"]["recent"].clone();
    assert_eq!(recent[0]["eventType"], "unreadable message");
    assert_eq!(system.act(&format!("dead-letters/{queue}-dlq/redrive"), json!({})).await, json!({"moved": 1}));
    assert_eq!(depth(&system.read("state").await), 0);
    // The message fails again.
    system.eventually("state", |state| (depth(state) == 1).then_some(())).await;
    let again = system.read(&format!("dead-letters/{queue}")).await;
    assert_eq!(again["messages"][0]["receiveCount"], 5, "{again}");
    assert_eq!(system.act("dead-letters/ftgo-payments-charge-dlq/redrive", json!({})).await, json!({"moved": 0}));
}

#[tokio::test]
async fn a_killed_function_is_started_again() {
    let system = System::start("killed", &[]);
    let api = "ftgo-order-history-query-api";
    let processes = |state: &Value| {
        let functions = state["functions"].as_array().unwrap();
        functions.iter().find(|known| known["name"] == api).unwrap()["processes"].as_u64().unwrap()
    };
    assert!(processes(&system.read("state").await) >= 1);
    let killed = system.act(&format!("functions/{api}/kill"), json!({})).await;
    assert!(killed["killed"].as_u64() >= Some(1), "{killed}");
    assert_eq!(processes(&system.read("state").await), 0);
    assert_eq!(system.act(&format!("functions/{api}/kill"), json!({})).await, json!({"killed": 0}));
    let order = send(system.client.get(format!("{}/orders/99", system.http))).await;
    assert_eq!(order.0, StatusCode::OK, "{order:?}");
    assert_eq!(processes(&system.read("state").await), 1);
}

#[tokio::test]
async fn requests_from_other_sites_are_rejected() {
    let system = System::start("guarded", &[("DEMO", "0")]);
    let own = system.http.clone();
    let forbidden: [&[(&str, &str)]; 5] = [
        // The name of another site that resolves to this machine.
        &[("host", "evil.example:3000")],
        &[("origin", "http://evil.example")],
        &[("origin", "null")],
        &[("sec-fetch-site", "cross-site")],
        // Another program on this machine.
        &[("origin", "http://127.0.0.1:1"), ("sec-fetch-site", "same-site")],
    ];
    for headers in forbidden {
        for path in ["", "api/state", "api/nothing", "assets/nothing.js"] {
            let request = headers.iter().fold(system.get(path), |request, (name, value)| request.header(*name, *value));
            let (status, problem) = send(request).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{path:?} {headers:?}");
            assert!(problem["message"].is_string());
        }
        let request = system.post("api/orders", &json!({}));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        assert_eq!(send(request).await.0, StatusCode::FORBIDDEN, "{headers:?}");
    }
    assert_eq!(system.read("state").await["topic"]["published"], 0, "no event was published");
    let trusted = system.get("api/state").header("origin", &own).header("sec-fetch-site", "same-origin");
    assert_eq!(send(trusted).await.0, StatusCode::OK);

    let url = format!("{own}/console/api/orders");
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let request = system.client.post(&url).header("content-type", content_type).body("{}");
        assert_eq!(send(request).await.0, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{content_type}");
    }
    assert_eq!(send(system.client.post(&url).body("{}")).await.0, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let json = || system.client.post(&url).header("content-type", "application/json; charset=utf-8");
    assert_eq!(send(json().body("{")).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(send(json().body(" ".repeat(20_000))).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(send(json().body("[".repeat(16_000))).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(system.read("state").await["topic"]["published"], 0, "no event was published");
}

#[tokio::test]
async fn an_unknown_name_gets_404() {
    let system = System::start("names", &[("DEMO", "0")]);
    let names = [
        "no-such-function",
        "..",
        "..%2F..%2Fdynamodb.sqlite",
        "%2Fetc%2Fpasswd",
        "..%2Flogs%2Fftgo-order-history-query-api",
        "ftgo-order-history-query-api%00",
        "ftgo-order-history-query-api.log",
    ];
    for name in names {
        let get =
            [format!("api/functions/{name}/log"), format!("api/dead-letters/{name}"), format!("api/shuffles/{name}")];
        for path in get {
            let (status, problem) = send(system.get(&path)).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{path}: {problem}");
        }
        for path in [format!("api/functions/{name}/kill"), format!("api/dead-letters/{name}/redrive")] {
            let (status, problem) = send(system.post(&path, &json!({}))).await;
            assert_eq!(status, StatusCode::NOT_FOUND, "{path}: {problem}");
        }
    }
    for lines in ["0", "-1", "many", "1001"] {
        let request = system.get(&format!("api/functions/ftgo-order-history-query-api/log?lines={lines}"));
        assert_eq!(send(request).await.0, StatusCode::BAD_REQUEST, "{lines}");
    }
    for seed in [json!(-1), json!(1.5), json!("1"), json!(u64::MAX)] {
        let (status, problem) = send(system.post("api/shuffles", &json!({"seed": seed}))).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{seed}: {problem}");
    }
    let put = system.client.put(format!("{}/console/api/state", system.http));
    assert_eq!(send(put).await.0, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn the_site_is_served_with_a_strict_policy() {
    let system = System::start("site", &[("DEMO", "0")]);
    let client = reqwest::Client::builder().redirect(redirect::Policy::none()).build().unwrap();
    let redirected = client.get(format!("{}/console", system.http)).send().await.unwrap();
    assert!(redirected.status().is_redirection());
    assert_eq!(redirected.headers()["location"], "/console/");

    let index = system.get("").send().await.unwrap();
    assert_eq!(index.status(), StatusCode::OK);
    assert_eq!(index.headers()["content-type"], "text/html; charset=utf-8");
    assert_eq!(index.headers()["cache-control"], "no-cache");
    let policy = index.headers()["content-security-policy"].to_str().unwrap().to_owned();
    for rule in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    let etag = index.headers()["etag"].clone();
    let html = index.text().await.unwrap();
    let script = html.split("src=\"assets/").nth(1).unwrap().split('"').next().unwrap();
    let script = system.get(&format!("assets/{script}")).send().await.unwrap();
    assert_eq!(script.headers()["content-type"], "text/javascript; charset=utf-8");
    assert!(script.headers()["cache-control"].to_str().unwrap().contains("immutable"));
    let known = system.get("").header("if-none-match", etag).send().await.unwrap();
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(send(system.get("assets/nothing.js")).await.0, StatusCode::NOT_FOUND);
    assert_eq!(send(system.get("else/where")).await.0, StatusCode::NOT_FOUND);
    // All other paths belong to the HTTP API.
    let health = system.client.get(format!("{}/health", system.http)).send().await.unwrap();
    assert_eq!(health.status(), StatusCode::OK);
    assert!(health.headers().get("apigw-requestid").is_some());
}
