//! One key, one effect, one response.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::types::AttributeValue;
use embedded_dynamodb::{Disturbance, Wire};
use futures_util::future::join_all;
use payment_api::Mode;
use serde_json::{Value, json};

use crate::world::{Behaviour, Reply, RequestBuilder, TestApi, World, change, charge, create, tables};

/// Sends one request 50 times at once.
async fn fifty_times(api: &TestApi, request: &RequestBuilder) -> Vec<Reply> {
    join_all((0..50).map(|_| api.send(request.clone()))).await
}

#[track_caller]
fn check_one_effect(replies: &[Reply], status: u16) {
    let bodies: Vec<_> = replies.iter().map(|reply| (reply.status(), &reply.0.body, reply.header("etag"))).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0] && body.0 == status), "{bodies:?}");
    assert_eq!(
        replies.iter().filter(|reply| !reply.is_replayed()).count(),
        1,
        "one request had the effect, the others are replays"
    );
}

#[tokio::test]
async fn one_key_50_times_at_once_has_one_effect_and_one_response() {
    let world = World::create().await;
    let api = world.saga();
    let created = fifty_times(&api, &create("99", 100).key("k")).await;
    check_one_effect(&created, 201);
    let id = created[0].id();
    check_one_effect(&fifty_times(&api, &change(&id, 200).key("k")).await, 200);
    check_one_effect(&fifty_times(&api, &charge(&id).key("k")).await, 202);
    assert_eq!((world.intents().await.len(), world.events().await.len()), (1, 1));
    assert_eq!(api.find(&id).await.member("version"), 3);
}

#[tokio::test]
async fn one_key_50_times_at_once_is_one_charge_under_the_lock() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    let charged = fifty_times(&api, &charge(&id).key("k")).await;
    // Requests that find the first one in progress must retry.
    let (answered, busy): (Vec<_>, Vec<_>) = charged.into_iter().partition(|reply| reply.status() == 200);
    check_one_effect(&answered, 200);
    for reply in busy {
        reply.expect_problem(409, "idempotency-key-in-progress");
        assert!(reply.header("retry-after").is_some());
    }
    assert_eq!((world.gateway.calls(), world.events().await.len()), (1, 2));
    assert_eq!(world.held_locks().await, 0);
}

#[tokio::test]
async fn another_command_under_the_same_key_is_refused() {
    for (_world, api) in World::both().await {
        let id = api.created("99", 100).await;
        assert_eq!(api.send(change(&id, 200).key("k")).await.status(), 200);
        api.send(change(&id, 300).key("k")).await.expect_problem(422, "idempotency-key-reused");
        assert_eq!(api.find(&id).await.member("amount"), 200);
        api.send(create("100", 100).key("create-99")).await.expect_problem(422, "idempotency-key-reused");
        // The first response is still there.
        assert!(api.send(change(&id, 200).key("k")).await.is_replayed());
    }
}

#[tokio::test]
async fn the_same_command_in_another_notation_is_a_repetition() {
    let world = World::create().await;
    let api = world.saga();
    let one = r#"{"orderId":"99","amount":100,"currency":"USD","consumerId":"7"}"#;
    let same = [
        r#"{ "consumerId": "7", "currency": "USD", "amount": 100, "orderId": "99" }"#,
        r#"{"orderId":"99","amount":100.0,"currency":"USD","consumerId":"7"}"#,
    ];
    let post = |body| api.send(RequestBuilder::new("POST", "/payment-intents").key("k").text(body));
    let first = post(one).await;
    assert_eq!(first.status(), 201);
    for body in same {
        let again = post(body).await;
        assert!(again.is_replayed() && again.0.body == first.0.body, "{again:?}");
    }
}

#[tokio::test]
async fn two_callers_or_two_routes_may_use_the_same_key() {
    let world = World::create().await;
    let api = world.guarded(Mode::Saga);
    let post = |caller: &str, order_id: &str| {
        let body = json!({"orderId": order_id, "amount": 100, "currency": "USD"});
        let request = RequestBuilder::new("POST", "/payment-intents").key("k").body(&body).by(&json!({"sub": caller}));
        api.send(request)
    };
    let (ann, bob) = (post("ann", "1").await, post("bob", "2").await);
    assert_eq!((ann.status(), bob.status()), (201, 201));
    assert_ne!(ann.id(), bob.id());
    let charged = api.send(charge(&ann.id()).key("k").by(&json!({"sub": "ann"}))).await;
    assert_eq!(charged.status(), 202, "{charged:?}");
    // Bob cannot read Ann's response by sending her key.
    let stolen = api.send(charge(&ann.id()).key("k").by(&json!({"sub": "bob"}))).await;
    stolen.expect_problem(404, "payment-intent-not-found");
}

#[tokio::test]
async fn a_caller_who_has_lost_access_to_an_intent_gets_no_recorded_response() {
    let world = World::create().await;
    let api = world.guarded(Mode::Saga);
    let service = json!({"sub": "desk", "scope": "payments:write-any"});
    let body = json!({"orderId": "1", "amount": 100, "currency": "USD", "consumerId": "ann"});
    let created = api.send(RequestBuilder::new("POST", "/payment-intents").key("k").body(&body).by(&service)).await;
    let charge = charge(&created.id()).key("k");
    assert_eq!(api.send(charge.clone().by(&service)).await.status(), 202);
    api.send(charge.by(&json!({"sub": "desk"}))).await.expect_problem(404, "payment-intent-not-found");
}

#[tokio::test]
async fn a_response_lost_after_the_commit_is_replayed_even_after_a_state_change() {
    for (world, api) in World::both().await {
        let id = api.created("99", 100).await;
        // The last transaction of the charge.
        let last = if api.is_locked { 4 } else { 2 };
        let wire = Wire::disturbed(
            move |request| {
                if request.number == last { Disturbance::LoseResponse } else { Disturbance::None }
            },
        );
        let mode = if api.is_locked { world.locked_mode() } else { Mode::Saga };
        let lost = world.over(&wire, mode).send(charge(&id).key("k")).await;
        lost.expect_problem(503, "unavailable");
        api.settle_pending(&id).await;
        assert_eq!(api.state(&id).await, "CHARGED");

        let replayed = api.send(charge(&id).key("k")).await;
        assert!(replayed.is_replayed(), "{replayed:?}");
        let expected = if api.is_locked { (200, "CHARGED") } else { (202, "CHARGE_REQUESTED") };
        assert_eq!((replayed.status(), replayed.member("state").as_str().unwrap()), expected);
        assert_eq!(world.gateway.calls(), 1);
    }
}

#[tokio::test]
async fn a_retry_by_the_sdk_after_a_lost_response_is_the_same_transaction() {
    let world = World::create().await;
    let id = world.saga().created("99", 100).await;
    let wire = Wire::disturbed(|request| match request.number {
        2 => Disturbance::LoseResponse,
        _ => Disturbance::None,
    });
    let config = world.engine.config().http_client(wire.clone());
    let client = aws_sdk_dynamodb::Client::from_conf(config.retry_config(RetryConfig::standard()).build());
    let charged = world.with_client(client).send(charge(&id).key("k")).await;
    assert_eq!((charged.status(), charged.is_replayed()), (202, false), "{charged:?}");
    assert_eq!(wire.count("TransactWriteItems"), 2);
    assert_eq!(world.events().await.len(), 1);
}

#[tokio::test]
async fn missing_and_malformed_keys_are_refused() {
    let world = World::create().await;
    for api in [world.saga(), world.locked()] {
        api.send(create("99", 100)).await.expect_problem(400, "idempotency-key-missing");
        let long = "x".repeat(256);
        for key in [
            "",
            "\"\"",
            "  ",
            "\"a\", \"b\"",
            "a,b",
            "\"open",
            "schlüssel",
            "\"a\tb\"",
            "a b",
            "\"a\\b\"",
            "\"a\";p=1x\"",
            &long,
        ] {
            let refused = api.send(create("99", 100).header("idempotency-key", key)).await;
            refused.expect_problem(400, "idempotency-key-invalid");
        }
    }
    assert!(world.scan(&tables().idempotency).await.is_empty() && world.intents().await.is_empty());
    let longest = "x".repeat(255);
    assert_eq!(world.saga().send(create("99", 100).key(&longest)).await.status(), 201);
}

#[tokio::test]
async fn a_key_is_the_same_with_and_without_quotes() {
    let world = World::create().await;
    let api = world.saga();
    assert_eq!(api.send(create("99", 100).key("4711")).await.status(), 201);
    assert!(api.send(create("99", 100).header("idempotency-key", "4711")).await.is_replayed());
}

#[tokio::test]
async fn a_refusal_by_the_domain_is_recorded() {
    for (world, api) in World::both().await {
        let id = api.created("99", 100).await;
        let refused = api.send(create("99", 50).key("second")).await;
        refused.expect_problem(409, "order-has-open-intent");
        world.gateway.now(Behaviour::Decline);
        api.charge_and_settle(&id, "k").await;
        // The order has no open intent any more, but the recorded refusal is replayed.
        let again = api.send(create("99", 50).key("second")).await;
        assert!(again.is_replayed() && again.0.body == refused.0.body, "{again:?}");
        assert_eq!(api.send(create("99", 50).key("third")).await.status(), 201);

        let refused = api.send(charge(&id).key("again")).await;
        refused.expect_problem(409, "wrong-state");
        let again = api.send(charge(&id).key("again")).await;
        assert!(again.is_replayed() && again.0.body == refused.0.body, "{again:?}");
    }
}

#[tokio::test]
async fn other_refusals_are_not_recorded() {
    for (_world, api) in World::both().await {
        let id = api.created("99", 100).await;
        let stale = change(&id, 200).key("k").header("if-match", "\"9\"");
        api.send(stale).await.expect_problem(412, "version-mismatch");
        api.send(change(&id, 0).key("k")).await.expect_problem(400, "invalid-request");
        let changed = api.send(change(&id, 200).key("k")).await;
        assert_eq!((changed.status(), changed.is_replayed()), (200, false));
    }
}

/// The response to a `BatchGetItem` that found these items of the payments table, and no record.
fn read_without_record(items: &[HashMap<String, AttributeValue>]) -> &'static str {
    let attribute = |value: &AttributeValue| match value {
        AttributeValue::S(text) => json!({"S": text}),
        AttributeValue::N(number) => json!({"N": number}),
        other => panic!("{other:?}"),
    };
    let item = |item: &HashMap<String, AttributeValue>| -> Value {
        item.iter().map(|(name, value)| (name.clone(), attribute(value))).collect()
    };
    let items: Vec<_> = items.iter().map(item).collect();
    let response = json!({"Responses": {tables().payments: items}, "UnprocessedKeys": {}});
    Box::leak(response.to_string().into_boxed_str())
}

#[tokio::test]
async fn a_repetition_that_reads_in_the_middle_of_the_transaction_is_not_refused() {
    for (world, api) in World::both().await {
        let id = api.created("99", 100).await;
        let request = change(&id, 200).key("k").header("if-match", "\"1\"");
        let changed = api.send(request.clone()).await;
        assert_eq!(changed.status(), 200);
        // The repetition has read the record before the transaction, and the intent after it: BatchGetItem is not a snapshot.
        let torn = read_without_record(&world.intents().await);
        let wire =
            Wire::disturbed(
                move |request| {
                    if request.number == 1 { Disturbance::Respond(200, torn) } else { Disturbance::None }
                },
            );
        let mode = if api.is_locked { world.locked_mode() } else { Mode::Saga };
        let copy = world.over(&wire, mode).send(request).await;
        assert!(copy.is_replayed() && copy.0.body == changed.0.body, "{copy:?}");
    }
}

#[tokio::test]
async fn a_response_is_kept_for_24_hours() {
    let world = World::create().await;
    let api = world.saga();
    let id = api.created("99", 100).await;
    api.send(change(&id, 200).key("k")).await;
    world.advance_clock(Duration::from_hours(24));
    assert!(api.send(change(&id, 200).key("k")).await.is_replayed());
    world.advance_clock(Duration::from_secs(2));
    let changed = api.send(change(&id, 200).key("k")).await;
    assert_eq!((changed.is_replayed(), changed.member("version")), (false, json!(3)));
}

/// The embedded engine never reports transaction conflicts.
const CONFLICT: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"x",
    "CancellationReasons":[{"Code":"None"},{"Code":"TransactionConflict"},{"Code":"None"}]}"#;

#[tokio::test]
async fn a_transaction_conflict_is_retried_with_a_new_read() {
    let world = World::create().await;
    let id = world.saga().created("99", 100).await;
    let wire = Wire::disturbed(|request| match (request.operation.as_str(), request.number) {
        ("TransactWriteItems", 2) => Disturbance::Respond(400, CONFLICT),
        _ => Disturbance::None,
    });
    let charged = world.over(&wire, Mode::Saga).send(charge(&id).key("k")).await;
    assert_eq!(charged.status(), 202);
    assert_eq!((wire.count("BatchGetItem"), wire.count("TransactWriteItems")), (2, 2));
}

#[tokio::test]
async fn a_transaction_conflict_that_persists_is_answered_as_conflict_and_not_recorded() {
    let world = World::create().await;
    let id = world.saga().created("99", 100).await;
    let wire = Wire::disturbed(|request| match request.operation.as_str() {
        "TransactWriteItems" => Disturbance::Respond(400, CONFLICT),
        _ => Disturbance::None,
    });
    let refused = world.over(&wire, Mode::Saga).send(charge(&id).key("k")).await;
    refused.expect_problem(409, "conflict");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(world.saga().send(charge(&id).key("k")).await.status(), 202);
}
