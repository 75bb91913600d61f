//! Paths, methods, bodies, and the headers of responses.

use serde_json::{Value, json};

use crate::world::{RequestBuilder, World, change, charge, create};

const ID: &str = "00000000-0000-4000-8000-000000000000";

#[tokio::test]
async fn unknown_paths_are_not_found() {
    let world = World::create().await;
    let api = world.saga();
    for path in
        ["/", "/payment-intents/", "/payment-intents//charge", "/payments", "/orders", "/health", "/openapi.json"]
    {
        api.get(path).await.expect_problem(404, "route-not-found");
    }
    let deeper = format!("/payment-intents/{ID}/charge/again");
    api.get(&deeper).await.expect_problem(404, "route-not-found");
}

#[tokio::test]
async fn other_methods_are_refused_and_the_response_lists_the_allowed_ones() {
    let world = World::create().await;
    let api = world.saga();
    let intent = format!("/payment-intents/{ID}");
    let cases = [
        ("GET", "/payment-intents".to_owned(), "POST, OPTIONS"),
        ("PUT", intent.clone(), "GET, HEAD, PATCH, OPTIONS"),
        ("DELETE", intent.clone(), "GET, HEAD, PATCH, OPTIONS"),
        ("GET", format!("{intent}/charge"), "POST, OPTIONS"),
        ("POST", "/payments/health".to_owned(), "GET, HEAD, OPTIONS"),
    ];
    for (method, path, allow) in cases {
        let refused = api.send(RequestBuilder::new(method, &path)).await;
        refused.expect_problem(405, "method-not-allowed");
        assert_eq!(refused.header("allow"), Some(allow));
        let options = api.send(RequestBuilder::new("OPTIONS", &path)).await;
        assert_eq!((options.status(), options.header("allow")), (204, Some(allow)));
    }
    assert_eq!(api.send(RequestBuilder::new("OPTIONS", "/payment-intents/no-id")).await.status(), 400);
}

#[tokio::test]
async fn the_stage_is_removed_from_the_path() {
    let world = World::create().await;
    let mut request = RequestBuilder::new("GET", "/prod/payments/health");
    request.0["requestContext"]["stage"] = "prod".into();
    assert_eq!(world.saga().send(request).await.status(), 200);
}

#[tokio::test]
async fn one_response_lists_every_mistake_of_a_body() {
    let world = World::create().await;
    let api = world.saga();
    let body = json!({"orderId": 99, "amount": "12", "currency": "usd", "consumerId": true, "tip": 5});
    let refused = api.send(create("99", 1).body(&body).key("k")).await;
    refused.expect_problem(400, "invalid-request");
    let errors: Vec<Value> = serde_json::from_value(refused.member("errors")).unwrap();
    let mut named: Vec<_> = errors.iter().map(|error| error["parameter"].as_str().unwrap()).collect();
    named.sort_unstable();
    assert_eq!(named, ["amount", "consumerId", "currency", "orderId", "tip"]);
    assert!(errors.iter().all(|error| error["in"] == "body"));
}

#[tokio::test]
async fn invalid_bodies_are_refused() {
    let world = World::create().await;
    let api = world.saga();
    for text in ["", "{", "null", "[]", "\"text\"", "7", "{\"amount\":1}{}"] {
        let refused = api.send(change(ID, 1).text(text).key("k")).await;
        refused.expect_problem(400, "invalid-request");
    }
    for amount in [json!(0), json!(-1), json!(1.5), json!("1"), json!(null), json!(100_000_000), json!(1e30)] {
        let refused = api.send(change(ID, 1).body(&json!({"amount": amount})).key("k")).await;
        refused.expect_problem(400, "invalid-request");
    }
    for text in ["{\"amount\": 1}", "[]", "x"] {
        api.send(charge(ID).text(text).key("k")).await.expect_problem(400, "invalid-request");
    }
    api.send(charge(ID).text(" {} ").key("k")).await.expect_problem(404, "payment-intent-not-found");
}

#[tokio::test]
async fn a_repeated_member_is_refused() {
    let world = World::create().await;
    let api = world.saga();
    let requests = [
        change(ID, 1).text(r#"{"amount":100,"amount":1}"#),
        change(ID, 1).text(r#"{"amount":1,"\u0061mount":1}"#),
        create("99", 1).text(r#"{"orderId":"99","amount":100,"currency":"USD","consumerId":"7","amount":100}"#),
    ];
    for request in requests {
        let refused = api.send(request.key("k")).await;
        refused.expect_problem(400, "invalid-request");
        let mistake = &refused.member("errors")[0];
        assert_eq!((&mistake["parameter"], &mistake["detail"]), (&json!("amount"), &json!("must not be repeated")));
    }
    assert!(world.intents().await.is_empty());
}

#[tokio::test]
async fn a_body_may_be_base64() {
    let world = World::create().await;
    let mut request = create("99", 1)
        .key("k")
        .text("eyJvcmRlcklkIjoiOTkiLCJhbW91bnQiOjYwNjMsImN1cnJlbmN5IjoiVVNEIiwiY29uc3VtZXJJZCI6IjcifQ==");
    request.0["isBase64Encoded"] = true.into();
    let created = world.saga().send(request.clone()).await;
    assert_eq!((created.status(), created.member("amount")), (201, json!(6_063)));
    request.0["body"] = "/w==".into();
    world.saga().send(request).await.expect_problem(400, "invalid-request");
}

#[tokio::test]
async fn unknown_query_parameters_are_refused() {
    let world = World::create().await;
    let refused = world.saga().get(&format!("/payment-intents/{ID}?verbose=1")).await;
    refused.expect_problem(400, "invalid-request");
}

#[tokio::test]
async fn an_unchanged_intent_is_not_sent_again() {
    let world = World::create().await;
    let api = world.saga();
    let id = api.created("99", 100).await;
    let path = format!("/payment-intents/{id}");
    let unchanged = api.send(RequestBuilder::new("GET", &path).header("if-none-match", "\"1\"")).await;
    assert_eq!((unchanged.status(), unchanged.0.body.as_deref()), (304, None));
    assert_eq!(unchanged.header("etag"), Some("\"1\""));
    assert_eq!(unchanged.header("vary"), Some("Authorization"));
    api.send(change(&id, 200).key("k")).await;
    assert_eq!(api.send(RequestBuilder::new("GET", &path).header("if-none-match", "\"1\"")).await.status(), 200);
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    let world = World::create().await;
    let api = world.saga();
    let id = api.created("99", 100).await;
    let path = format!("/payment-intents/{id}");
    let (get, head) = (api.get(&path).await, api.send(RequestBuilder::new("HEAD", &path)).await);
    assert_eq!((head.status(), head.0.body.as_deref()), (200, None));
    assert_eq!(head.header("content-length"), Some(get.0.body.unwrap().len().to_string().as_str()));
}

#[tokio::test]
async fn responses_to_commands_are_not_cached() {
    let world = World::create().await;
    let api = world.saga();
    let created = api.send(create("99", 100).key("k")).await;
    assert_eq!(created.header("cache-control"), Some("no-store"));
    assert_eq!(created.header("content-type"), Some("application/json"));
    let refused = api.send(create("99", 100).key("l")).await;
    assert_eq!(refused.header("cache-control"), Some("no-store"));
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
}
