//! How the handler processes the gateway's responses.

use std::sync::Arc;

use embedded_dynamodb::Wire;
use payment_gateway::{Outcome, Unknown};
use payment_intents::{Decline, State, StateName};
use payment_store::{PaymentStore, Settled};

use crate::scripted::Scripted;
use crate::world::{World, order_of};

#[tokio::test]
async fn a_requested_charge_is_made_and_stored_with_its_event_and_the_lock_is_released() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    world.function().expect_done(&world.message(id).await).await;

    let [charge] = &world.gateway.charges()[..] else { panic!("one charge") };
    assert_eq!((charge.amount, &charge.payment_intent_id), (1_250, &id.to_string()));
    let intent = world.find(id).await.intent;
    let State::Charged { charge_id, requested } = intent.state() else { panic!("{intent:?}") };
    assert_eq!(charge_id.as_str(), charge.charge_id);
    assert_eq!(requested.charge_key.as_str(), charge.idempotency_key);
    assert_eq!(world.unpublished().await, ["PaymentIntentChargeRequested", "PaymentIntentCharged"]);
    world.assert_no_lock_is_held().await;
    let guard = world.store().find_guard(&order_of(id).parse().unwrap()).await.unwrap();
    assert_eq!((guard.paid_by, guard.open_intent), (Some(id), None));
}

#[tokio::test]
async fn after_a_definite_decline_the_charge_has_failed_and_the_order_accepts_a_new_intent() {
    let world = World::create().await;
    let id = world.requested(1_002).await;
    world.function().expect_done(&world.message(id).await).await;

    let intent = world.find(id).await.intent;
    let State::ChargeFailed { decline, .. } = intent.state() else { panic!("{intent:?}") };
    assert_eq!(decline.code(), "card_declined");
    assert_eq!(world.unpublished().await, ["PaymentIntentChargeRequested", "PaymentIntentChargeFailed"]);
    world.assert_no_lock_is_held().await;
    let guard = world.store().find_guard(&order_of(id).parse().unwrap()).await.unwrap();
    assert_eq!((guard.paid_by, guard.open_intent), (None, None));
}

#[tokio::test]
async fn an_unknown_outcome_never_becomes_a_failed_charge() {
    let unknown: [fn() -> Unknown; 9] = [
        || Unknown::Timeout,
        || Unknown::Unreachable("no connection".into()),
        || Unknown::Failed { status: 500 },
        || Unknown::Throttled,
        || Unknown::InProgress,
        || Unknown::KeyReused,
        || Unknown::Refused { status: 401 },
        || Unknown::Secret("no secret".into()),
        || Unknown::Unexpected { status: 302, problem: "a redirect" },
    ];
    let world = World::create().await;
    let id = world.requested(1_250).await;
    let message = world.message(id).await;
    for unknown in unknown {
        let gateway = Arc::new(Scripted::charging(move || Err(unknown())));
        world.function_with(gateway.clone()).expect_failed(&message, unknown().code()).await;
        assert_eq!(gateway.charges(), 1);
        assert_eq!(world.state(id).await, StateName::ChargeRequested, "{}", unknown().code());
        assert_eq!(world.unpublished().await, ["PaymentIntentChargeRequested"]);
        world.assert_no_lock_is_held().await;
    }
    world.function().expect_done(&message).await;
    assert_eq!(world.state(id).await, StateName::Charged);
}

#[tokio::test]
async fn a_message_for_a_settled_charge_does_not_call_the_gateway() {
    for (amount, last) in [(1_250, StateName::Charged), (1_002, StateName::ChargeFailed)] {
        let world = World::create().await;
        let id = world.requested(amount).await;
        let message = world.message(id).await;
        world.function().expect_done(&message).await;
        let (posts, settled) = (world.gateway.posts(), world.find(id).await);
        assert_eq!(settled.intent.state().name(), last);

        // Soon, and after the gateway has forgotten the key.
        for wait in [0, 25] {
            world.advance_clock(std::time::Duration::from_hours(wait));
            world.function().expect_done(&message).await;
            assert_eq!((world.gateway.posts(), world.gateway.look_ups()), (posts, 0), "the gateway was called again");
            assert_eq!(world.find(id).await, settled);
        }
        assert_eq!(world.unpublished().await.len(), 2, "one final event");
        world.assert_no_lock_is_held().await;
    }
}

#[tokio::test]
async fn a_charge_that_was_not_requested_is_not_made() {
    let world = World::create().await;
    let (requested, created) = (world.requested(1_250).await, world.created(1_250).await);
    let message = world.message(requested).await.replace(&requested.to_string(), &created.to_string());
    world.function().expect_done(&message).await;
    assert_eq!(world.gateway.posts(), 0);
    assert_eq!(world.state(created).await, StateName::Created);
    world.assert_no_lock_is_held().await;
}

#[tokio::test]
async fn a_second_response_does_not_overwrite_the_first() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    let before = world.find(id).await;
    let message = world.message(id).await;
    world.function_with(Arc::new(Scripted::charged_as("ch_first"))).expect_done(&message).await;
    let first = world.find(id).await;

    let decline = Outcome::Declined(Decline::new(None, "card_declined", None));
    let again = world.function_with(Arc::new(Scripted::charging(move || Ok(decline.clone()))));
    again.expect_done(&message).await;
    // The same for a worker that read the intent before the first response.
    let late = Outcome::Declined(Decline::new(None, "late", None));
    let lock = world.store().locks().exclusive(PaymentStore::lock_key(id)).acquire().await.unwrap().granted().unwrap();
    let settled = world.store().settle(&before, late, &lock.release_with()).await.unwrap();
    assert_eq!(settled, Settled::Superseded);
    assert_eq!(world.find(id).await, first);
    assert_eq!(world.unpublished().await.len(), 2, "one final event");
}

/// Lock, read, then settle and release. If there is nothing to do: lock, read, release.
#[tokio::test]
async fn a_charge_needs_three_requests_to_dynamodb() {
    let world = World::create().await;
    let id = world.requested(1_250).await;
    let message = world.message(id).await;
    for expected in [["UpdateItem", "GetItem", "TransactWriteItems"], ["UpdateItem", "GetItem", "UpdateItem"]] {
        let wire = Wire::watched();
        world.function_on(&wire).expect_done(&message).await;
        let operations: Vec<_> = wire.requests().into_iter().map(|request| request.operation).collect();
        assert_eq!(operations, expected);
    }
}
