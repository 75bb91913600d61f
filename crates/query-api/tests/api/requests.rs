//! What a call costs, counted on the wire.

use embedded_dynamodb::Wire;

use crate::world::{World, created};

#[tokio::test]
async fn an_order_is_one_request_and_so_is_an_unfiltered_page() {
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
async fn a_rare_keyword_costs_no_more_than_the_read_budget() {
    let world = World::create().await;
    let events: Vec<_> = (1..=150).map(|n| created("7", n, n * 1_000, "Ajanta")).collect();
    world.project(&events).await;
    let wire = Wire::watched();
    world.open_over(&wire).json("/orders?consumerId=7&keywords=nothing").await;
    assert_eq!(wire.count("Query"), 2, "150 orders, a hundred at a time");
}

#[tokio::test]
async fn a_refused_request_costs_none() {
    let world = World::create().await;
    for path in ["/orders", "/orders?consumerId=7&pageSize=0", "/orders/ ", "/openapi.json", "/health", "/none"] {
        let wire = Wire::watched();
        world.open_over(&wire).get(path).await;
        assert_eq!(wire.requests().len(), 0, "{path}");
    }
}
