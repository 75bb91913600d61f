//! Authorization.

use query_api::{Authorization, Response};
use serde_json::{Value, json};

use crate::world::{RequestBuilder, World, assert_problem, body, created, ids};

/// Orders 1 and 3 belong to consumer 7, order 2 to consumer 8.
async fn world() -> World {
    let world = World::create().await;
    world.project(&[created("7", 1, 1_000, "A"), created("8", 2, 2_000, "A"), created("7", 3, 3_000, "A")]).await;
    world
}

fn consumer(id: &str) -> Value {
    json!({ "sub": id })
}

#[tokio::test]
async fn a_consumer_sees_their_own_orders_without_the_parameter_consumer_id() {
    let api = world().await.guarded();
    for path in ["/orders", "/orders?consumerId=7"] {
        let response = api.send(RequestBuilder::get(path).claims(consumer("7"))).await;
        assert_eq!(ids(&[body(&response)]), ["1", "3"]);
    }
    let response = api.send(RequestBuilder::get("/orders/1").claims(consumer("7"))).await;
    assert_eq!(body(&response)["orderId"], "1");
}

#[tokio::test]
async fn nothing_of_another_consumer_is_shown() {
    let world = world().await;
    let api = world.guarded();
    let of_8 =
        RequestBuilder::get("/orders?pageSize=1&since=0").claims(json!({"sub": "8", "scope": "orders:read-any"}));
    let of_8_for_7 = {
        let page = api.send(of_8).await;
        assert_eq!(body(&page)["startKey"], Value::Null, "consumer 8 has one order, so the list has no page token");
        world.project(&[created("8", 4, 4_000, "A")]).await;
        let page = api.send(RequestBuilder::get("/orders?pageSize=1&since=0").claims(consumer("8"))).await;
        body(&page)["startKey"].as_str().unwrap().to_owned()
    };
    let token_of_2 = order_events::ConsistencyToken {
        event_type: order_events::EventType::OrderCreated,
        event_id: created("8", 2, 2_000, "A").id,
        order_id: "2".parse().unwrap(),
    }
    .to_string();

    let attempts: [(&str, RequestBuilder, u16, &str); 13] = [
        (
            "an order of another consumer",
            RequestBuilder::get("/orders/2").claims(consumer("7")),
            404,
            "order-not-found",
        ),
        (
            "the list of another consumer",
            RequestBuilder::get("/orders?consumerId=8").claims(consumer("7")),
            403,
            "forbidden",
        ),
        (
            "a page token of another consumer in the caller's list",
            RequestBuilder::get(&format!("/orders?since=0&startKey={of_8_for_7}")).claims(consumer("7")),
            400,
            "invalid-parameters",
        ),
        (
            "a page token of another consumer in that consumer's list",
            RequestBuilder::get(&format!("/orders?consumerId=8&since=0&startKey={of_8_for_7}")).claims(consumer("7")),
            403,
            "forbidden",
        ),
        (
            "an order of another consumer by its consistency token",
            RequestBuilder::get("/orders/2").claims(consumer("7")).header("consistency-token", token_of_2.as_str()),
            412,
            "not-yet-seen",
        ),
        (
            "an order of another consumer in the caller's list, by its consistency token",
            RequestBuilder::get("/orders").claims(consumer("7")).header("consistency-token", token_of_2.as_str()),
            412,
            "not-yet-seen",
        ),
        ("an order without a token", RequestBuilder::get("/orders/1"), 401, "unauthenticated"),
        ("a list without a token", RequestBuilder::get("/orders?consumerId=7"), 401, "unauthenticated"),
        ("a token without a consumer", RequestBuilder::get("/orders/1").claims(json!({"aud": "x"})), 403, "forbidden"),
        ("an empty consumer", RequestBuilder::get("/orders?consumerId=7").claims(consumer("")), 403, "forbidden"),
        (
            "scopes that only look similar",
            RequestBuilder::get("/orders/2")
                .claims(json!({"sub": "7", "scope": "orders:read-any-thing xorders:read-any"})),
            404,
            "order-not-found",
        ),
        (
            "the scopes that the route requires",
            RequestBuilder::get("/orders/2")
                .context("authorizer", json!({"jwt": {"claims": {"sub": "7"}, "scopes": ["orders:read-any"]}})),
            404,
            "order-not-found",
        ),
        (
            "a header with the scope",
            RequestBuilder::get("/orders/2").claims(consumer("7")).header("scope", "orders:read-any"),
            404,
            "order-not-found",
        ),
    ];
    for (what, request, status, kind) in attempts {
        for method in ["GET", "HEAD"] {
            let response = api.send(request.clone().method(method)).await;
            assert_eq!(response.status_code, status, "{what}");
            assert_reveals_nothing(&response, what);
        }
        assert_problem(&api.send(request).await, status, kind);
    }
}

#[track_caller]
fn assert_reveals_nothing(response: &Response, what: &str) {
    let text = response.body.clone().unwrap_or_default();
    assert!(!text.contains("restaurant") && !text.contains("Soup"), "{what}: {text}");
    assert!(!response.headers.contains_key("etag"), "{what}");
}

#[tokio::test]
async fn an_order_of_another_consumer_gets_the_same_response_as_an_unknown_order() {
    let api = world().await.guarded();
    let unknown = api.send(RequestBuilder::get("/orders/12345").claims(consumer("7"))).await;
    let anothers = api.send(RequestBuilder::get("/orders/2").claims(consumer("7"))).await;
    assert_eq!(unknown, anothers);
}

#[tokio::test]
async fn a_caller_with_the_scope_read_any_sees_all_orders() {
    let api = world().await.guarded();
    let operators = [
        json!({"scope": "openid orders:read-any"}),
        json!({"sub": "7", "scope": "orders:read-any"}),
        json!({"scp": "[openid orders:read-any]"}),
        json!({"scope": "[orders:read-any]"}),
    ];
    for claims in operators {
        let response = api.send(RequestBuilder::get("/orders/2").claims(claims.clone())).await;
        assert_eq!(body(&response)["orderId"], "2");
        let response = api.send(RequestBuilder::get("/orders?consumerId=8").claims(claims)).await;
        assert_eq!(ids(&[body(&response)]), ["2"]);
    }
    let whose = api.send(RequestBuilder::get("/orders").claims(json!({"scope": "orders:read-any"}))).await;
    assert_problem(&whose, 400, "invalid-parameters");
}

#[tokio::test]
async fn the_claim_with_the_consumers_id_is_configurable() {
    let world = world().await;
    let authorization = Authorization::Jwt { consumer_id_claim: "custom:consumerId".to_owned() };
    let api = world.api(authorization, world.store.clone());
    let claims = json!({"sub": "8", "custom:consumerId": 7});
    let response = api.send(RequestBuilder::get("/orders").claims(claims)).await;
    assert_eq!(ids(&[body(&response)]), ["1", "3"]);
}

#[tokio::test]
async fn a_401_says_how_to_authenticate() {
    let response = world().await.guarded().get("/orders").await;
    assert_eq!(response.headers["www-authenticate"], "Bearer");
}

#[tokio::test]
async fn health_and_contract_need_no_token() {
    let api = world().await.guarded();
    for path in ["/health", "/health?deep=1", "/openapi.json"] {
        assert_eq!(api.get(path).await.status_code, 200, "{path}");
    }
}
