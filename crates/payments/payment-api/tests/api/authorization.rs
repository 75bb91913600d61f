//! Who may do what.

use serde_json::{Value, json};

use crate::world::{Ask, World, change, charge};

fn post(order_id: &str, consumer_id: Option<&str>) -> Ask {
    let mut body = json!({"orderId": order_id, "amount": 100, "currency": "USD"});
    if let Some(consumer_id) = consumer_id {
        body["consumerId"] = consumer_id.into();
    }
    Ask::new("POST", "/payment-intents").key(order_id).body(&body)
}

fn ann() -> Value {
    json!({"sub": "ann"})
}

#[tokio::test]
async fn without_a_token_nothing_is_done() {
    let world = World::create().await;
    let api = world.guarded();
    let id = "00000000-0000-4000-8000-000000000000";
    for ask in [
        post("1", None),
        change(id, 1).key("k"),
        charge(id).key("k"),
        Ask::new("GET", &format!("/payment-intents/{id}")),
    ] {
        let refused = api.send(ask).await;
        refused.expect_problem(401, "unauthenticated");
        assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    }
    assert_eq!(api.get("/payments/health").await.status(), 200);
    assert_eq!(api.get("/payments/openapi.json").await.status(), 200);
}

#[tokio::test]
async fn a_token_that_names_no_consumer_and_has_no_scope_may_do_nothing() {
    let world = World::create().await;
    for claims in [json!({}), json!({"sub": ""}), json!({"sub": "a b"}), json!({"scope": "payments:read"})] {
        world.guarded().send(post("1", None).by(&claims)).await.expect_problem(403, "forbidden");
    }
}

#[tokio::test]
async fn a_consumer_pays_for_themselves() {
    let world = World::create().await;
    let api = world.guarded();
    let created = api.send(post("1", None).by(&ann())).await;
    assert_eq!((created.status(), created.member("consumerId")), (201, json!("ann")));
    assert_eq!(api.send(post("2", Some("ann")).by(&ann())).await.status(), 201);
    api.send(post("3", Some("bob")).by(&ann())).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn intents_of_others_are_reported_as_not_found() {
    let world = World::create().await;
    let api = world.guarded();
    let id = api.send(post("1", None).by(&ann())).await.id();
    let bob = json!({"sub": "bob"});
    for ask in [change(&id, 1).key("k"), charge(&id).key("k"), Ask::new("GET", &format!("/payment-intents/{id}"))] {
        api.send(ask.by(&bob)).await.expect_problem(404, "payment-intent-not-found");
    }
    assert_eq!(world.saga().state(&id).await, "CREATED");
}

#[tokio::test]
async fn a_token_with_the_scope_acts_for_everybody() {
    let world = World::create().await;
    let api = world.guarded();
    for (order_id, scope) in
        [("1", json!({"scope": "x payments:write-any"})), ("2", json!({"scp": "[payments:write-any y]"}))]
    {
        let created = api.send(post(order_id, Some("ann")).by(&scope)).await;
        assert_eq!(created.status(), 201, "{created:?}");
        assert_eq!(api.send(charge(&created.id()).key("k").by(&scope)).await.status(), 202);
    }
    let nobody = api.send(post("3", None).by(&json!({"scope": "payments:write-any"}))).await;
    nobody.expect_problem(400, "invalid-request");
}
