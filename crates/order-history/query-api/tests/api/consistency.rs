//! Read your writes.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use embedded_dynamodb::{Disturbance, Wire};
use order_events::{ConsistencyToken, Event, EventType};
use sample_events::story;

use crate::world::{NOW, RequestBuilder, World, assert_problem, authorized, body, created, ids};

fn token(event: &Event) -> String {
    ConsistencyToken { event_type: event.event_type(), event_id: event.id, order_id: event.order_id() }.to_string()
}

#[tokio::test]
async fn a_request_is_412_with_retry_after_until_the_event_is_processed() {
    let world = World::create().await;
    let api = world.open();
    for event in story() {
        let request = RequestBuilder::get("/orders/99").header("consistency-token", token(&event));
        let response = api.send(request.clone()).await;
        assert_problem(&response, 412, "not-yet-seen");
        assert_eq!(response.headers["retry-after"], "1");
        world.project(&[event]).await;
        assert_eq!(api.send(request).await.status_code, 200);
    }
}

#[tokio::test]
async fn a_later_event_of_the_same_aggregate_does_not_imply_an_earlier_one() {
    let world = World::create().await;
    let rejected = story().into_iter().find(|event| event.event_type() == EventType::OrderRejected).unwrap();
    let others: Vec<_> = story().into_iter().filter(|event| *event != rejected).collect();
    world.project(&others).await;
    let request = RequestBuilder::get("/orders/99").header("consistency-token", token(&rejected));
    assert_problem(&world.open().send(request).await, 412, "not-yet-seen");
}

#[tokio::test]
async fn a_later_location_of_the_courier_implies_an_earlier_one() {
    let world = World::create().await;
    let moves: Vec<_> =
        story().into_iter().filter(|event| event.event_type() == EventType::DeliveryLocationUpdated).collect();
    world.project(&[story()[0].clone(), moves[1].clone()]).await;
    let seen = |event| RequestBuilder::get("/orders/99").header("consistency-token", token(event));
    let api = world.open();
    assert_eq!(api.send(seen(&moves[0])).await.status_code, 200);
    assert_eq!(api.send(seen(&moves[1])).await.status_code, 200);
    assert_eq!(api.send(seen(&moves[2])).await.status_code, 412);
}

#[tokio::test]
async fn prefer_wait_waits_for_the_event() {
    let world = World::create().await;
    let event = created("7", 1, 1_000, "A");
    let api = world.open();
    let request =
        RequestBuilder::get("/orders/1").header("consistency-token", token(&event)).header("prefer", "wait=10");
    let (response, ()) = tokio::join!(api.send(request), async {
        tokio::time::sleep(Duration::from_millis(250)).await;
        world.project(std::slice::from_ref(&event)).await;
    });
    assert_eq!(response.status_code, 200);
}

#[tokio::test]
async fn a_wait_ends_after_the_preferred_time() {
    let world = World::create().await;
    let request = RequestBuilder::get("/orders/1").header("consistency-token", token(&authorized(1, 0)));
    let start = Instant::now();
    let response = world.open().send(request.header("prefer", "respond-async, wait=1")).await;
    assert_problem(&response, 412, "not-yet-seen");
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_list_with_a_token_contains_an_order_that_is_not_in_the_index_yet() {
    let world = World::create().await;
    let fresh = created("7", 1, 1_000, "Ajanta");
    world.project(std::slice::from_ref(&fresh)).await;
    // The index lags: it does not contain the order yet.
    let wire = Wire::disturbed(|request| match request.operation.as_str() {
        "Query" => Disturbance::Respond(200, r#"{"Count":0,"ScannedCount":0,"Items":[]}"#),
        _ => Disturbance::None,
    });
    let api = world.open_over(&wire);
    let list = |query: &str| {
        RequestBuilder::get(&format!("/orders?consumerId=7{query}")).header("consistency-token", token(&fresh))
    };
    for (query, expected) in [
        ("", vec!["1"]),
        ("&keywords=ajanta", vec!["1"]),
        ("&status=APPROVAL_PENDING", vec!["1"]),
        ("&status=APPROVED", vec![]),
        ("&keywords=other", vec![]),
        ("&since=2026-03-02T00:00:00Z", vec![]),
    ] {
        let response = api.send(list(query)).await;
        assert_eq!(ids(&[body(&response)]), expected, "{query}");
    }
    assert_eq!(
        ids(&[api.json("/orders?consumerId=7").await]),
        Vec::<String>::new(),
        "without the token, the list is as in the index"
    );
}

#[tokio::test]
async fn a_list_with_a_token_keeps_its_order_and_its_pages() {
    let world = World::create().await;
    let events: Vec<_> = (1..=5).map(|n| created("7", n, n * 1_000, "Ajanta")).collect();
    world.project(&events).await;
    let api = world.open();
    for event in &events {
        let mut found = Vec::new();
        let mut start_key = String::new();
        loop {
            let path = format!("/orders?consumerId=7&pageSize=2{start_key}");
            let page = body(&api.send(RequestBuilder::get(&path).header("consistency-token", token(event))).await);
            found.extend(ids(std::slice::from_ref(&page)));
            let Some(next) = page["startKey"].as_str() else { break };
            start_key = format!("&startKey={next}");
        }
        assert_eq!(found, ["1", "2", "3", "4", "5"], "with the token of order {}", event.order_id());
    }
}

#[tokio::test]
async fn a_token_of_another_order_or_an_invalid_token_is_400() {
    let api = World::create().await.open();
    for bad in [
        token(&created("7", 2, 0, "A")),
        "x".to_owned(),
        String::new(),
        "A".repeat(1_501),
        "MSBPcmRlckNyZWF0ZWQ".to_owned(),
    ] {
        let response = api.send(RequestBuilder::get("/orders/1").header("consistency-token", bad.as_str())).await;
        let problem = assert_problem(&response, 400, "invalid-parameters");
        assert_eq!(problem["errors"][0]["parameter"], "Consistency-Token", "{bad}");
    }
}

#[tokio::test]
async fn unknown_preferences_are_ignored() {
    let world = World::create().await;
    world.project(&[created("7", 1, 0, "A")]).await;
    for prefer in ["return=minimal", "", "handling=strict; x=y, foo", "wait=long", "wait"] {
        let response = world.open().send(RequestBuilder::get("/orders/1").header("prefer", prefer)).await;
        assert_eq!(response.status_code, 200, "{prefer}");
    }
}

/// Counts reads instead of seconds, so that the test passes on a busy machine. With pauses of 10, 20, 40, 80, 160, 320
/// ms and the remaining time, there are eight reads in one second. A wait of two or ten seconds would need more.
#[tokio::test]
async fn a_wait_ends_in_time_to_answer() {
    let (world, wire) = (World::create().await, Wire::watched());
    let request = RequestBuilder::get("/orders/1")
        .header("consistency-token", token(&authorized(1, 0)))
        .header("prefer", "wait=10");
    let response = world.open_over(&wire).send_within(request, Duration::from_secs(2)).await;
    assert_problem(&response, 412, "not-yet-seen");
    let reads = wire.count("GetItem");
    assert!((2..=8).contains(&reads), "{reads} reads");
}

/// The number of reads during the wait for an event of an order that does not exist.
async fn reads(world: &World, max_wait: Duration, event_id: &str) -> usize {
    let wire = Wire::watched();
    let token = ConsistencyToken {
        event_type: EventType::OrderAuthorized,
        event_id: event_id.parse().unwrap(),
        order_id: "1".parse().unwrap(),
    };
    let request =
        RequestBuilder::get("/orders/1").header("consistency-token", token.to_string()).header("prefer", "wait=10");
    let response = world.open_with_max_wait(max_wait, &wire).send(request).await;
    assert_problem(&response, 412, "not-yet-seen");
    wire.count("GetItem")
}

#[tokio::test]
async fn a_request_does_not_wait_for_an_event_that_can_no_longer_arrive() {
    const DAY: u64 = 24 * 60 * 60 * 1_000;
    let world = World::create().await;
    let max_wait = Duration::from_millis(200);
    let id = |millis: u64| format!("{millis:016x}-0000000000000001");
    for (what, event_id, waits) in [
        ("of now", id(NOW), true),
        ("of a publisher whose clock is a minute ahead", id(NOW + 60_000), true),
        ("of tomorrow", id(NOW + DAY), false),
        ("of one millisecond more than a minute ahead", id(NOW + 60_001), false),
        ("of 28 days ago", id(NOW - 28 * DAY), true),
        ("of one millisecond more than 28 days ago", id(NOW - 28 * DAY - 1), false),
        ("of 2099", "000003b8b5daf000-0000000000000001".to_owned(), false),
    ] {
        let reads = reads(&world, max_wait, &event_id).await;
        assert_eq!(reads > 1, waits, "an event {what}: {reads} reads");
    }
}

#[tokio::test]
async fn a_processed_event_of_any_age_is_found() {
    let world = World::create().await;
    let event = created("7", 1, 400 * 24 * 60 * 60 * 1_000, "A");
    world.project(std::slice::from_ref(&event)).await;
    let request =
        RequestBuilder::get("/orders/1").header("consistency-token", token(&event)).header("prefer", "wait=10");
    assert_eq!(world.open().send(request).await.status_code, 200);
}

#[tokio::test]
async fn the_setting_limits_the_wait() {
    let world = World::create().await;
    let now = format!("{NOW:016x}-0000000000000001");
    assert_eq!(reads(&world, Duration::ZERO, &now).await, 1);
    // Pauses of 10, 20, 40, 80 ms and the remaining time. A wait of ten seconds would need many more reads.
    let reads = reads(&world, Duration::from_millis(200), &now).await;
    assert!((2..=6).contains(&reads), "{reads} reads");
}

/// A pause may be longer on a busy machine, so one attempt in time is enough.
#[tokio::test]
async fn the_second_read_is_soon_after_the_first() {
    let world = World::create().await;
    let request = RequestBuilder::get("/orders/1")
        .header("consistency-token", token(&authorized(1, 0)))
        .header("prefer", "wait=10");
    for _ in 0..20 {
        let times = Arc::new(Mutex::new(Vec::new()));
        let of_wire = Arc::clone(&times);
        let wire = Wire::disturbed(move |_| {
            of_wire.lock().unwrap().push(Instant::now());
            Disturbance::None
        });
        world.open_with_max_wait(Duration::from_millis(60), &wire).send(request.clone()).await;
        let times = times.lock().unwrap();
        if times[1] - times[0] < Duration::from_millis(50) {
            return;
        }
    }
    panic!("the second read was never within 50 ms");
}
