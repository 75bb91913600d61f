//! The gateway's decision, the event and the release of the lock are one transaction.

use embedded_dynamodb::{Disturbance, Wire};
use payment_store::{Error, PaymentStore, Settled};

use crate::world::{World, charged_as, declined, tables};

#[tokio::test]
async fn a_settlement_and_the_release_of_the_lock_are_one_request() {
    let world = World::create().await;
    let requested = world.requested("99").await;
    let lock = world.lock(requested.intent.id()).await;
    let wire = Wire::watched();
    let settled = world.over(&wire).settle(&requested, charged_as("ch_1"), &lock.release_with()).await.unwrap();
    assert!(matches!(settled, Settled::Stored(_)));
    assert_eq!(wire.requests().len(), 1);
    assert!(world.store.locks().holder(PaymentStore::lock_key(requested.intent.id())).await.unwrap().is_none());
}

#[tokio::test]
async fn a_worker_that_has_lost_its_lock_settles_nothing() {
    let world = World::create().await;
    let requested = world.requested("99").await;
    let zombie = world.lock(requested.intent.id()).await;
    world.set_clock(60_000);
    let _successor = world.lock(requested.intent.id()).await;
    let settled = world.store.settle(&requested, declined(), &zombie.release_with()).await.unwrap();
    assert_eq!(settled, Settled::LockLost);
    assert_eq!(world.find(requested.intent.id()).await, Some(requested));
}

#[tokio::test]
async fn a_second_decision_of_the_gateway_is_not_stored() {
    let world = World::create().await;
    let requested = world.requested("99").await;
    assert!(matches!(world.settle(&requested, charged_as("ch_1")).await, Settled::Stored(_)));
    let release = world.lock(requested.intent.id()).await.release_with();
    assert_eq!(world.store.settle(&requested, declined(), &release).await.unwrap(), Settled::Superseded);
    let charged = world.find(requested.intent.id()).await.unwrap();
    assert_eq!(charged.intent.state().charge_id().unwrap().as_str(), "ch_1");
    // Without a request to DynamoDB.
    let wire = Wire::disturbed(|_| Disturbance::FailBefore);
    assert_eq!(world.over(&wire).settle(&charged, declined(), &release).await.unwrap(), Settled::Superseded);
    assert_eq!(world.scan(&tables().outbox).await.len(), 2);
}

#[tokio::test]
async fn a_settlement_whose_response_was_lost_is_found_by_reading_the_intent() {
    let world = World::create().await;
    let requested = world.requested("99").await;
    let wire = Wire::disturbed(|_| Disturbance::LoseResponse);
    let release = world.lock(requested.intent.id()).await.release_with();
    let lost = world.over(&wire).settle(&requested, charged_as("ch_1"), &release).await;
    assert!(matches!(lost, Err(Error::Unavailable(_))));
    assert!(world.find(requested.intent.id()).await.unwrap().intent.state().name().is_final());
    assert_eq!(world.settle(&requested, charged_as("ch_1")).await, Settled::Superseded);
    assert_eq!(world.scan(&tables().outbox).await.len(), 2);
}

#[tokio::test]
async fn transaction_conflicts_are_retried_a_few_times() {
    const CONFLICT: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"x",
        "CancellationReasons":[{"Code":"TransactionConflict"}]}"#;
    let world = World::create().await;
    let requested = world.requested("99").await;
    let wire = Wire::disturbed(|_| Disturbance::Respond(400, CONFLICT));
    let release = world.lock(requested.intent.id()).await.release_with();
    let contended = world.over(&wire).settle(&requested, charged_as("ch_1"), &release).await;
    assert!(matches!(contended, Err(Error::Contended)));
    let wire =
        Wire::disturbed(
            |request| {
                if request.number < 3 { Disturbance::Respond(400, CONFLICT) } else { Disturbance::None }
            },
        );
    let settled = world.over(&wire).settle(&requested, charged_as("ch_1"), &release).await.unwrap();
    assert!(matches!(settled, Settled::Stored(_)));
    assert_eq!(wire.requests().len(), 3);
}
