//! A race between a charge and a change of amount.

use std::collections::BTreeMap;

use order_events::Payload;

use crate::world::{TestApi, World, change};

/// Lets other tasks run first.
async fn yield_to_others(times: u32) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

/// Runs the race this many times. Returns how often the change took effect before the charge, and how often it was refused.
async fn race(world: &World, api: &TestApi, times: usize) -> (usize, usize) {
    let mut random = 7_u32;
    let (mut before, mut after) = (0, 0);
    let mut amounts = BTreeMap::new();
    for turn in 0..times {
        let id = api.created(&turn.to_string(), 100).await;
        let mut pause = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % 24
        };
        let (charge_pause, change_pause) = (pause(), pause());
        let charging = async {
            yield_to_others(charge_pause).await;
            api.charge_and_settle(&id, "charge").await
        };
        let changing = async {
            yield_to_others(change_pause).await;
            api.send(change(&id, 250).key("change")).await
        };
        let (charged, changed) = futures_util::join!(charging, changing);
        assert_eq!(charged.status(), if api.is_locked { 200 } else { 202 }, "{charged:?}");
        let found = api.find(&id).await;
        assert_eq!(found.member("state"), "CHARGED");
        if changed.status() == 200 {
            before += 1;
            assert_eq!(found.member("amount"), 250);
        } else {
            changed.expect_problem(409, "wrong-state");
            after += 1;
            assert_eq!(found.member("amount"), 100);
        }
        amounts.insert(id, found.member("amount").as_i64().unwrap());
    }
    // The stored amount was charged, and the events have the same amount.
    let requests = world.gateway.requests.lock().unwrap().clone();
    assert_eq!(requests.len(), times, "one gateway call each");
    for request in requests {
        assert_eq!(request.amount.minor_units(), amounts[&request.payment_intent_id.to_string()]);
    }
    for message in world.events().await {
        let published = match &message.event.payload {
            Payload::PaymentIntentChargeRequested(requested) => requested.amount,
            Payload::PaymentIntentCharged(charged) => charged.amount,
            other => panic!("unexpected {other:?}"),
        };
        assert_eq!(published, amounts[message.event.aggregate_id.as_str()]);
    }
    (before, after)
}

#[tokio::test]
async fn a_charge_and_a_change_of_amount_race_1000_times_and_the_stored_amount_is_charged() {
    let world = World::create().await;
    let (before, after) = race(&world, &world.saga(), 1_000).await;
    assert!(before > 0 && after > 0, "both outcomes occur: {before} and {after}");
}

#[tokio::test]
async fn under_the_lock_a_charge_and_a_change_of_amount_race_200_times_and_the_stored_amount_is_charged() {
    let world = World::create().await;
    let (before, after) = race(&world, &world.locked(), 200).await;
    assert!(before > 0 && after > 0, "both outcomes occur: {before} and {after}");
}
