//! The requests to DynamoDB that each command needs.

use embedded_dynamodb::{Disturbance, Wire};
use payment_api::Mode;

use crate::world::{Behaviour, World, change, charge, create};

/// The operations that were sent over `wire`, in order.
fn operations(wire: &Wire) -> Vec<String> {
    wire.requests().into_iter().map(|request| request.operation).collect()
}

const READ: &str = "BatchGetItem";
const WRITE: &str = "TransactWriteItems";
const LOCK: &str = "UpdateItem";

#[tokio::test]
async fn a_command_needs_one_read_and_one_transaction() {
    let world = World::create().await;
    let id = world.saga().created("99", 100).await;
    for request in [create("100", 5), change(&id, 200), charge(&id)] {
        let wire = Wire::watched();
        let reply = world.over(&wire, Mode::Saga).send(request.key("k")).await;
        assert!(reply.status() < 300, "{reply:?}");
        assert_eq!(operations(&wire), [READ, WRITE]);
    }
}

#[tokio::test]
async fn a_repetition_needs_one_read() {
    let world = World::create().await;
    let id = world.saga().created("99", 100).await;
    for request in [create("100", 5), change(&id, 200), charge(&id)] {
        let request = request.key("k");
        world.saga().send(request.clone()).await;
        let wire = Wire::watched();
        assert!(world.over(&wire, Mode::Saga).send(request).await.is_replayed());
        assert_eq!(operations(&wire), [READ]);
    }
}

#[tokio::test]
async fn a_refusal_by_the_domain_needs_one_read_and_one_put() {
    let world = World::create().await;
    world.saga().created("99", 100).await;
    let wire = Wire::watched();
    let refused = world.over(&wire, Mode::Saga).send(create("99", 5).key("k")).await;
    refused.expect_problem(409, "order-has-open-intent");
    assert_eq!(operations(&wire), [READ, "PutItem"]);
}

#[tokio::test]
async fn a_response_that_is_not_recorded_needs_one_read() {
    let world = World::create().await;
    let wire = Wire::watched();
    let api = world.over(&wire, Mode::Saga);
    api.send(charge("00000000-0000-4000-8000-000000000000").key("k"))
        .await
        .expect_problem(404, "payment-intent-not-found");
    assert_eq!(operations(&wire), [READ]);
    let id = api.created("99", 100).await;
    let wire = Wire::watched();
    assert_eq!(world.over(&wire, Mode::Saga).find(&id).await.status(), 200);
    assert_eq!(operations(&wire), ["GetItem"]);
}

#[tokio::test]
async fn the_lock_needs_one_more_request_and_none_for_its_release() {
    let world = World::create().await;
    let id = world.locked().created("99", 100).await;
    let wire = Wire::watched();
    world.over(&wire, world.locked_mode()).send(change(&id, 200).key("a")).await;
    assert_eq!(operations(&wire), [READ, LOCK, WRITE]);
    let wire = Wire::watched();
    world.over(&wire, world.locked_mode()).send(charge(&id).key("b")).await;
    assert_eq!(operations(&wire), [READ, LOCK, WRITE, WRITE]);
    assert_eq!(world.held_locks().await, 0);
}

#[tokio::test]
async fn an_invalid_request_sends_nothing_to_dynamodb() {
    let world = World::create().await;
    let wire = Wire::disturbed(|_| Disturbance::FailBefore);
    for mode in [Mode::Saga, world.locked_mode()] {
        let api = world.over(&wire, mode);
        assert_eq!(api.send(create("99", 0).key("k")).await.status(), 400);
        assert_eq!(api.send(charge("no-id").key("k")).await.status(), 400);
        assert_eq!(api.send(create("99", 1)).await.status(), 400);
    }
    assert_eq!(operations(&wire), Vec::<String>::new());
}

#[tokio::test]
async fn without_dynamodb_commands_and_the_deep_health_check_are_answered_503() {
    let world = World::create().await;
    let id = world.saga().created("99", 100).await;
    world.gateway.now(Behaviour::Charge);
    let wire = Wire::disturbed(|_| Disturbance::FailBefore);
    for mode in [Mode::Saga, world.locked_mode()] {
        let api = world.over(&wire, mode);
        for request in [create("100", 5), change(&id, 200), charge(&id)] {
            let reply = api.send(request.key("k")).await;
            reply.expect_problem(503, "unavailable");
            assert_eq!(reply.header("retry-after"), Some("1"));
        }
        assert_eq!(api.get("/payments/health").await.status(), 200);
        assert_eq!(api.get("/payments/health?deep=1").await.status(), 503);
    }
}
