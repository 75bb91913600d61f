//! Workers that were frozen, and continue after another worker has taken over.

use std::sync::Arc;
use std::time::Duration;

use payment_intents::{State, StateName};
use tokio::time::timeout;

use crate::scripted::{Gate, Scripted};
use crate::world::{World, skip};

/// Longer than a lease.
const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_worker_that_resumes_after_its_successor_settled_is_refused() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    let bodies = [world.message(id).await];
    let gate = Gate::default();
    let zombie = world.function_with(Arc::new(Scripted::charged_as("ch_zombie").behind(&gate)));
    let zombie = zombie.invoke(&bodies);
    let takeover = async {
        gate.arrival().await;
        world.advance_clock(LONG);
        world.function_with(Arc::new(Scripted::charged_as("ch_successor"))).expect_done(&bodies[0]).await;
        let settled = world.find(id).await;
        gate.open();
        settled
    };
    let (zombie, settled) = tokio::join!(zombie, takeover);
    assert_eq!(zombie.unwrap_err().reasons, ["settle_superseded"]);
    assert_eq!(world.find(id).await, settled, "the successor's work is untouched");
    let State::Charged { charge_id, .. } = settled.intent.state() else { panic!("{settled:?}") };
    assert_eq!(charge_id.as_str(), "ch_successor");
    assert_eq!(world.unpublished().await, ["PaymentIntentChargeRequested", "PaymentIntentCharged"]);
    world.assert_no_lock_is_held().await;
}

#[tokio::test]
async fn a_worker_that_resumes_while_its_successor_works_is_refused_and_does_not_free_the_lock() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    let bodies = [world.message(id).await];
    let (first, second) = (Gate::default(), Gate::default());
    let zombie = world.function_with(Arc::new(Scripted::charged_as("ch_zombie").behind(&first)));
    let successor = world.function_with(Arc::new(Scripted::charged_as("ch_successor").behind(&second)));
    let zombie = async {
        let refused = zombie.invoke(&bodies).await.unwrap_err();
        assert_eq!(refused.reasons, ["lock_lost"]);
        assert_eq!(world.state(id).await, StateName::ChargeRequested, "the zombie has written nothing");
        let third = world.function().invoke(&bodies).await.unwrap();
        assert_eq!(third.batch_item_failures.len(), 1, "the successor still holds the lock");
        second.open();
    };
    let takeover = async {
        first.arrival().await;
        world.advance_clock(LONG);
        let opened = async {
            second.arrival().await;
            first.open();
        };
        let (result, ()) = tokio::join!(successor.invoke(&bodies), opened);
        assert_eq!(result.unwrap().batch_item_failures.len(), 0);
    };
    tokio::join!(zombie, takeover);
    let intent = world.find(id).await.intent;
    let State::Charged { charge_id, .. } = intent.state() else { panic!("{intent:?}") };
    assert_eq!(charge_id.as_str(), "ch_successor");
    assert_eq!(world.gateway.posts(), 0, "the third worker did not call the gateway");
    world.assert_no_lock_is_held().await;
}

/// A lease is ten seconds, and heartbeats are sent every third of it.
#[tokio::test]
async fn heartbeats_keep_the_lock_while_the_gateway_is_slow() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    let bodies = [world.message(id).await];
    let gate = Gate::default();
    let gateway = Arc::new(Scripted::charged_as("ch_1").behind(&gate));
    let function = world.function_with(gateway.clone());
    let second = async {
        gate.arrival().await;
        for beat in 1..=4 {
            let before = world.lease_end(id).await;
            let step = Duration::from_secs(4);
            world.advance_clock(step);
            skip(step).await;
            let renewed = async { while world.lease_end(id).await == before {} };
            timeout(Duration::from_secs(20), renewed).await.unwrap_or_else(|_| panic!("heartbeat {beat} is missing"));
        }
        // The first lease ended long ago. The last one has one second left.
        world.advance_clock(Duration::from_secs(9));
        let response = world.function().invoke(&bodies).await.unwrap();
        assert_eq!(response.batch_item_failures.len(), 1, "the lock is held");
        gate.open();
    };
    let (result, ()) = tokio::join!(function.invoke(&bodies), second);
    assert_eq!(result.unwrap().batch_item_failures.len(), 0);
    assert_eq!((gateway.charges(), world.gateway.posts()), (1, 0), "the second worker did not call the gateway");
    assert_eq!(world.state(id).await, StateName::Charged);
}
