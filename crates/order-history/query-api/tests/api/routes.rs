//! Routes, methods and health.

use embedded_dynamodb::{Disturbance, Wire};

use crate::world::{RequestBuilder, World, assert_problem, body, created};

#[tokio::test]
async fn an_unknown_route_is_404_for_any_method() {
    let api = World::create().await.open();
    for path in ["/order", "/orders/", "//orders", "", "/ORDERS", "/health/deep"] {
        for method in ["GET", "POST", "OPTIONS"] {
            let response = api.send(RequestBuilder::get(path).method(method)).await;
            assert_problem(&response, 404, "route-not-found");
        }
    }
}

#[tokio::test]
async fn a_wrong_method_is_405_with_allow() {
    let api = World::create().await.open();
    for path in ["/orders", "/orders/1", "/openapi.json", "/health"] {
        for method in ["POST", "PUT", "PATCH", "DELETE", "TRACE", "get", ""] {
            let response = api.send(RequestBuilder::get(path).method(method)).await;
            assert_problem(&response, 405, "method-not-allowed");
            assert_eq!(response.headers["allow"], "GET, HEAD, OPTIONS");
        }
    }
}

#[tokio::test]
async fn options_is_204_with_allow_and_needs_no_token() {
    let api = World::create().await.guarded();
    for path in ["/orders", "/orders/1", "/openapi.json", "/health"] {
        let response = api.send(RequestBuilder::get(path).method("OPTIONS")).await;
        assert_eq!(response.status_code, 204);
        assert_eq!(response.headers["allow"], "GET, HEAD, OPTIONS");
        assert_eq!(response.body, None);
    }
}

#[tokio::test]
async fn head_is_get_without_a_body() {
    let api = World::create().await.open();
    for path in ["/orders?consumerId=1", "/orders/1", "/orders?pageSize=0", "/openapi.json", "/health", "/none"] {
        let get = api.get(path).await;
        let mut head = api.send(RequestBuilder::get(path).method("HEAD")).await;
        assert_eq!(head.status_code, get.status_code, "{path}");
        let length = head.headers.remove("content-length");
        assert_eq!(length, get.body.map(|body| body.len().to_string()), "{path}");
        assert_eq!(head.headers, get.headers, "{path}");
        assert_eq!(head.body, None, "{path}");
    }
}

#[tokio::test]
async fn a_response_without_a_body_has_no_length() {
    let world = World::create().await;
    world.project(&[created("7", 1, 0, "A")]).await;
    let api = world.open();
    let unchanged = RequestBuilder::get("/orders/1").header("if-none-match", "*");
    for (request, status) in [(RequestBuilder::get("/orders").method("OPTIONS"), 204), (unchanged.method("HEAD"), 304)]
    {
        let response = api.send(request).await;
        assert_eq!((response.status_code, response.headers.get("content-length")), (status, None));
    }
}

#[tokio::test]
async fn the_stage_is_removed_from_the_path() {
    let api = World::create().await.open();
    let request = RequestBuilder::get("/prod/health").context("stage", "prod".into());
    assert_eq!(api.send(request).await.status_code, 200);
}

#[tokio::test]
async fn the_health_check_reads_the_table_only_if_deep_is_1() {
    let world = World::create().await;
    let wire = Wire::disturbed(|_| Disturbance::Throttle);
    let broken = world.open_over(&wire);
    assert_eq!(body(&broken.get("/health").await)["status"], "ok");
    assert_eq!(wire.requests().len(), 0);
    let response = broken.get("/health?deep=1").await;
    assert_problem(&response, 503, "unavailable");
    assert_eq!(response.headers["retry-after"], "1");
    assert_eq!(wire.requests().len(), 1);

    assert_eq!(body(&world.open().get("/health?deep=1").await)["status"], "ok");
    assert_problem(&world.open().get("/health?deep=yes").await, 400, "invalid-parameters");
}

#[tokio::test]
async fn internal_errors_are_not_shown_to_the_client() {
    let world = World::create().await;
    let store = order_store::OrderStore::new(world.engine.client(), "a-secret-table-name");
    let api = world.api(query_api::Authorization::Off, store);
    let response = api.get("/orders/1").await;
    assert_problem(&response, 500, "internal-error");
    let text = response.body.unwrap();
    for inside in ["secret", "table", "DynamoDB", "ResourceNotFound"] {
        assert!(!text.contains(inside), "{text}");
    }
}
