//! Responses with large orders are never larger than Lambda accepts.

use embedded_dynamodb::Wire;
use lambda_host::lambda::PAYLOAD_LIMIT;
use order_events::{ConsistencyToken, Event};
use query_api::Response;
use serde_json::{Value, json};

use crate::world::{RequestBuilder, TestApi, World, body, created, ids};

const KB: usize = 1_000;

/// Orders with `bytes` bytes of this text. Each is one second older than the previous one.
fn orders(count: u64, text: &str, bytes: usize) -> Vec<Event> {
    let restaurant = text.repeat(bytes / text.len());
    (1..=count).map(|n| created("7", n, n * 1_000, &restaurant)).collect()
}

async fn world(events: &[Event]) -> World {
    let world = World::create().await;
    world.project(events).await;
    world
}

/// The size that Lambda limits.
fn bytes(response: &Response) -> usize {
    serde_json::to_vec(response).unwrap().len()
}

/// Reads all pages by their links. Each page has as many orders as fit, and is not larger than Lambda accepts.
async fn walk(api: &TestApi, first: RequestBuilder, link: impl Fn(&str) -> RequestBuilder) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut next = Some(first);
    while let Some(request) = next.take() {
        let response = api.send(request).await;
        assert_eq!(response.status_code, 200);
        assert!(bytes(&response) <= PAYLOAD_LIMIT, "{} bytes", bytes(&response));
        let page = body(&response);
        assert_ne!(page["orders"], json!([]), "page {}", pages.len() + 1);
        next = response.headers.get("link").map(|next| {
            let order = json!(page["orders"][0].to_string()).to_string().len();
            assert!(bytes(&response) + order + 4_000 > PAYLOAD_LIMIT, "one more order would fit");
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
async fn a_page_is_cut_where_its_response_would_be_too_large() {
    for (count, text, size, pages) in [
        (100, "€", 75 * KB, 2),
        // A quote that is escaped twice has four bytes.
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
async fn an_order_that_a_token_adds_is_on_the_right_page() {
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
async fn the_tag_of_a_cut_page_depends_on_the_shown_orders() {
    let world = world(&orders(100, "€", 75 * KB)).await;
    let api = world.open();
    let first = api.get("/orders?consumerId=7&pageSize=100").await;
    let shown = body(&first)["orders"].as_array().unwrap().len();
    assert!(shown < 100);
    let exact = format!("/orders?consumerId=7&pageSize={shown}");
    let again = api.send(RequestBuilder::get(&exact).header("if-none-match", first.headers["etag"].as_str())).await;
    assert_eq!(again.status_code, 304, "a page of {shown} orders has the same tag");
    let fewer = format!("/orders?consumerId=7&pageSize={}", shown - 1);
    let other = api.send(RequestBuilder::get(&fewer).header("if-none-match", first.headers["etag"].as_str())).await;
    assert_eq!(other.status_code, 200);
}

/// An item has at most 400 KB, and a control character becomes more bytes than any other.
#[tokio::test]
async fn the_largest_possible_order_is_shown() {
    let size = 399 * KB;
    let world = world(&orders(1, "\u{1}", size)).await;
    for path in ["/orders/1", "/orders?consumerId=7"] {
        let response = world.open().get(path).await;
        assert_eq!(response.status_code, 200, "{path}");
        assert!((7 * size..PAYLOAD_LIMIT / 2).contains(&bytes(&response)), "{path}: {} bytes", bytes(&response));
    }
}

#[tokio::test]
async fn large_orders_use_up_the_read_budget_even_if_dynamodb_returns_few_at_a_time() {
    // The word counts twice, because it is also a keyword.
    let world = world(&orders(50, "x", 195 * KB)).await;
    for (query, most) in [("keywords=nothing", 10), ("pageSize=100", 12)] {
        let wire = Wire::watched();
        let page = world.open_over(&wire).json(&format!("/orders?consumerId=7&{query}")).await;
        assert!(page["startKey"].is_string(), "{query}");
        let requests = wire.count("Query");
        assert!((2..=most).contains(&requests), "{query}: {requests} requests");
    }
}
