//! Every request is answered before the deadline, even if DynamoDB does not answer.

use std::time::Duration;

use embedded_dynamodb::{Disturbance, Wire};
use order_events::ConsistencyToken;

use crate::world::{RequestBuilder, World, assert_problem, created};

/// Half a second of it is reserved for the response.
const TIMEOUT: Duration = Duration::from_millis(700);

#[tokio::test]
async fn a_request_whose_read_is_never_answered_is_503_with_retry_after() {
    let world = World::create().await;
    let event = created("7", 1, 1_000, "A");
    world.project(std::slice::from_ref(&event)).await;
    let token = ConsistencyToken { event_type: event.event_type(), event_id: event.id, order_id: event.order_id() };
    let with_token = |path: &str| {
        RequestBuilder::get(path).header("consistency-token", token.to_string()).header("prefer", "wait=10")
    };
    // The number of the request to DynamoDB that stalls. A list with a token reads the order, the index, and the order again.
    let requests = [
        (RequestBuilder::get("/orders/1"), 1),
        (RequestBuilder::get("/orders?consumerId=7"), 1),
        (RequestBuilder::get("/health?deep=1"), 1),
        (with_token("/orders/1"), 1),
        (with_token("/orders?consumerId=7"), 1),
        (with_token("/orders?consumerId=7"), 2),
        (with_token("/orders?consumerId=7"), 3),
    ];
    for (request, number) in requests {
        let wire = Wire::disturbed(
            move |request| {
                if request.number == number { Disturbance::Stall } else { Disturbance::None }
            },
        );
        let api = world.open_over(&wire);
        // The SDK gives up a request without progress after six seconds. Our response must be earlier.
        let response = tokio::time::timeout(Duration::from_secs(3), api.send_within(request.clone(), TIMEOUT)).await;
        let response = response.unwrap_or_else(|_| panic!("no response to {request:?}"));
        assert_problem(&response, 503, "unavailable");
        assert_eq!(response.headers["retry-after"], "1");
    }
}

#[tokio::test]
async fn a_response_without_a_read_does_not_need_time() {
    let api = World::create().await.open();
    for (path, status) in [("/health", 200), ("/openapi.json", 200), ("/orders", 400), ("/none", 404)] {
        let response = api.send_within(RequestBuilder::get(path), Duration::ZERO).await;
        assert_eq!(response.status_code, status, "{path}");
    }
}
