//! However large orders are, Lambda takes the answer.

use embedded_dynamodb::Wire;
use lambda_host::lambda::PAYLOAD_LIMIT;
use order_events::{ConsistencyToken, Event};
use query_api::Response;
use serde_json::{Value, json};

use crate::world::{Desk, RequestBuilder, World, body, created, ids};

const KB: usize = 1_000;

/// Orders with so many bytes of this text, each a second older than the one before.
fn orders(count: u64, text: &str, bytes: usize) -> Vec<Event> {
    let restaurant = text.repeat(bytes / text.len());
    (1..=count).map(|n| created("7", n, n * 1_000, &restaurant)).collect()
}

async fn world(events: &[Event]) -> World {
    let world = World::create().await;
    world.project(events).await;
    world
}

/// What Lambda counts.
fn bytes(response: &Response) -> usize {
    serde_json::to_vec(response).unwrap().len()
}

/// All pages, by their links. Each has as many orders as have room, and is one that Lambda takes.
async fn walk(desk: &Desk, first: RequestBuilder, link: impl Fn(&str) -> RequestBuilder) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut next = Some(first);
    while let Some(ask) = next.take() {
        let response = desk.ask(ask).await;
        assert_eq!(response.status_code, 200);
        assert!(bytes(&response) <= PAYLOAD_LIMIT, "{} bytes", bytes(&response));
        let page = body(&response);
        assert_ne!(page["orders"], json!([]), "page {}", pages.len() + 1);
        next = response.headers.get("link").map(|next| {
            let order = json!(page["orders"][0].to_string()).to_string().len();
            assert!(bytes(&response) + order + 4_000 > PAYLOAD_LIMIT, "one more would have had room");
            link(next.strip_prefix('<').and_then(|next| next.strip_suffix(r#">; rel="next""#)).unwrap())
        });
        assert_eq!(next.is_some(), page["startKey"].is_string());
        pages.push(page);
    }
    pages
}

fn numbers(count: u64) -> Vec<String> {
    (1..=count).map(|n| n.to_string()).collect()
}

#[tokio::test]
async fn a_page_is_cut_by_the_bytes_of_its_answer() {
    for (count, text, size, pages) in [
        (100, "€", 75 * KB, 2),
        // Twice escaped, a quote is four bytes.
        (30, "\"", 55 * KB, 2),
        (5, "\"\\", 380 * KB, 2),
        (5, "\u{1}", 380 * KB, 3),
    ] {
        let world = world(&orders(count, text, size)).await;
        let list = |query: &str| RequestBuilder::get(&format!("/orders{query}"));
        let found = walk(&world.open(), list("?consumerId=7&pageSize=100"), list).await;
        assert_eq!(ids(&found), numbers(count), "{count} orders of {size} {text:?}");
        assert_eq!(found.len(), pages, "{count} orders of {size} {text:?}");
    }
}

#[tokio::test]
async fn an_order_put_in_by_its_token_is_on_the_page_where_it_belongs() {
    let events = orders(100, "€", 75 * KB);
    let world = world(&events).await;
    for event in [&events[0], &events[99]] {
        let token = ConsistencyToken { event_type: event.event_type(), event_id: event.id, order_id: event.order_id() };
        let list = |query: &str| {
            RequestBuilder::get(&format!("/orders{query}")).header("consistency-token", token.to_string())
        };
        let found = walk(&world.open(), list("?consumerId=7&pageSize=100"), list).await;
        assert_eq!(ids(&found), numbers(100), "with the token of order {}", event.order_id());
    }
}

#[tokio::test]
async fn the_tag_of_a_cut_page_is_of_what_it_shows() {
    let world = world(&orders(100, "€", 75 * KB)).await;
    let desk = world.open();
    let first = desk.get("/orders?consumerId=7&pageSize=100").await;
    let shown = body(&first)["orders"].as_array().unwrap().len();
    assert!(shown < 100);
    let exact = format!("/orders?consumerId=7&pageSize={shown}");
    let again = desk.ask(RequestBuilder::get(&exact).header("if-none-match", first.headers["etag"].as_str())).await;
    assert_eq!(again.status_code, 304, "a page of {shown} shows the same");
    let fewer = format!("/orders?consumerId=7&pageSize={}", shown - 1);
    let other = desk.ask(RequestBuilder::get(&fewer).header("if-none-match", first.headers["etag"].as_str())).await;
    assert_eq!(other.status_code, 200);
}

/// An item has at most 400 KB, and no byte of it becomes more bytes than a control character.
#[tokio::test]
async fn the_largest_order_is_shown() {
    let size = 399 * KB;
    let world = world(&orders(1, "\u{1}", size)).await;
    for path in ["/orders/1", "/orders?consumerId=7"] {
        let response = world.open().get(path).await;
        assert_eq!(response.status_code, 200, "{path}");
        assert!((7 * size..PAYLOAD_LIMIT / 2).contains(&bytes(&response)), "{path}: {} bytes", bytes(&response));
    }
}

#[tokio::test]
async fn orders_so_large_that_dynamodb_stops_early_use_up_the_read_budget() {
    // Twice the bytes: the word is a keyword too.
    let world = world(&orders(50, "x", 195 * KB)).await;
    for (query, most) in [("keywords=nothing", 10), ("pageSize=100", 12)] {
        let wire = Wire::watched();
        let page = world.open_over(&wire).json(&format!("/orders?consumerId=7&{query}")).await;
        assert!(page["startKey"].is_string(), "{query}");
        let requests = wire.count("Query");
        assert!((2..=most).contains(&requests), "{query}: {requests} requests");
    }
}
