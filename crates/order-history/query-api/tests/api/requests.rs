//! The requests to DynamoDB that each call needs.

use embedded_dynamodb::Wire;
use order_events::ConsistencyToken;

use crate::world::{RequestBuilder, World, created};

#[tokio::test]
async fn an_order_and_an_unfiltered_page_need_one_request_each() {
    let world = World::create().await;
    let events: Vec<_> = (1..=150).map(|n| created("7", n, n * 1_000, "Ajanta")).collect();
    world.project(&events).await;
    for (path, operation) in [
        ("/orders/1", "GetItem"),
        ("/orders/unknown", "GetItem"),
        ("/orders?consumerId=7", "Query"),
        ("/orders?consumerId=7&pageSize=100", "Query"),
        ("/orders?consumerId=7&pageSize=1", "Query"),
        ("/orders?consumerId=nobody", "Query"),
        ("/orders?consumerId=7&keywords=ajanta", "Query"),
    ] {
        let wire = Wire::watched();
        world.open_over(&wire).get(path).await;
        let operations: Vec<_> = wire.requests().into_iter().map(|request| request.operation).collect();
        assert_eq!(operations, [operation], "{path}");
    }
}

#[tokio::test]
async fn a_rare_keyword_reads_no_more_than_the_read_budget() {
    let world = World::create().await;
    let events: Vec<_> = (1..=1_200).map(|n| created("7", n, n * 1_000, "Ajanta")).collect();
    world.project(&events).await;
    let wire = Wire::watched();
    let page = world.open_over(&wire).json("/orders?consumerId=7&keywords=nothing").await;
    assert_eq!(wire.count("Query"), 10, "1,000 of the 1,200 orders, a hundred at a time");
    assert!(page["startKey"].is_string(), "the other 200 are left for the next page");
}

#[tokio::test]
async fn a_full_page_needs_no_further_read_to_know_whether_the_list_ends() {
    let world = World::create().await;
    let restaurant = |n| if n <= 20 { "Zur Krone" } else { "Ajanta" };
    let events: Vec<_> = (1..=300).map(|n| created("7", n, n * 1_000, restaurant(n))).collect();
    world.project(&events).await;
    let wire = Wire::watched();
    let page = world.open_over(&wire).json("/orders?consumerId=7&keywords=krone").await;
    assert_eq!(page["orders"].as_array().unwrap().len(), 20);
    assert_eq!(wire.count("Query"), 1);
}

#[tokio::test]
async fn a_list_with_a_consistency_token_reads_the_order_before_and_after_the_index() {
    let world = World::create().await;
    let event = created("7", 1, 1_000, "A");
    world.project(std::slice::from_ref(&event)).await;
    let token = ConsistencyToken { event_type: event.event_type(), event_id: event.id, order_id: event.order_id() };
    let wire = Wire::watched();
    let request = RequestBuilder::get("/orders?consumerId=7").header("consistency-token", token.to_string());
    assert_eq!(world.open_over(&wire).send(request).await.status_code, 200);
    let operations: Vec<_> = wire.requests().into_iter().map(|request| request.operation).collect();
    assert_eq!(operations, ["GetItem", "Query", "GetItem"]);
}

#[tokio::test]
async fn a_refused_request_reads_nothing() {
    let world = World::create().await;
    for path in ["/orders", "/orders?consumerId=7&pageSize=0", "/orders/ ", "/openapi.json", "/health", "/none"] {
        let wire = Wire::watched();
        world.open_over(&wire).get(path).await;
        assert_eq!(wire.requests().len(), 0, "{path}");
    }
}
