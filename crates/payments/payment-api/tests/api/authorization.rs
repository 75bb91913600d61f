//! Who may do what.

use serde_json::{Value, json};

use crate::world::{RequestBuilder, World, change, charge};

fn post(order_id: &str, consumer_id: Option<&str>) -> RequestBuilder {
    let mut body = json!({"orderId": order_id, "amount": 100, "currency": "USD"});
    if let Some(consumer_id) = consumer_id {
        body["consumerId"] = consumer_id.into();
    }
    RequestBuilder::new("POST", "/payment-intents").key(order_id).body(&body)
}

fn ann() -> Value {
    json!({"sub": "ann"})
}

#[tokio::test]
async fn a_command_without_a_token_is_refused() {
    for (_world, api) in World::both_guarded().await {
        let id = "00000000-0000-4000-8000-000000000000";
        for request in [
            post("1", None),
            change(id, 1).key("k"),
            charge(id).key("k"),
            RequestBuilder::new("GET", &format!("/payment-intents/{id}")),
        ] {
            let refused = api.send(request).await;
            refused.expect_problem(401, "unauthenticated");
            assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
        }
        assert_eq!(api.get("/payments/health").await.status(), 200);
        assert_eq!(api.get("/payments/openapi.json").await.status(), 200);
    }
}

#[tokio::test]
async fn a_token_that_names_no_consumer_and_has_no_scope_may_do_nothing() {
    for (_world, api) in World::both_guarded().await {
        let service = json!({"client_id": "desk", "sub": "desk", "scope": "payments:read"});
        for claims in [json!({}), json!({"sub": ""}), json!({"sub": "a b"}), service] {
            api.send(post("1", None).by(&claims)).await.expect_problem(403, "forbidden");
        }
    }
}

#[tokio::test]
async fn a_consumer_can_pay_only_as_themselves() {
    for (_world, api) in World::both_guarded().await {
        let created = api.send(post("1", None).by(&ann())).await;
        assert_eq!((created.status(), created.member("consumerId")), (201, json!("ann")));
        assert_eq!(api.send(post("2", Some("ann")).by(&ann())).await.status(), 201);
        api.send(post("3", Some("bob")).by(&ann())).await.expect_problem(403, "forbidden");
    }
}

#[tokio::test]
async fn intents_of_others_are_reported_as_not_found() {
    for (world, api) in World::both_guarded().await {
        let id = api.send(post("1", None).by(&ann())).await.id();
        let bob = json!({"sub": "bob"});
        for request in [
            change(&id, 1).key("k"),
            charge(&id).key("k"),
            RequestBuilder::new("GET", &format!("/payment-intents/{id}")),
        ] {
            api.send(request.by(&bob)).await.expect_problem(404, "payment-intent-not-found");
        }
        assert_eq!(world.saga().state(&id).await, "CREATED");
    }
}

#[tokio::test]
async fn a_token_with_the_scope_acts_for_everybody() {
    for (_world, api) in World::both_guarded().await {
        for (order_id, service) in [
            ("1", json!({"client_id": "desk", "scope": "x payments:write-any"})),
            ("2", json!({"client_id": "desk", "sub": "desk", "scp": "[payments:write-any y]"})),
        ] {
            let created = api.send(post(order_id, Some("ann")).by(&service)).await;
            assert_eq!(created.status(), 201, "{created:?}");
            let charged = api.send(charge(&created.id()).key("k").by(&service)).await;
            assert_eq!(charged.status(), if api.is_locked { 200 } else { 202 });
            // A service must name the consumer: its own name is never used as a consumer's.
            let refused = api.send(post("3", None).by(&service)).await;
            refused.expect_problem(400, "invalid-request");
            assert_eq!(refused.member("errors")[0]["parameter"], "consumerId");
        }
    }
}

#[tokio::test]
async fn a_token_with_the_scope_must_name_its_client() {
    for (world, api) in World::both_guarded().await {
        for claims in [json!({}), json!({"sub": ""}), json!({"client_id": "", "sub": null})] {
            let mut claims = claims;
            claims["scope"] = "payments:write-any".into();
            let nameless = api.send(post("1", Some("ann")).by(&claims)).await;
            nameless.expect_problem(403, "forbidden");
            let detail = nameless.member("detail").as_str().unwrap().to_owned();
            assert!(detail.contains("client_id"), "{detail}");
        }
        assert!(world.intents().await.is_empty());
    }
}

#[tokio::test]
async fn a_service_and_a_consumer_of_the_same_name_are_two_callers() {
    for (_world, api) in World::both_guarded().await {
        let id = api.send(post("1", None).by(&ann())).await.id();
        let service = json!({"client_id": "ann", "scope": "payments:write-any"});
        assert!(api.send(charge(&id).key("k").by(&service)).await.status() < 300);
        // The consumer's key is another one, so the service's response is not replayed.
        api.send(charge(&id).key("k").by(&ann())).await.expect_problem(409, "wrong-state");
    }
}
