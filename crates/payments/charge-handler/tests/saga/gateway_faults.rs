//! Every fault of the stand-in gateway. Only the queue retries a charge.

use std::time::Duration;

use payment_intents::StateName;

use crate::world::{SLOW, World};

#[tokio::test]
async fn a_charge_is_finished_after_any_fault_of_the_gateway() {
    // The amount, the final state, and the reason of the failure before it.
    let cases = [
        (1_250, StateName::Charged, None),
        (1_002, StateName::ChargeFailed, None),
        (1_003, StateName::Charged, Some("gateway_unreachable")),
        (1_005, StateName::Charged, Some("gateway_failed")),
    ];
    for (amount, end, expected) in cases {
        let world = World::create().await;
        let id = world.requested(amount).await;
        let message = world.message(id).await;
        if let Some(reason) = expected {
            world.function().expect_failed(&message, reason).await;
            assert_eq!(world.state(id).await, StateName::ChargeRequested, "{amount}");
            world.assert_no_lock_is_held().await;
        }
        world.function().expect_done(&message).await;
        assert_eq!(world.state(id).await, end, "{amount}");
        assert_eq!(world.gateway.charges().len(), usize::from(end == StateName::Charged), "{amount}");
        assert_eq!(world.unpublished().await.len(), 2, "{amount}: one request, one final event");
    }
}

#[tokio::test]
async fn a_gateway_that_is_too_slow_charges_once() {
    let world = World::create().await;
    let id = world.requested(1_009).await;
    let message = world.message(id).await;
    let with_short_timeout = world.function_with(world.http_gateway_within(SLOW / 10));
    with_short_timeout.expect_failed(&message, "gateway_timeout").await;
    world.function().expect_failed(&message, "gateway_in_progress").await;
    assert_eq!(world.state(id).await, StateName::ChargeRequested);
    world.assert_no_lock_is_held().await;
    while world.gateway.charges().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    world.function().expect_done(&message).await;
    assert_eq!(world.state(id).await, StateName::Charged);
    assert_eq!(world.gateway.charges().len(), 1);
}
