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
async fn an_event_not_there_yet_is_412_with_retry_after_until_it_is() {
    let world = World::create().await;
    let desk = world.open();
    for event in story() {
        let ask = RequestBuilder::get("/orders/99").header("consistency-token", token(&event));
        let response = desk.ask(ask.clone()).await;
        assert_problem(&response, 412, "not-yet-seen");
        assert_eq!(response.headers["retry-after"], "1");
        world.project(&[event]).await;
        assert_eq!(desk.ask(ask).await.status_code, 200);
    }
}

#[tokio::test]
async fn a_later_event_of_the_same_aggregate_does_not_stand_for_an_earlier_one() {
    let world = World::create().await;
    let rejected = story().into_iter().find(|event| event.event_type() == EventType::OrderRejected).unwrap();
    let others: Vec<_> = story().into_iter().filter(|event| *event != rejected).collect();
    world.project(&others).await;
    let ask = RequestBuilder::get("/orders/99").header("consistency-token", token(&rejected));
    assert_problem(&world.open().ask(ask).await, 412, "not-yet-seen");
}

#[tokio::test]
async fn an_earlier_place_of_the_courier_is_covered_by_a_later_one() {
    let world = World::create().await;
    let moves: Vec<_> =
        story().into_iter().filter(|event| event.event_type() == EventType::DeliveryLocationUpdated).collect();
    world.project(&[story()[0].clone(), moves[1].clone()]).await;
    let seen = |event| RequestBuilder::get("/orders/99").header("consistency-token", token(event));
    let desk = world.open();
    assert_eq!(desk.ask(seen(&moves[0])).await.status_code, 200);
    assert_eq!(desk.ask(seen(&moves[1])).await.status_code, 200);
    assert_eq!(desk.ask(seen(&moves[2])).await.status_code, 412);
}

#[tokio::test]
async fn prefer_wait_waits_for_the_event() {
    let world = World::create().await;
    let event = created("7", 1, 1_000, "A");
    let desk = world.open();
    let ask = RequestBuilder::get("/orders/1").header("consistency-token", token(&event)).header("prefer", "wait=10");
    let (response, ()) = tokio::join!(desk.ask(ask), async {
        tokio::time::sleep(Duration::from_millis(250)).await;
        world.project(std::slice::from_ref(&event)).await;
    });
    assert_eq!(response.status_code, 200);
}

#[tokio::test]
async fn the_wait_ends() {
    let world = World::create().await;
    let ask = RequestBuilder::get("/orders/1").header("consistency-token", token(&authorized(1, 0)));
    let start = Instant::now();
    let response = world.open().ask(ask.header("prefer", "respond-async, wait=1")).await;
    assert_problem(&response, 412, "not-yet-seen");
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_list_shows_an_order_that_the_index_does_not_show_yet() {
    let world = World::create().await;
    let fresh = created("7", 1, 1_000, "Ajanta");
    world.project(std::slice::from_ref(&fresh)).await;
    // The index lags: it knows nothing yet.
    let wire = Wire::disturbed(|request| match request.operation.as_str() {
        "Query" => Disturbance::Answer(200, r#"{"Count":0,"ScannedCount":0,"Items":[]}"#),
        _ => Disturbance::None,
    });
    let desk = world.open_over(&wire);
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
        let response = desk.ask(list(query)).await;
        assert_eq!(ids(&[body(&response)]), expected, "{query}");
    }
    assert_eq!(
        ids(&[desk.json("/orders?consumerId=7").await]),
        Vec::<String>::new(),
        "without the token, as the index has it"
    );
}

#[tokio::test]
async fn a_list_with_a_token_keeps_its_order_and_its_pages() {
    let world = World::create().await;
    let events: Vec<_> = (1..=5).map(|n| created("7", n, n * 1_000, "Ajanta")).collect();
    world.project(&events).await;
    let desk = world.open();
    for event in &events {
        let mut found = Vec::new();
        let mut start_key = String::new();
        loop {
            let path = format!("/orders?consumerId=7&pageSize=2{start_key}");
            let page = body(&desk.ask(RequestBuilder::get(&path).header("consistency-token", token(event))).await);
            found.extend(ids(std::slice::from_ref(&page)));
            let Some(next) = page["startKey"].as_str() else { break };
            start_key = format!("&startKey={next}");
        }
        assert_eq!(found, ["1", "2", "3", "4", "5"], "with the token of order {}", event.order_id());
    }
}

#[tokio::test]
async fn a_token_of_another_order_or_of_nobody_is_400() {
    let desk = World::create().await.open();
    for bad in [
        token(&created("7", 2, 0, "A")),
        "x".to_owned(),
        String::new(),
        "A".repeat(1_501),
        "MSBPcmRlckNyZWF0ZWQ".to_owned(),
    ] {
        let response = desk.ask(RequestBuilder::get("/orders/1").header("consistency-token", bad.as_str())).await;
        let problem = assert_problem(&response, 400, "invalid-parameters");
        assert_eq!(problem["errors"][0]["parameter"], "Consistency-Token", "{bad}");
    }
}

#[tokio::test]
async fn preferences_we_do_not_know_are_none_of_our_business() {
    let world = World::create().await;
    world.project(&[created("7", 1, 0, "A")]).await;
    for prefer in ["return=minimal", "", "handling=strict; x=y, foo", "wait=long", "wait"] {
        let response = world.open().ask(RequestBuilder::get("/orders/1").header("prefer", prefer)).await;
        assert_eq!(response.status_code, 200, "{prefer}");
    }
}

/// Counted in looks and not in seconds, so that a busy machine cannot fail it: pauses of 10, 20, 40, 80, 160, 320 ms and the
/// rest are eight looks in one second; the second that is kept for the answer would be more, the ten asked for many more.
#[tokio::test]
async fn a_wait_ends_in_time_to_answer() {
    let (world, wire) = (World::create().await, Wire::watched());
    let ask = RequestBuilder::get("/orders/1")
        .header("consistency-token", token(&authorized(1, 0)))
        .header("prefer", "wait=10");
    let response = world.open_over(&wire).ask_within(ask, Duration::from_secs(2)).await;
    assert_problem(&response, 412, "not-yet-seen");
    let looks = wire.count("GetItem");
    assert!((2..=8).contains(&looks), "{looks} looks");
}

/// The wait of a token that names an event of an order that has seen nothing yet, in looks.
async fn looks(world: &World, max_wait: Duration, event_id: &str) -> usize {
    let wire = Wire::watched();
    let token = ConsistencyToken {
        event_type: EventType::OrderAuthorized,
        event_id: event_id.parse().unwrap(),
        order_id: "1".parse().unwrap(),
    };
    let ask =
        RequestBuilder::get("/orders/1").header("consistency-token", token.to_string()).header("prefer", "wait=10");
    let response = world.open_with_max_wait(max_wait, &wire).ask(ask).await;
    assert_problem(&response, 412, "not-yet-seen");
    wire.count("GetItem")
}

#[tokio::test]
async fn nobody_waits_for_an_event_that_cannot_be_on_its_way() {
    const DAY: u64 = 24 * 60 * 60 * 1_000;
    let world = World::create().await;
    let max_wait = Duration::from_millis(200);
    let id = |millis: u64| format!("{millis:016x}-0000000000000001");
    for (what, event_id, waits) in [
        ("of now", id(NOW), true),
        ("of a publisher whose clock is a minute ahead", id(NOW + 60_000), true),
        ("of tomorrow", id(NOW + DAY), false),
        ("of a minute later still", id(NOW + 60_001), false),
        ("of 28 days ago", id(NOW - 28 * DAY), true),
        ("older than any message", id(NOW - 28 * DAY - 1), false),
        ("of 2099", "000003b8b5daf000-0000000000000001".to_owned(), false),
    ] {
        let looks = looks(&world, max_wait, &event_id).await;
        assert_eq!(looks > 1, waits, "an event {what}: {looks} looks");
    }
}

#[tokio::test]
async fn an_event_that_was_seen_is_found_however_old_it_is() {
    let world = World::create().await;
    let event = created("7", 1, 400 * 24 * 60 * 60 * 1_000, "A");
    world.project(std::slice::from_ref(&event)).await;
    let ask = RequestBuilder::get("/orders/1").header("consistency-token", token(&event)).header("prefer", "wait=10");
    assert_eq!(world.open().ask(ask).await.status_code, 200);
}

#[tokio::test]
async fn the_wait_is_capped_by_the_setting() {
    let world = World::create().await;
    let now = format!("{NOW:016x}-0000000000000001");
    assert_eq!(looks(&world, Duration::ZERO, &now).await, 1);
    // Pauses of 10, 20, 40, 80 ms and the rest; ten seconds would be many more.
    let looks = looks(&world, Duration::from_millis(200), &now).await;
    assert!((2..=6).contains(&looks), "{looks} looks");
}

/// A pause is never shorter than it should be, but on a busy machine longer: one try in time is enough.
#[tokio::test]
async fn the_second_look_is_soon_after_the_first() {
    let world = World::create().await;
    let ask = RequestBuilder::get("/orders/1")
        .header("consistency-token", token(&authorized(1, 0)))
        .header("prefer", "wait=10");
    for _ in 0..20 {
        let times = Arc::new(Mutex::new(Vec::new()));
        let of_wire = Arc::clone(&times);
        let wire = Wire::disturbed(move |_| {
            of_wire.lock().unwrap().push(Instant::now());
            Disturbance::None
        });
        world.open_with_max_wait(Duration::from_millis(60), &wire).ask(ask.clone()).await;
        let times = times.lock().unwrap();
        if times[1] - times[0] < Duration::from_millis(50) {
            return;
        }
    }
    panic!("the second look never came within 50 ms");
}
