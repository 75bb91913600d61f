//! Behaviour of the locked mode only.

use std::time::Duration;

use charge_handler::ChargeResult;
use embedded_dynamodb::{Disturbance, Wire};
use payment_store::PaymentStore;
use serde_json::json;

use crate::gate::Gate;
use crate::world::{Behaviour, Reply, RequestBuilder, World, change, charge, tables};

#[tokio::test]
async fn a_charge_with_an_unknown_outcome_is_answered_202_and_never_fails() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    world.gateway.now(Behaviour::LoseResponse);
    let accepted = api.send(charge(&id).key("k")).await;
    assert_eq!((accepted.status(), accepted.member("state").as_str()), (202, Some("CHARGE_REQUESTED")));
    assert_eq!(world.held_locks().await, 0, "the handler can continue at once");
    // The handler finishes the charge. It uses the same key at the gateway.
    world.gateway.now(Behaviour::Charge);
    api.settle_pending(&id).await;
    assert_eq!((api.state(&id).await.as_str(), world.gateway.charged()), ("CHARGED", vec![100]));
    let replayed = api.send(charge(&id).key("k")).await;
    assert_eq!((replayed.status(), replayed.is_replayed()), (202, true), "the recorded response");
}

#[tokio::test]
async fn a_lock_held_by_another_process_is_answered_as_conflict_and_not_changed() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    let _held = world.take_lock(&id).await;
    // Both wait for the lock, then give up.
    let waiting = [change(&id, 200), charge(&id)].map(|request| api.send(request.key("k")));
    for refused in futures_util::future::join_all(waiting).await {
        refused.expect_problem(409, "conflict");
        assert!(refused.header("retry-after").is_some());
    }
    assert_eq!((world.gateway.calls(), world.held_locks().await), (0, 1));
    let holder = world.store().locks().holder(PaymentStore::lock_key(id.parse().unwrap())).await.unwrap();
    assert!(holder.is_some());
    assert_eq!(api.find(&id).await.member("version"), 1);
}

/// The response, and the requests to DynamoDB that it needed.
async fn operations(world: &World, request: RequestBuilder) -> (Reply, Vec<String>) {
    let wire = Wire::watched();
    let reply = world.over(&wire, world.locked_mode()).send(request).await;
    (reply, wire.requests().into_iter().map(|request| request.operation).collect())
}

#[tokio::test]
async fn responses_that_change_nothing_do_not_wait_for_the_lock() {
    let world = World::create().await;
    let id = world.locked().created("99", 100).await;
    let amount = change(&id, 200).key("a");
    for request in [amount.clone(), charge(&id).key("c")] {
        assert_eq!(world.locked().send(request).await.status(), 200);
    }
    let _held = world.take_lock(&id).await;
    let read_only = ["BatchGetItem".to_owned()];
    for request in [amount, charge(&id).key("c")] {
        let (replayed, requests) = operations(&world, request).await;
        assert!(replayed.is_replayed(), "{replayed:?}");
        assert_eq!(requests, read_only);
    }
    let (refused, requests) = operations(&world, charge(&id).key("another")).await;
    refused.expect_problem(409, "wrong-state");
    assert_eq!(requests, ["BatchGetItem", "PutItem"]);
    let (unknown, requests) = operations(&world, charge("00000000-0000-4000-8000-000000000000").key("c")).await;
    unknown.expect_problem(404, "payment-intent-not-found");
    assert_eq!(requests, read_only);
}

#[tokio::test]
async fn a_repetition_during_the_gateway_call_is_in_progress() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    world.gateway.now(Behaviour::Stall);
    let request = charge(&id).key("k");
    let repeat = async {
        while world.gateway.calls() == 0 {
            tokio::task::yield_now().await;
        }
        let early = api.send(request.clone()).await;
        // The state is a semantic lock: it refuses other commands, and they do not wait for the lock.
        let other = api.send(change(&id, 200).key("other")).await;
        world.gateway.resume.notify_one();
        (early, other)
    };
    let (charged, (early, other)) = futures_util::join!(api.send(request.clone()), repeat);
    early.expect_problem(409, "idempotency-key-in-progress");
    assert_eq!(early.header("retry-after"), Some("29"), "the claim lasts until the deadline of its invocation");
    other.expect_problem(409, "wrong-state");
    assert_eq!(other.member("state"), "CHARGE_REQUESTED");
    assert_eq!((charged.status(), world.gateway.calls()), (200, 1));
    assert!(api.send(request).await.is_replayed());
}

#[tokio::test]
async fn a_repetition_that_does_not_get_the_lock_in_time_is_in_progress() {
    let world = World::create().await;
    let id = world.locked().created("99", 100).await;
    world.gateway.now(Behaviour::Stall);
    let request = charge(&id).key("k");
    // The repetition reads the key when the first request has the lock, but has not yet written its claim.
    let gate = Gate::new();
    let first = world.gated(&gate, world.locked_mode());
    let repeat = async {
        gate.pass(2).await;
        let second = Gate::new();
        let repeated = world.gated(&second, world.locked_mode());
        let pass = async {
            second.pass(1).await;
            gate.open();
            while world.gateway.calls() == 0 {
                tokio::task::yield_now().await;
            }
            second.open();
        };
        let (early, ()) = futures_util::join!(repeated.send(request.clone()), pass);
        world.gateway.resume.notify_one();
        early
    };
    let (charged, early) = futures_util::join!(first.send(request.clone()), repeat);
    early.expect_problem(409, "idempotency-key-in-progress");
    assert_eq!((charged.status(), world.gateway.calls()), (200, 1));
}

#[tokio::test]
async fn a_request_of_another_consumer_reveals_nothing_and_writes_nothing() {
    let world = World::create().await;
    let api = world.guarded(world.locked_mode());
    let id = world.locked().created("99", 100).await;
    let _held = world.take_lock(&id).await;
    let before = (world.scan(&tables().locks).await, world.scan(&tables().idempotency).await);
    for id in [id.as_str(), "00000000-0000-4000-8000-000000000000"] {
        for request in [change(id, 200), charge(id)] {
            let refused = api.send(request.key("k").by(&json!({"sub": "mallory"}))).await;
            refused.expect_problem(404, "payment-intent-not-found");
            assert_eq!(refused.header("retry-after"), None);
        }
    }
    assert_eq!((world.scan(&tables().locks).await, world.scan(&tables().idempotency).await), before);
}

#[tokio::test]
async fn a_request_that_crashed_during_the_gateway_call_is_in_progress_and_can_then_be_repeated() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    world.gateway.now(Behaviour::Stall);
    let crashed = api.clone();
    let request = charge(&id).key("k");
    tokio::select! {
        biased;
        _ = crashed.send(request.clone()) => panic!("the gateway does not answer"),
        () = async { while world.gateway.calls() == 0 { tokio::task::yield_now().await } } => {}
    }
    world.gateway.now(Behaviour::Charge);
    // The lease has ended, but the claim of the key lasts until the deadline of its invocation.
    world.advance_clock(Duration::from_secs(15));
    let early = api.send(request.clone()).await;
    early.expect_problem(409, "idempotency-key-in-progress");
    assert_eq!(early.header("retry-after"), Some("14"));
    world.advance_clock(Duration::from_secs(15));
    let done = api.send(request.clone()).await;
    assert_eq!((done.status(), done.member("state").as_str()), (200, Some("CHARGED")), "{done:?}");
    assert_eq!(world.gateway.charged(), [100]);
    assert_eq!((world.events().await.len(), world.held_locks().await), (2, 0));
    assert!(api.send(request).await.is_replayed());
}

#[tokio::test]
async fn a_repetition_of_a_crashed_request_that_the_handler_has_finished_gets_the_result() {
    for is_locked in [true, false] {
        let world = World::create().await;
        let api = world.locked();
        let id = api.created("99", 100).await;
        world.gateway.now(Behaviour::Stall);
        let request = charge(&id).key("k");
        tokio::select! {
            biased;
            _ = api.send(request.clone()) => panic!("the gateway does not answer"),
            () = async { while world.gateway.calls() == 0 { tokio::task::yield_now().await } } => {}
        }
        world.gateway.now(Behaviour::Decline);
        assert_eq!(
            api.handle_message(&id).await,
            ChargeResult::HeldByAnother,
            "the crashed request's lease has not expired"
        );
        world.advance_clock(Duration::from_secs(31));
        api.settle_pending(&id).await;
        // The same after a change of the mode.
        let after = if is_locked { world.locked() } else { world.saga() };
        let done = after.send(request.clone()).await;
        assert_eq!((done.status(), done.member("state").as_str()), (200, Some("CHARGE_FAILED")), "{done:?}");
        assert!(after.send(request).await.is_replayed());
        assert_eq!((world.gateway.calls(), world.events().await.len()), (2, 2));
        assert_eq!(world.held_locks().await, 0);
    }
}

#[tokio::test]
async fn a_charge_requested_long_ago_is_left_to_the_reconciler() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    world.gateway.now(Behaviour::Stall);
    let request = charge(&id).key("k");
    tokio::select! {
        biased;
        _ = api.send(request.clone()) => panic!("the gateway does not answer"),
        () = async { while world.gateway.calls() == 0 { tokio::task::yield_now().await } } => {}
    }
    world.gateway.now(Behaviour::Charge);
    world.advance_clock(Duration::from_hours(23));
    let accepted = api.send(request).await;
    assert_eq!(accepted.status(), 202, "gateways forget keys, and would charge again");
    assert_eq!(world.gateway.calls(), 1);
}

#[tokio::test]
async fn a_zombie_that_lost_its_lock_writes_nothing() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    world.gateway.now(Behaviour::Stall);
    let mut zombie = Box::pin(api.send(charge(&id).key("k")));
    tokio::select! {
        biased;
        _ = &mut zombie => panic!("the gateway does not answer"),
        () = async { while world.gateway.calls() == 0 { tokio::task::yield_now().await } } => {}
    }
    // The zombie's lease ends while it waits for the gateway, and the handler takes the lock. Then the zombie gets the gateway's
    // response before the handler has settled the charge. The intent has not changed, so only the lock can refuse the zombie.
    world.advance_clock(Duration::from_secs(20));
    let _taken = world.take_lock(&id).await;
    let before = api.find(&id).await;
    assert_eq!(before.member("state"), "CHARGE_REQUESTED");
    world.gateway.resume.notify_one();
    zombie.await.expect_problem(503, "unavailable");
    assert_eq!((api.find(&id).await, world.events().await.len()), (before, 1));
    assert_eq!(world.held_locks().await, 1, "the new holder keeps its lock");
}

#[tokio::test]
async fn a_zombie_that_lost_its_lock_before_its_first_write_requests_no_charge() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    let before = api.find(&id).await;
    let gate = Gate::new();
    let zombie = world.gated(&gate, world.locked_mode());
    let (refused, _taken) = futures_util::join!(zombie.send(charge(&id).key("k")), async {
        // The zombie has read the intent, and has the lock.
        gate.pass(2).await;
        world.advance_clock(Duration::from_secs(20));
        let taken = world.take_lock(&id).await;
        gate.open();
        taken
    });
    refused.expect_problem(503, "unavailable");
    assert_eq!((api.find(&id).await, world.events().await.len(), world.gateway.calls()), (before, 0, 0));
    assert_eq!(world.held_locks().await, 1, "the new holder keeps its lock");
}

#[tokio::test]
async fn an_intent_that_changed_before_the_lock_was_taken_is_read_again() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    let gate = Gate::new();
    let gated = world.gated(&gate, world.locked_mode());
    let (charged, ()) = futures_util::join!(gated.send(charge(&id).key("k")), async {
        gate.pass(1).await;
        assert_eq!(api.send(change(&id, 250).key("c")).await.status(), 200);
        gate.open();
    });
    assert_eq!((charged.status(), charged.member("version").as_i64()), (200, Some(4)), "{charged:?}");
    assert_eq!((charged.member("amount").as_i64(), world.gateway.charged()), (Some(250), vec![250]));
    assert_eq!(world.held_locks().await, 0);
}

#[tokio::test]
async fn a_charge_that_the_handler_settled_before_the_repetition_had_the_lock_is_not_sent_again() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    world.gateway.now(Behaviour::Stall);
    let request = charge(&id).key("k");
    tokio::select! {
        biased;
        _ = api.send(request.clone()) => panic!("the gateway does not answer"),
        () = async { while world.gateway.calls() == 0 { tokio::task::yield_now().await } } => {}
    }
    world.gateway.now(Behaviour::Charge);
    world.advance_clock(Duration::from_secs(31));
    let gate = Gate::new();
    let gated = world.gated(&gate, world.locked_mode());
    let (repeated, ()) = futures_util::join!(gated.send(request.clone()), async {
        // The repetition has read that its charge is open.
        gate.pass(1).await;
        api.settle_pending(&id).await;
        gate.open();
    });
    assert_eq!((repeated.status(), repeated.member("state").as_str()), (200, Some("CHARGED")), "{repeated:?}");
    assert_eq!(
        (world.gateway.calls(), world.held_locks().await),
        (2, 0),
        "one call by the crashed request, one by the handler"
    );
}

#[tokio::test]
async fn a_transaction_conflict_while_the_result_is_stored_is_retried() {
    // A heartbeat may write the lock at the moment when the result and the lock's release are committed.
    const CONFLICT: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"x",
        "CancellationReasons":[{"Code":"None"},{"Code":"None"},{"Code":"None"},{"Code":"None"},{"Code":"TransactionConflict"}]}"#;
    for conflicts in [1, 2] {
        let world = World::create().await;
        let id = world.locked().created("99", 100).await;
        let wire = Wire::disturbed(move |request| {
            let has_conflict = (4..4 + conflicts).contains(&request.number);
            if has_conflict { Disturbance::Respond(400, CONFLICT) } else { Disturbance::None }
        });
        let charged = world.over(&wire, world.locked_mode()).send(charge(&id).key("k")).await;
        assert_eq!((charged.status(), charged.member("state").as_str()), (200, Some("CHARGED")), "{charged:?}");
        assert_eq!((wire.count("TransactWriteItems"), wire.count("BatchGetItem")), (2 + conflicts, 1));
        assert_eq!((world.gateway.calls(), world.events().await.len(), world.held_locks().await), (1, 2, 0));
    }
}

#[tokio::test]
async fn a_result_that_cannot_be_stored_is_answered_as_conflict_and_the_handler_finishes_the_charge() {
    const CONFLICT: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"x",
        "CancellationReasons":[{"Code":"TransactionConflict"}]}"#;
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    let wire = Wire::disturbed(|request| match (request.operation.as_str(), request.number) {
        ("TransactWriteItems", 4..) => Disturbance::Respond(400, CONFLICT),
        _ => Disturbance::None,
    });
    let refused = world.over(&wire, world.locked_mode()).send(charge(&id).key("k")).await;
    refused.expect_problem(409, "conflict");
    assert_eq!((api.state(&id).await.as_str(), world.held_locks().await), ("CHARGE_REQUESTED", 0));
    api.settle_pending(&id).await;
    assert_eq!((api.state(&id).await.as_str(), world.gateway.charged()), ("CHARGED", vec![100]));
}
