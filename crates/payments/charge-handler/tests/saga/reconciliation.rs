//! The reconciler finishes charges whose messages were lost or failed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use charge_handler::Unfinished;
use dynamodb_locks::Acquired;
use embedded_dynamodb::{Disturbance, Wire};
use payment_gateway::Unknown;
use payment_intents::{PaymentIntentId, StateName};
use payment_store::PaymentStore;

use crate::scripted::{Gate, Scripted};
use crate::world::{TIMEOUT, World, charge, skip};

const LONG: Duration = Duration::from_mins(6);

#[tokio::test]
async fn a_charge_whose_message_is_lost_is_finished() {
    let world = World::create().await;
    let (charged, declined) = (world.requested(1_250).await, world.requested(1_002).await);
    world.advance_clock(LONG);
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
        // At different times, so that their order in the index is defined.
        world.advance_clock(Duration::from_millis(1));
    }
    world.advance_clock(LONG);
    let gateway = Arc::new(Scripted::charged_as("ch_1"));
    world.reconcile(gateway.clone()).await.unwrap();
    assert_eq!(gateway.charges(), 230);
}

#[tokio::test]
async fn a_run_fails_if_a_charge_cannot_be_finished_and_the_charge_stays_open() {
    let world = World::create().await;
    let (id, other) = (world.requested(1_250).await, world.requested(1_250).await);
    world.advance_clock(LONG);
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
async fn a_charge_that_another_worker_holds_is_left_to_that_worker() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    world.advance_clock(LONG);
    let lock = world.store().locks().exclusive(PaymentStore::lock_key(id)).acquire().await.unwrap();
    assert!(matches!(lock, Acquired::Granted(_)));
    let overdue = world.reconcile(world.http_gateway()).await.unwrap();
    assert_eq!(overdue, 0, "the worker that holds it counts it, if it fails");
    assert_eq!(world.gateway.posts(), 0);
}

/// Ten charges run at the same time. The first ten of `charges` start in time, and end when it is too late to start another one.
async fn overdue_after_a_run_with_time_for_ten(charges: u32) -> usize {
    let world = World::create().await;
    for _ in 0..charges {
        world.requested(1_250).await;
    }
    world.advance_clock(LONG);
    let gate = Gate::default();
    let gateway = Arc::new(Scripted::charged_as("ch_1").behind(&gate));
    let reconciler = world.reconciler(&world.client, gateway.clone());
    let too_late = async {
        gate.arrivals(charges.min(10)).await;
        // Less than a lease.
        skip(Duration::from_secs(6)).await;
        gate.open_for_all();
    };
    let deadline = world.clock().now() + Duration::from_secs(10);
    let (overdue, ()) = tokio::join!(reconciler.run("request-1", deadline), too_late);
    assert_eq!(gateway.requested().len(), usize::try_from(charges.min(10)).unwrap());
    overdue.unwrap()
}

#[tokio::test]
async fn a_run_whose_last_charges_end_late_leaves_nothing_overdue() {
    for charges in [1, 9, 10] {
        assert_eq!(overdue_after_a_run_with_time_for_ten(charges).await, 0, "{charges} charges");
    }
}

#[tokio::test]
async fn a_run_that_leaves_charges_for_the_next_run_counts_one_as_overdue() {
    assert_eq!(overdue_after_a_run_with_time_for_ten(11).await, 1);
}

#[tokio::test]
async fn slow_charges_do_not_prevent_others_from_being_tried() {
    let world = Arc::new(World::create().await);
    let ids: BTreeSet<PaymentIntentId> =
        (0..30).map(|number| format!("a0000000-0000-4000-8000-{number:012x}").parse().unwrap()).collect();
    for &id in &ids {
        world.created_as(id, 1_250).await;
        charge(&world.store(), id).await.unwrap();
        world.advance_clock(Duration::from_millis(1));
    }
    world.advance_clock(LONG);
    // Ten charges use up the time of a run.
    let (clock, calls) = (Arc::clone(&world), AtomicUsize::new(0));
    let gateway = Arc::new(Scripted::charging(move || {
        if calls.fetch_add(1, Ordering::SeqCst) % 10 == 9 {
            clock.advance_clock(TIMEOUT);
        }
        Err(Unknown::Timeout)
    }));
    for _ in 0..100 {
        world.reconcile(gateway.clone()).await.unwrap_err();
    }
    assert_eq!(gateway.requested(), ids);
}

#[tokio::test]
async fn a_run_fails_if_a_shard_cannot_be_read_and_the_other_shards_are_finished() {
    let world = World::create().await;
    for first in "0123456789abcdef".chars() {
        let id: PaymentIntentId = format!("{first}0000000-0000-4000-8000-000000000000").parse().unwrap();
        world.created_as(id, 1_250).await;
        charge(&world.store(), id).await.unwrap();
    }
    world.advance_clock(LONG);
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
async fn without_enough_time_nothing_is_started_and_the_next_run_finishes_the_charges() {
    let world = World::create().await;
    world.requested(1_250).await;
    world.advance_clock(LONG);
    let reconciler = world.reconciler(&world.client, world.http_gateway());
    reconciler.run("request-1", world.clock().now() + Duration::from_secs(4)).await.unwrap();
    assert_eq!(world.gateway.posts(), 0);
    world.reconcile(world.http_gateway()).await.unwrap();
    assert_eq!(world.gateway.charges().len(), 1);
}
