//! What is special about the locked way.

use std::time::Duration;

use payment_store::{Locking, PaymentStore};

use crate::world::{Behaviour, World, change, charge};

#[tokio::test]
async fn an_outcome_that_is_not_known_is_202_and_never_a_failure() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    world.gateway.now(Behaviour::LoseAnswer);
    let accepted = api.send(charge(&id).key("k")).await;
    assert_eq!((accepted.status(), accepted.member("state").as_str()), (202, Some("CHARGE_REQUESTED")));
    assert_eq!(world.held_locks().await, 0, "the handler can go on at once");
    // The handler finishes it, with the same key at the gateway.
    world.gateway.now(Behaviour::Charge);
    api.settle_pending(&id).await;
    assert_eq!((api.state(&id).await.as_str(), world.gateway.charged()), ("CHARGED", vec![100]));
    let replayed = api.send(charge(&id).key("k")).await;
    assert_eq!((replayed.status(), replayed.is_replayed()), (202, true), "the answer that was given");
}

#[tokio::test]
async fn a_lock_that_another_holds_is_a_conflict_and_left_alone() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    let Locking::Granted(_held) = world.store().locked(id.parse().unwrap(), Duration::ZERO).await.unwrap() else {
        panic!("nobody else holds it")
    };
    // Both wait for it, and give up.
    let asks = [change(&id, 200), charge(&id)].map(|ask| api.send(ask.key("k")));
    for refused in futures_util::future::join_all(asks).await {
        refused.expect_problem(409, "conflict");
        assert!(refused.header("retry-after").is_some());
    }
    assert_eq!((world.gateway.calls(), world.held_locks().await), (0, 1));
    let holder = world.store().locks().holder(PaymentStore::lock_key(id.parse().unwrap())).await.unwrap();
    assert!(holder.is_some());
    assert_eq!(api.find(&id).await.member("version"), 1);
}

#[tokio::test]
async fn a_request_that_died_at_the_gateway_is_in_progress_and_then_goes_on() {
    let world = World::create().await;
    let api = world.locked();
    let id = api.created("99", 100).await;
    world.gateway.now(Behaviour::Stall);
    let died = api.clone();
    let request = charge(&id).key("k");
    tokio::select! {
        biased;
        _ = died.send(request.clone()) => panic!("the gateway does not answer"),
        () = async { while world.gateway.calls() == 0 { tokio::task::yield_now().await } } => {}
    }
    world.gateway.now(Behaviour::Charge);
    // The lease has ended, but the claim of the key lasts until the deadline of its invocation.
    world.pass(Duration::from_secs(15));
    let early = api.send(request.clone()).await;
    early.expect_problem(409, "idempotency-key-in-progress");
    assert_eq!(early.header("retry-after"), Some("14"));
    world.pass(Duration::from_secs(15));
    let done = api.send(request.clone()).await;
    assert_eq!((done.status(), done.member("state").as_str()), (200, Some("CHARGED")), "{done:?}");
    assert_eq!(world.gateway.charged(), [100]);
    assert_eq!((world.events().await.len(), world.held_locks().await), (2, 0));
    assert!(api.send(request).await.is_replayed());
}

#[tokio::test]
async fn a_request_that_died_and_was_finished_by_the_handler_is_answered_with_the_result() {
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
        api.settle_pending(&id).await;
        world.pass(Duration::from_secs(31));
        // Also if the mode was changed meanwhile.
        let after = if is_locked { world.locked() } else { world.saga() };
        let done = after.send(request.clone()).await;
        assert_eq!((done.status(), done.member("state").as_str()), (200, Some("CHARGE_FAILED")), "{done:?}");
        assert!(after.send(request).await.is_replayed());
        assert_eq!((world.gateway.calls(), world.events().await.len()), (2, 2));
        // The saga's way looks at no lock: the dead request's stays, and its lease has ended.
        assert_eq!(world.held_locks().await, usize::from(!is_locked));
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
    world.pass(Duration::from_hours(23));
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
    let zombie = api.clone();
    let request = charge(&id).key("k");
    let mut sent = Box::pin(zombie.send(request.clone()));
    tokio::select! {
        biased;
        _ = &mut sent => panic!("the gateway does not answer"),
        () = async { while world.gateway.calls() == 0 { tokio::task::yield_now().await } } => {}
    }
    // Its lease ends while it sleeps; the handler takes the lock and settles the charge as declined.
    world.pass(Duration::from_secs(20));
    world.gateway.now(Behaviour::Decline);
    let Locking::Granted(_taken) = world.store().locked(id.parse().unwrap(), Duration::ZERO).await.unwrap() else {
        panic!("its lease has ended")
    };
    api.settle_pending(&id).await;
    let settled = api.find(&id).await;
    assert_eq!(settled.member("state"), "CHARGE_FAILED");
    // The zombie wakes up, with the gateway's answer in its hands.
    world.gateway.resume.notify_one();
    sent.await.expect_problem(503, "unavailable");
    assert_eq!((api.find(&id).await, world.events().await.len()), (settled, 2));
    assert_eq!(world.held_locks().await, 1, "its successor's lock is left alone");
}
