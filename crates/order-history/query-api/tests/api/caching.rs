//! `ETag` and `If-None-Match`.

use crate::world::{RequestBuilder, World, authorized, created};

#[tokio::test]
async fn an_unchanged_response_is_304() {
    let world = World::create().await;
    world.project(&[created("7", 1, 2_000, "A")]).await;
    let api = world.open();
    for path in ["/orders/1", "/orders?consumerId=7"] {
        let first = api.get(path).await;
        assert_eq!(first.headers["cache-control"], "private, no-cache");
        let tag = first.headers["etag"].clone();
        let strong = tag.strip_prefix("W/").unwrap().to_owned();
        for known in [tag.clone(), strong, format!("\"other\", {tag}"), "*".to_owned()] {
            let again = api.send(RequestBuilder::get(path).header("if-none-match", known.as_str())).await;
            assert_eq!(again.status_code, 304, "{known}");
            assert_eq!(again.body, None);
            assert_eq!(again.headers["etag"], tag);
        }
        let other = api.send(RequestBuilder::get(path).header("if-none-match", "\"other\"")).await;
        assert_eq!(other.status_code, 200);
    }

    let order =
        RequestBuilder::get("/orders/1").header("if-none-match", api.get("/orders/1").await.headers["etag"].as_str());
    let list = "/orders?consumerId=7";
    let list = RequestBuilder::get(list).header("if-none-match", api.get(list).await.headers["etag"].as_str());
    world.project(&[authorized(1, 1_000)]).await;
    assert_eq!(api.send(order).await.status_code, 200);
    assert_eq!(api.send(list).await.status_code, 200);
}

#[tokio::test]
async fn a_late_event_that_only_adds_to_the_timeline_changes_the_tag() {
    let world = World::create().await;
    world.project(&[created("7", 1, 2_000, "A"), sample_events::story()[3].clone()]).await;
    let api = world.open();
    world.project(&[authorized(1, 0)]).await;
    let before = api.get("/orders/1").await.headers["etag"].clone();
    // Its time is between the two, so a later event has already set the status.
    let mut late = authorized(1, 1_000);
    late.payload = order_events::Payload::OrderRejected(order_events::payload::Nothing {});
    world.project(&[late]).await;
    assert_ne!(api.get("/orders/1").await.headers["etag"], before);
}

#[tokio::test]
async fn a_problem_is_not_cached() {
    let api = World::create().await.open();
    assert_eq!(api.get("/orders/1").await.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn the_tag_of_a_page_does_not_change_with_time() {
    let world = World::create().await;
    world.project(&[created("7", 1, 1_000, "A"), created("7", 2, 2_000, "A")]).await;
    let path = "/orders?consumerId=7&pageSize=1";
    let first = world.open().get(path).await;
    assert!(first.headers.contains_key("link"));
    let again = RequestBuilder::get(path).header("if-none-match", first.headers["etag"].as_str());
    assert_eq!(world.open_later(1).send(again).await.status_code, 304);
}
