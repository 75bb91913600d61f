//! Gateways forget keys after 24 hours: an old charge is looked up, and never sent again.

use std::sync::Arc;
use std::time::Duration;

use payment_gateway::Unknown;
use payment_intents::{ChargeId, State, StateName};

use crate::scripted::Scripted;
use crate::world::{World, order_of};

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

#[tokio::test]
async fn a_charge_younger_than_23_hours_is_sent() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    world.advance_clock(22 * HOUR + 59 * MINUTE);
    world.function().expect_done(&world.message(id).await).await;
    assert_eq!((world.gateway.posts(), world.gateway.look_ups()), (1, 0));
    assert_eq!(world.state(id).await, StateName::Charged);
}

#[tokio::test]
async fn an_old_charge_that_was_made_is_found_and_not_sent() {
    for age in [23 * HOUR + MINUTE, 3 * DAY] {
        let world = World::create().await;
        let id = world.requested(1_003).await;
        let message = world.message(id).await;
        world.function().expect_failed(&message, "gateway_unreachable").await;
        assert_eq!(world.gateway.charges().len(), 1, "charged, but the response was lost");

        world.advance_clock(age);
        world.function().expect_done(&message).await;
        assert_eq!((world.gateway.posts(), world.gateway.look_ups()), (1, 1));
        let intent = world.find(id).await.intent;
        let State::Charged { charge_id, .. } = intent.state() else { panic!("{intent:?}") };
        assert_eq!(charge_id.as_str(), world.gateway.charges()[0].charge_id);
        world.assert_no_lock_is_held().await;
    }
}

#[tokio::test]
async fn an_old_charge_that_was_never_made_fails_after_24_hours_and_not_before() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    let message = world.message(id).await;
    world.advance_clock(23 * HOUR + 59 * MINUTE);
    world.function().expect_failed(&message, "charge_undecided").await;
    assert_eq!(world.state(id).await, StateName::ChargeRequested, "an earlier request may still be running");

    world.advance_clock(2 * MINUTE);
    world.function().expect_done(&message).await;
    let intent = world.find(id).await.intent;
    let State::ChargeFailed { decline, .. } = intent.state() else { panic!("{intent:?}") };
    assert_eq!(decline.code(), "expired");
    assert_eq!((world.gateway.posts(), world.gateway.charges().len()), (0, 0));
    assert_eq!(world.unpublished().await, ["PaymentIntentChargeRequested", "PaymentIntentChargeFailed"]);
    let guard = world.store().find_guard(&order_of(id).parse().unwrap()).await.unwrap();
    assert_eq!(guard.open_intent, None, "a new intent can be created");
}

#[tokio::test]
async fn an_old_charge_that_cannot_be_looked_up_stays_requested() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    let message = world.message(id).await;
    world.advance_clock(3 * DAY);
    let gateway = Arc::new(Scripted::charged_as("ch_never").finding(|| Err(Unknown::Timeout)));
    world.function_with(gateway.clone()).expect_failed(&message, "gateway_timeout").await;
    assert_eq!((gateway.charges(), gateway.look_ups()), (0, 1));
    assert_eq!(world.state(id).await, StateName::ChargeRequested);

    let gateway = Scripted::charged_as("ch_never").finding(|| Ok(Some(ChargeId::parse("ch_1").unwrap())));
    world.function_with(Arc::new(gateway)).expect_done(&message).await;
    assert_eq!(world.state(id).await, StateName::Charged);
}
