//! What the gateway decided, with the event and the lock's release, in one transaction.

use dynamodb_locks::Acquired;
use embedded_dynamodb::{Disturbance, Wire};
use payment_store::{Error, PaymentStore, Settled};

use crate::world::{World, charged_as, declined, tables};

#[tokio::test]
async fn a_settlement_releases_the_lock_in_its_one_request() {
    let world = World::create().await;
    let requested = world.requested("99").await;
    let key = PaymentStore::lock_key(requested.intent.id());
    let Acquired::Granted(lock) = world.store.locks().exclusive(key.clone()).acquire().await.unwrap() else {
        panic!("nobody else holds it")
    };
    let wire = Wire::watched();
    let settled = world.over(&wire).settle(&requested, charged_as("ch_1"), Some(lock.release_with())).await.unwrap();
    assert!(matches!(settled, Settled::Stored(_)));
    assert_eq!(wire.requests().len(), 1);
    assert!(world.store.locks().holder(key).await.unwrap().is_none());
}

#[tokio::test]
async fn a_zombie_settles_nothing() {
    let world = World::create().await;
    let requested = world.requested("99").await;
    let key = PaymentStore::lock_key(requested.intent.id());
    let acquire = || world.store.locks().exclusive(key.clone()).acquire();
    let zombie = acquire().await.unwrap().granted().unwrap();
    world.set_clock(60_000);
    let _successor = acquire().await.unwrap().granted().unwrap();
    let settled = world.store.settle(&requested, declined(), Some(zombie.release_with())).await.unwrap();
    assert_eq!(settled, Settled::LockLost);
    assert_eq!(world.find(requested.intent.id()).await, Some(requested));
}

#[tokio::test]
async fn a_second_answer_is_superseded() {
    let world = World::create().await;
    let requested = world.requested("99").await;
    assert!(matches!(world.store.settle(&requested, charged_as("ch_1"), None).await.unwrap(), Settled::Stored(_)));
    assert_eq!(world.store.settle(&requested, declined(), None).await.unwrap(), Settled::Superseded);
    let charged = world.find(requested.intent.id()).await.unwrap();
    assert_eq!(charged.intent.state().charge_id().unwrap().as_str(), "ch_1");
    // Not even asked for.
    let wire = Wire::disturbed(|_| Disturbance::FailBefore);
    assert_eq!(world.over(&wire).settle(&charged, declined(), None).await.unwrap(), Settled::Superseded);
    assert_eq!(world.scan(&tables().outbox).await.len(), 2);
}

#[tokio::test]
async fn a_lost_answer_is_seen_by_reading_again() {
    let world = World::create().await;
    let requested = world.requested("99").await;
    let wire = Wire::disturbed(|_| Disturbance::LoseAnswer);
    let lost = world.over(&wire).settle(&requested, charged_as("ch_1"), None).await;
    assert!(matches!(lost, Err(Error::Unavailable(_))));
    assert!(world.find(requested.intent.id()).await.unwrap().intent.state().name().is_final());
    assert_eq!(world.store.settle(&requested, charged_as("ch_1"), None).await.unwrap(), Settled::Superseded);
    assert_eq!(world.scan(&tables().outbox).await.len(), 2);
}

#[tokio::test]
async fn another_transaction_in_the_way_is_outlasted_or_contended() {
    const CONFLICT: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"x",
        "CancellationReasons":[{"Code":"TransactionConflict"}]}"#;
    let world = World::create().await;
    let requested = world.requested("99").await;
    let wire = Wire::disturbed(|_| Disturbance::Answer(400, CONFLICT));
    let contended = world.over(&wire).settle(&requested, charged_as("ch_1"), None).await;
    assert!(matches!(contended, Err(Error::Contended)));
    let wire = Wire::disturbed(
        |request| {
            if request.number < 3 { Disturbance::Answer(400, CONFLICT) } else { Disturbance::None }
        },
    );
    let settled = world.over(&wire).settle(&requested, charged_as("ch_1"), None).await.unwrap();
    assert!(matches!(settled, Settled::Stored(_)));
    assert_eq!(wire.requests().len(), 3);
}
