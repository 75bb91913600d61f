//! `ETag` and `If-None-Match`.

use crate::world::{RequestBuilder, World, authorized, created};

#[tokio::test]
async fn what_has_not_changed_is_304_until_it_has() {
    let world = World::create().await;
    world.project(&[created("7", 1, 2_000, "A")]).await;
    let desk = world.open();
    for path in ["/orders/1", "/orders?consumerId=7"] {
        let first = desk.get(path).await;
        assert_eq!(first.headers["cache-control"], "private, no-cache");
        let tag = first.headers["etag"].clone();
        let strong = tag.strip_prefix("W/").unwrap().to_owned();
        for known in [tag.clone(), strong, format!("\"other\", {tag}"), "*".to_owned()] {
            let again = desk.ask(RequestBuilder::get(path).header("if-none-match", known.as_str())).await;
            assert_eq!(again.status_code, 304, "{known}");
            assert_eq!(again.body, None);
            assert_eq!(again.headers["etag"], tag);
        }
        let other = desk.ask(RequestBuilder::get(path).header("if-none-match", "\"other\"")).await;
        assert_eq!(other.status_code, 200);
    }

    let order =
        RequestBuilder::get("/orders/1").header("if-none-match", desk.get("/orders/1").await.headers["etag"].as_str());
    let list = "/orders?consumerId=7";
    let list = RequestBuilder::get(list).header("if-none-match", desk.get(list).await.headers["etag"].as_str());
    world.project(&[authorized(1, 1_000)]).await;
    assert_eq!(desk.ask(order).await.status_code, 200);
    assert_eq!(desk.ask(list).await.status_code, 200);
}

#[tokio::test]
async fn a_late_event_that_only_adds_to_the_timeline_changes_the_tag() {
    let world = World::create().await;
    world.project(&[created("7", 1, 2_000, "A"), sample_events::story()[3].clone()]).await;
    let desk = world.open();
    world.project(&[authorized(1, 0)]).await;
    let before = desk.get("/orders/1").await.headers["etag"].clone();
    // Between the two in time, so that its status is superseded.
    let mut late = authorized(1, 1_000);
    late.payload = order_events::Payload::OrderRejected(order_events::payload::Nothing {});
    world.project(&[late]).await;
    assert_ne!(desk.get("/orders/1").await.headers["etag"], before);
}

#[tokio::test]
async fn a_problem_is_not_kept() {
    let desk = World::create().await.open();
    assert_eq!(desk.get("/orders/1").await.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn a_list_that_goes_on_keeps_its_tag_though_time_passes() {
    let world = World::create().await;
    world.project(&[created("7", 1, 1_000, "A"), created("7", 2, 2_000, "A")]).await;
    let path = "/orders?consumerId=7&pageSize=1";
    let first = world.open().get(path).await;
    assert!(first.headers.contains_key("link"));
    let again = RequestBuilder::get(path).header("if-none-match", first.headers["etag"].as_str());
    assert_eq!(world.open_later(1).ask(again).await.status_code, 304);
}
