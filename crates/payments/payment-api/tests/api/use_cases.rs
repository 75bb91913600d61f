//! The use cases of *Concurrency Control with DynamoDB*, in both modes.

use order_events::{EventType, Payload};
use payment_store::Settled;
use serde_json::json;

use crate::world::{Behaviour, World, change, charge, charged_as, create, declined};

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";

#[tokio::test]
async fn a_created_intent_can_be_read() {
    for (_world, api) in World::both().await {
        let created = api.send(create("99", 6_063).key("k")).await;
        assert_eq!(created.status(), 201);
        let id = created.id();
        assert_eq!(created.header("location"), Some(format!("/payment-intents/{id}").as_str()));
        assert_eq!(created.header("etag"), Some("\"1\""));
        let found = api.find(&id).await;
        assert_eq!((found.status(), found.header("etag")), (200, Some("\"1\"")));
        assert_eq!(found.0.body, created.0.body);
        let expected = json!({
            "paymentIntentId": id, "orderId": "99", "consumerId": "7", "amount": 6_063, "currency": "USD",
            "state": "CREATED", "version": 1,
            "createdAt": "2026-11-17T12:00:00.000Z", "updatedAt": "2026-11-17T12:00:00.000Z",
        });
        assert_eq!(found.body::<serde_json::Value>(), expected);
    }
}

#[tokio::test]
async fn commands_on_an_unknown_intent_are_not_found_and_write_nothing() {
    for (world, api) in World::both().await {
        api.find(UNKNOWN_ID).await.expect_problem(404, "payment-intent-not-found");
        api.send(change(UNKNOWN_ID, 1).key("a")).await.expect_problem(404, "payment-intent-not-found");
        api.send(charge(UNKNOWN_ID).key("b")).await.expect_problem(404, "payment-intent-not-found");
        assert_eq!(world.gateway.calls(), 0, "the gateway is not called");
        assert!(world.intents().await.is_empty() && world.events().await.is_empty());
        assert_eq!(world.held_locks().await, 0);
        // A 404 is not recorded.
        api.send(change(UNKNOWN_ID, 1).key("a")).await.expect_problem(404, "payment-intent-not-found");
    }
}

#[tokio::test]
async fn the_amount_of_a_created_intent_changes() {
    for (world, api) in World::both().await {
        let id = api.created("99", 100).await;
        let changed = api.send(change(&id, 250).key("k")).await;
        assert_eq!((changed.status(), changed.header("etag")), (200, Some("\"2\"")));
        assert_eq!(api.find(&id).await.member("amount"), 250);
        assert!(world.events().await.is_empty(), "only charges publish events");
        assert_eq!(world.held_locks().await, 0);
    }
}

#[tokio::test]
async fn the_amount_cannot_change_in_any_other_state() {
    for (_world, api) in World::both().await {
        for (order_id, behaviour, state) in [
            ("1", Behaviour::LoseResponse, "CHARGE_REQUESTED"),
            ("2", Behaviour::Charge, "CHARGED"),
            ("3", Behaviour::Decline, "CHARGE_FAILED"),
        ] {
            let id = api.created(order_id, 100).await;
            api.gateway.now(behaviour);
            if behaviour == Behaviour::LoseResponse {
                assert_eq!(api.send(charge(&id).key("k")).await.status(), 202);
            } else {
                api.charge_and_settle(&id, "k").await;
            }
            assert_eq!(api.state(&id).await, state);
            let refused = api.send(change(&id, 250).key("amount")).await;
            refused.expect_problem(409, "wrong-state");
            assert_eq!(refused.member("state"), state);
            assert_eq!(api.find(&id).await.member("amount"), 100);
        }
    }
}

#[tokio::test]
async fn a_successful_charge_is_stored_and_published() {
    for (world, api) in World::both().await {
        let id = api.created("99", 6_063).await;
        let charged = api.charge_and_settle(&id, "k").await;
        assert_eq!(charged.status(), if api.is_locked { 200 } else { 202 });
        let found = api.find(&id).await;
        assert_eq!((found.member("state"), found.member("version")), (json!("CHARGED"), json!(3)));
        assert_eq!(found.member("chargeId"), "ch_1");
        let events = world.events().await;
        let types: Vec<_> = events.iter().map(|message| message.event.event_type()).collect();
        assert_eq!(types, [EventType::PaymentIntentChargeRequested, EventType::PaymentIntentCharged]);
        assert!(events[0].event.id < events[1].event.id);
        assert!(events.iter().all(|message| message.event.order_id().as_str() == "99"));
        // The token names the last published event.
        let token = charged.token();
        let named = events.iter().find(|message| message.event.id == token.event_id).unwrap();
        assert_eq!((named.event.event_type(), named.event.order_id()), (token.event_type, token.order_id));
        assert_eq!(world.gateway.charged(), [6_063]);
        assert_eq!(world.held_locks().await, 0);
    }
}

#[tokio::test]
async fn after_a_failed_charge_a_new_intent_can_be_created() {
    for (world, api) in World::both().await {
        let id = api.created("99", 6_063).await;
        world.gateway.now(Behaviour::Decline);
        api.charge_and_settle(&id, "k").await;
        let found = api.find(&id).await;
        assert_eq!(found.member("state"), "CHARGE_FAILED");
        assert_eq!(
            (found.member("errorCode"), found.member("errorMessage")),
            (json!("card_declined"), json!("Your card was declined."))
        );
        let events = world.events().await;
        assert!(
            matches!(&events[1].event.payload, Payload::PaymentIntentChargeFailed(failed) if failed.amount == 6_063)
        );

        world.gateway.now(Behaviour::Charge);
        // The event ids rise from one intent to the next.
        let again = api.send(create("99", 6_063).key("again")).await;
        assert_eq!(again.status(), 201, "{again:?}");
        api.charge_and_settle(&again.id(), "k2").await;
        assert_eq!(api.state(&again.id()).await, "CHARGED");
        let of_second: Vec<_> = world
            .events()
            .await
            .into_iter()
            .filter(|message| message.event.aggregate_id.as_str() == again.id())
            .collect();
        assert!(of_second.iter().all(|message| message.event.id > events[1].event.id));
    }
}

#[tokio::test]
async fn an_order_has_at_most_one_open_intent_and_is_paid_once() {
    for (_world, api) in World::both().await {
        let id = api.created("99", 100).await;
        let second = api.send(create("99", 200).key("second")).await;
        second.expect_problem(409, "order-has-open-intent");
        assert_eq!(second.member("paymentIntentId"), id.as_str(), "a client that has lost the id can continue with it");
        api.charge_and_settle(&id, "k").await;
        api.send(create("99", 200).key("third")).await.expect_problem(409, "order-already-paid");
        assert_eq!(api.send(create("100", 200).key("other")).await.status(), 201);
    }
}

#[tokio::test]
async fn a_charge_is_requested_once() {
    for (world, api) in World::both().await {
        let id = api.created("99", 100).await;
        api.charge_and_settle(&id, "first").await;
        let calls = world.gateway.calls();
        let again = api.send(charge(&id).key("second")).await;
        again.expect_problem(409, "wrong-state");
        assert_eq!(again.member("state"), "CHARGED");
        assert_eq!(world.gateway.calls(), calls, "a charged intent is not charged again");
        assert_eq!(world.gateway.charged(), [100]);
    }
}

#[tokio::test]
async fn a_second_response_never_overwrites_the_first() {
    for (first, second) in [(charged_as("ch_1"), declined()), (declined(), charged_as("ch_1"))] {
        let world = World::create().await;
        let (api, store) = (world.saga(), world.store());
        let id = api.created("99", 100).await;
        api.send(charge(&id).key("k")).await;
        let found = api.found(&id).await;
        let release = world.take_lock(&id).await.release_with();
        assert!(matches!(store.settle(&found, first, &release).await.unwrap(), Settled::Stored(_)));
        let settled = api.find(&id).await;
        let release = world.take_lock(&id).await.release_with();
        assert_eq!(store.settle(&found, second.clone(), &release).await.unwrap(), Settled::Superseded);
        let fresh = api.found(&id).await;
        assert_eq!(store.settle(&fresh, second, &release).await.unwrap(), Settled::Superseded);
        assert_eq!(api.find(&id).await, settled);
        assert_eq!(world.events().await.len(), 2);
    }
}

#[tokio::test]
async fn of_two_concurrent_charges_one_is_made() {
    for (world, api) in World::both().await {
        let id = api.created("99", 100).await;
        let (one, other) = futures_util::join!(api.charge_and_settle(&id, "one"), api.charge_and_settle(&id, "other"));
        let mut statuses = [one.status(), other.status()];
        statuses.sort_unstable();
        assert_eq!(statuses, if api.is_locked { [200, 409] } else { [202, 409] });
        assert_eq!(world.gateway.calls(), 1, "one gateway call");
        assert_eq!(api.state(&id).await, "CHARGED");
    }
}

#[tokio::test]
async fn of_two_concurrent_changes_with_the_same_if_match_one_is_refused() {
    for (world, api) in World::both().await {
        let id = api.created("99", 100).await;
        let by_one = |amount, key: &str| api.send(change(&id, amount).key(key).header("if-match", "\"1\""));
        let (one, other) = futures_util::join!(by_one(200, "one"), by_one(300, "other"));
        let mut statuses = [one.status(), other.status()];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 412]);
        let won = if one.status() == 200 { 200 } else { 300 };
        assert_eq!(api.find(&id).await.member("amount"), won);
        assert_eq!(world.held_locks().await, 0);
    }
}

#[tokio::test]
async fn without_if_match_both_changes_take_effect_one_after_the_other() {
    for (_world, api) in World::both().await {
        let id = api.created("99", 100).await;
        let (one, other) =
            futures_util::join!(api.send(change(&id, 200).key("one")), api.send(change(&id, 300).key("other")));
        assert_eq!((one.status(), other.status()), (200, 200));
        assert_eq!(api.find(&id).await.member("version"), 3);
    }
}

#[tokio::test]
async fn a_change_is_refused_if_if_match_names_another_version() {
    for (_world, api) in World::both().await {
        let id = api.created("99", 100).await;
        for stale in ["\"2\"", "W/\"1\"", "1", ""] {
            let refused = api.send(change(&id, 200).key("stale").header("if-match", stale)).await;
            refused.expect_problem(412, "version-mismatch");
        }
        for (version, fresh) in (1..).zip(["\"1\"", "*", "\"7\", \"3\""]) {
            let changed = api.send(change(&id, 200).key(&format!("fresh-{version}")).header("if-match", fresh)).await;
            assert_eq!((changed.status(), changed.member("version")), (200, json!(version + 1)));
        }
    }
}

#[tokio::test]
async fn a_charge_is_refused_and_not_recorded_if_if_match_names_another_version() {
    for (world, api) in World::both().await {
        let id = api.created("99", 1_000).await;
        // Another session of the consumer changes the amount.
        assert_eq!(api.send(change(&id, 10_000).key("c")).await.status(), 200);
        for stale in ["\"1\"", "W/\"2\"", "\"9\""] {
            let refused = api.send(charge(&id).key("k").header("if-match", stale)).await;
            refused.expect_problem(412, "version-mismatch");
        }
        assert_eq!((world.gateway.calls(), api.state(&id).await.as_str()), (0, "CREATED"));
        let charged = api.send(charge(&id).key("k").header("if-match", "\"2\"")).await;
        assert_eq!((charged.status() < 300, charged.is_replayed()), (true, false), "{charged:?}");
        // The request itself has changed the version, and still gets the same response again.
        let again = api.send(charge(&id).key("k").header("if-match", "\"2\"")).await;
        assert!(again.is_replayed() && again.0.body == charged.0.body, "{again:?}");
    }
}
