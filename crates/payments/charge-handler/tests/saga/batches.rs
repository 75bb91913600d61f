//! Each message of a batch is parsed, processed and reported independently.

use std::sync::Arc;
use std::time::Duration;

use charge_handler::BatchFailed;
use dynamodb_locks::Acquired;
use embedded_dynamodb::Wire;
use payment_gateway::Unknown;
use payment_intents::StateName;
use payment_store::PaymentStore;
use tokio::time::Instant;

use crate::scripted::Scripted;
use crate::world::{TIMEOUT, World, failures};

#[tokio::test]
async fn a_batch_returns_only_the_failed_messages() {
    let world = World::create().await;
    let (good, declined, unknown) =
        (world.requested(1_250).await, world.requested(1_002).await, world.requested(1_005).await);
    let message = world.message(good).await;
    let bodies = [
        "not JSON".to_owned(),
        message.clone(),
        world.message(declined).await,
        world.message(unknown).await,
        message
            .replace("ChargeRequested", "Charged")
            .replace(r#"\"currency\":"#, r#"\"chargeId\":\"ch\",\"currency\":"#),
        message.replace(&good.to_string(), "not-an-intent"),
        message.replace(&good.to_string(), "00000000-0000-4000-8000-000000000000"),
    ];
    let response = world.function().invoke(&bodies).await.unwrap();
    assert_eq!(failures(&response), [0, 3, 4, 5, 6]);
    assert_eq!(world.state(good).await, StateName::Charged);
    assert_eq!(world.state(declined).await, StateName::ChargeFailed);
    assert_eq!(world.state(unknown).await, StateName::ChargeRequested);
    world.assert_no_lock_is_held().await;

    let reasons =
        [(0, "malformed_body"), (4, "wrong_event_type"), (5, "not_a_payment_intent"), (6, "payment_intent_missing")];
    for (place, reason) in reasons {
        world.function().expect_failed(&bodies[place], reason).await;
    }
    world.assert_no_lock_is_held().await;
}

#[tokio::test]
async fn a_batch_in_which_every_message_failed_fails_the_invocation() {
    let world = World::create().await;
    let message = world.message(world.requested(1_250).await).await;
    let gateway = Arc::new(Scripted::charging(|| Err(Unknown::Timeout)));
    let failed = world.function_with(gateway).invoke(&["{}".to_owned(), message]).await.unwrap_err();
    assert_eq!(failed, BatchFailed { messages: 2, reasons: vec!["gateway_timeout", "malformed_envelope"] });
}

#[tokio::test]
async fn an_empty_batch_succeeds() {
    let world = World::create().await;
    let response = world.function().invoke(&[]).await.unwrap();
    assert_eq!(failures(&response), [] as [usize; 0]);
}

#[tokio::test]
async fn repeated_messages_in_a_batch_make_one_request_to_the_gateway() {
    let world = World::create().await;
    let message = world.message(world.requested(1_250).await).await;
    let response = world.function().invoke(&[message.clone(), message.clone(), message]).await.unwrap();
    assert_eq!(failures(&response), [] as [usize; 0]);
    assert_eq!(world.gateway.posts(), 1);
}

#[tokio::test]
async fn repeated_messages_in_concurrent_functions_make_one_charge_and_one_final_event() {
    let world = World::create().await;
    let message = world.message(world.requested(1_250).await).await;
    let functions: Vec<_> = (0..8).map(|_| world.function()).collect();
    let mut queue: Vec<_> = functions.iter().collect();
    let mut rounds = 0;
    while !queue.is_empty() {
        rounds += 1;
        assert!(rounds <= 8, "the lock is never free");
        let bodies = [message.clone()];
        let results = futures_util::future::join_all(queue.iter().map(|function| function.invoke(&bodies))).await;
        let kept = results.iter().map(|result| !failures(result.as_ref().unwrap()).is_empty());
        queue = queue.iter().zip(kept).filter(|(_, kept)| *kept).map(|(function, _)| *function).collect();
    }
    assert_eq!(world.gateway.posts(), 1);
    assert_eq!(world.unpublished().await, ["PaymentIntentChargeRequested", "PaymentIntentCharged"]);
    world.assert_no_lock_is_held().await;
}

#[tokio::test]
async fn a_charge_that_another_worker_holds_is_retried_and_not_an_error() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    let message = world.message(id).await;
    let store = world.store();
    let Acquired::Granted(lock) = store.locks().exclusive(PaymentStore::lock_key(id)).acquire().await.unwrap() else {
        panic!("the lock is free");
    };
    let response = world.function().invoke(std::slice::from_ref(&message)).await.unwrap();
    assert_eq!(failures(&response), [0]);
    assert_eq!(world.gateway.posts(), 0);
    let _ = lock.release().await.unwrap();
    world.function().expect_done(&message).await;
}

#[tokio::test]
async fn at_most_ten_charges_run_at_the_same_time() {
    let world = World::create().await;
    let mut bodies = Vec::new();
    for _ in 0..25 {
        bodies.push(world.message(world.requested(1_250).await).await);
    }
    let wire = Wire::watched();
    let response = world.function_on(&wire).invoke(&bodies).await.unwrap();
    assert_eq!(failures(&response), [] as [usize; 0]);
    assert_eq!(world.gateway.charges().len(), 25);
    assert!((2..=10).contains(&wire.most_in_flight()), "{}", wire.most_in_flight());
}

#[tokio::test]
async fn a_charge_is_not_started_without_enough_time() {
    let world = World::create().await;
    let message = world.message(world.requested(1_250).await).await;
    let wire = Wire::watched();
    let failed = world.function_on(&wire).invoke_within(&[message], Duration::from_secs(4)).await.unwrap_err();
    assert_eq!(failed.reasons, ["out_of_time"]);
    assert_eq!((wire.requests().len(), world.gateway.posts()), (0, 0));
}

#[tokio::test]
async fn the_gateway_leaves_time_to_store_its_response() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    let gateway = Arc::new(Scripted::charged_as("ch_1").finding(|| Ok(None)));
    let begun = Instant::now();
    world.function_with(gateway.clone()).expect_done(&world.message(id).await).await;
    let left = (begun + TIMEOUT).duration_since(gateway.deadlines()[0]);
    assert!((2..=3).contains(&left.as_secs()), "{left:?}");
}
