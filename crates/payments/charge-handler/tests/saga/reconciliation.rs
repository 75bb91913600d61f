//! The reconciler finishes what fell out of the queue.

use std::sync::Arc;
use std::time::Duration;

use charge_handler::Unfinished;
use dynamodb_locks::Acquired;
use embedded_dynamodb::{Disturbance, Wire};
use payment_gateway::Unknown;
use payment_intents::{PaymentIntentId, StateName};
use payment_store::PaymentStore;

use crate::scripted::Scripted;
use crate::world::{World, charge};

const LONG: Duration = Duration::from_mins(6);

#[tokio::test]
async fn a_charge_whose_message_is_lost_is_finished() {
    let world = World::create().await;
    let (charged, declined) = (world.requested(1_250).await, world.requested(1_002).await);
    world.pass(LONG);
    let young = world.requested(1_260).await;
    world.reconcile(world.http_gateway()).await.unwrap();
    assert_eq!(world.state(charged).await, StateName::Charged);
    assert_eq!(world.state(declined).await, StateName::ChargeFailed);
    assert_eq!(world.state(young).await, StateName::ChargeRequested, "its message is still in the queue");
    world.assert_no_lock_is_held().await;

    let posts = world.gateway.posts();
    world.reconcile(world.http_gateway()).await.unwrap();
    assert_eq!(world.gateway.posts(), posts, "there is nothing left to do");
}

#[tokio::test]
async fn more_open_charges_than_one_page_are_all_finished() {
    let world = World::create().await;
    let store = world.store();
    for number in 0..230 {
        // One shard has more than two pages; another one has a few.
        let shard = if number < 210 { 'a' } else { '7' };
        let id: PaymentIntentId = format!("{shard}0000000-0000-4000-8000-{number:012x}").parse().unwrap();
        world.created_as(id, 1_250).await;
        charge(&store, id).await.unwrap();
        // No two at the same time, so that the index has an order.
        world.pass(Duration::from_millis(1));
    }
    world.pass(LONG);
    let gateway = Arc::new(Scripted::charged_as("ch_1"));
    world.reconcile(gateway.clone()).await.unwrap();
    assert_eq!(gateway.charges(), 230);
}

#[tokio::test]
async fn what_cannot_be_finished_is_raised_and_stays_open() {
    let world = World::create().await;
    let (id, other) = (world.requested(1_250).await, world.requested(1_250).await);
    world.pass(LONG);
    let gateway = Arc::new(Scripted::charging(|| Err(Unknown::Timeout)));
    let unfinished = world.reconcile(gateway).await.unwrap_err();
    assert_eq!(unfinished, Unfinished { charges: 2, reasons: vec!["gateway_timeout"] });
    for id in [id, other] {
        assert_eq!(world.state(id).await, StateName::ChargeRequested);
    }
    world.reconcile(world.http_gateway()).await.unwrap();
    assert_eq!(world.gateway.charges().len(), 2);
}

#[tokio::test]
async fn a_charge_that_another_worker_holds_is_left_to_it() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    world.pass(LONG);
    let lock = world.store().locks().exclusive(PaymentStore::lock_key(id)).acquire().await.unwrap();
    assert!(matches!(lock, Acquired::Granted(_)));
    world.reconcile(world.http_gateway()).await.unwrap();
    assert_eq!(world.gateway.posts(), 0);
}

#[tokio::test]
async fn a_shard_that_cannot_be_read_is_raised_and_holds_up_no_other() {
    let world = World::create().await;
    for first in "0123456789abcdef".chars() {
        let id: PaymentIntentId = format!("{first}0000000-0000-4000-8000-000000000000").parse().unwrap();
        world.created_as(id, 1_250).await;
        charge(&world.store(), id).await.unwrap();
    }
    world.pass(LONG);
    let wire = Wire::disturbed(|request| match request.number {
        1 => Disturbance::FailBefore,
        _ => Disturbance::None,
    });
    let reconciler = world.reconciler(&world.engine.client_over(&wire), world.http_gateway());
    let unfinished = reconciler.run("request-1", world.deadline()).await.unwrap_err();
    assert_eq!(unfinished, Unfinished { charges: 1, reasons: vec!["store_unavailable"] });
    assert_eq!(world.gateway.charges().len(), 15);
}

#[tokio::test]
async fn without_time_nothing_is_begun_and_the_next_run_goes_on() {
    let world = World::create().await;
    world.requested(1_250).await;
    world.pass(LONG);
    let reconciler = world.reconciler(&world.client, world.http_gateway());
    reconciler.run("request-1", world.clock().now() + Duration::from_secs(4)).await.unwrap();
    assert_eq!(world.gateway.posts(), 0);
    world.reconcile(world.http_gateway()).await.unwrap();
    assert_eq!(world.gateway.charges().len(), 1);
}
