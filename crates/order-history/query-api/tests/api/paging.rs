//! Paging: every order is on exactly one page.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use futures_util::stream;
use serde_json::json;

use crate::world::{RequestBuilder, World, authorized, body, created, ids};

const DAY: u64 = 24 * 60 * 60 * 1_000;

/// A thousand orders, one per minute. Every third is approved, every seventh is from another restaurant.
async fn world_with_1000_orders() -> World {
    let world = World::create().await;
    let restaurant = |n: u64| if n.is_multiple_of(7) { "Zur Krone" } else { "Ajanta" };
    let mut events = Vec::new();
    for n in 1..=1_000 {
        events.push(created("7", n, n * 60_000, restaurant(n)));
        if n.is_multiple_of(3) {
            events.push(authorized(n, n * 60_000));
        }
    }
    seed(&world, &events).await;
    world
}

async fn seed(world: &World, events: &[order_events::Event]) {
    let writes = stream::iter(events).map(|event| world.store.apply(event)).buffer_unordered(8);
    writes.for_each(|applied| async move { assert!(applied.is_ok(), "{applied:?}") }).await;
}

#[tokio::test]
async fn every_order_is_on_exactly_one_page_while_new_orders_are_created() {
    let world = world_with_1000_orders().await;
    let api = world.open();
    let matching =
        |keep: fn(u64) -> bool| -> Vec<String> { (1..=1_000).filter(|n| keep(*n)).map(|n| n.to_string()).collect() };
    let lists = [
        ("pageSize=100", matching(|_| true)),
        ("pageSize=7", matching(|_| true)),
        ("pageSize=20&status=APPROVED", matching(|n| n % 3 == 0)),
        ("pageSize=20&status=CANCELLED", Vec::new()),
        ("pageSize=20&keywords=KRONE", matching(|n| n % 7 == 0)),
        ("pageSize=20&keywords=krone&keywords=nothing", matching(|n| n % 7 == 0)),
        ("pageSize=20&keywords=krone&keywords=ajanta", matching(|_| true)),
        ("pageSize=20&keywords=krone&status=APPROVED", matching(|n| n % 21 == 0)),
        ("pageSize=20&since=2026-03-01T20:00:00Z", matching(|n| n < 240)),
    ];
    let mut newer = 10_000;
    for (list, expected) in lists {
        let list = format!("/orders?consumerId=7&{list}");
        let pages = api
            .walk(&list, async || {
                newer += 1;
                // Newer than all others, so it belongs before the first page.
                world
                    .project(&[created("7", newer, 50_000 - (newer - 10_000), "Zur Krone"), authorized(newer, 0)])
                    .await;
            })
            .await;
        let found: Vec<_> = ids(&pages).into_iter().filter(|id| id.parse::<u64>().unwrap() <= 1_000).collect();
        assert_eq!(found, expected, "{list}: newest first, each order once");
        let all = ids(&pages);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{list}: an order is repeated");
    }
}

#[tokio::test]
async fn orders_of_the_same_millisecond_are_on_exactly_one_page() {
    let world = World::create().await;
    let events: Vec<_> = (1..=50).map(|n| created("7", n, DAY, "Ajanta")).collect();
    seed(&world, &events).await;
    for page_size in [1, 7, 49, 50, 51] {
        let pages = world.open().walk(&format!("/orders?consumerId=7&pageSize={page_size}"), async || {}).await;
        let found: BTreeSet<u64> = ids(&pages).iter().map(|id| id.parse().unwrap()).collect();
        assert_eq!(found, (1..=50).collect(), "pageSize {page_size}");
        assert_eq!(ids(&pages).len(), 50, "pageSize {page_size}: an order is repeated");
    }
}

#[tokio::test]
async fn one_order_in_five_thousand_is_found_and_each_request_stays_within_its_read_budget() {
    let world = World::create().await;
    let restaurant = |n| if n == 4_321 { "Zum Einhorn" } else { "Ajanta" };
    let events: Vec<_> = (1..=5_000).map(|n| created("7", n, n * 1_000, restaurant(n))).collect();
    seed(&world, &events).await;
    let pages = world.open().walk("/orders?consumerId=7&keywords=einhorn", async || {}).await;
    assert_eq!(ids(&pages), ["4321"]);
    assert!(
        (5..=6).contains(&pages.len()),
        "1,000 orders are read for each page, and perhaps one more page at the end"
    );
}

#[tokio::test]
async fn a_consumer_without_orders_has_an_empty_list() {
    let world = World::create().await;
    assert_eq!(world.open().json("/orders?consumerId=nobody").await, json!({"orders": []}));
}

#[tokio::test]
async fn the_last_page_has_no_start_key() {
    let world = World::create().await;
    let events: Vec<_> = (1..=40).map(|n| created("7", n, n * 1_000, "Ajanta")).collect();
    seed(&world, &events).await;
    let pages = world.open().walk("/orders?consumerId=7", async || {}).await;
    let sizes: Vec<_> = pages.iter().map(|page| page["orders"].as_array().unwrap().len()).collect();
    assert_eq!(sizes, [20, 20], "no empty page at the end");
}

#[tokio::test]
async fn the_link_leads_to_the_next_page() {
    let world = World::create().await;
    let events: Vec<_> = (1..=3).map(|n| created("7", n, n * 1_000, "Ajanta")).collect();
    seed(&world, &events).await;
    let api = world.open();
    let first = api.get("/orders?consumerId=7&keywords=AJANTA&pageSize=2").await;
    let link = &first.headers["link"];
    let next = link.strip_prefix('<').and_then(|link| link.strip_suffix(r#">; rel="next""#)).unwrap();
    let second = api.get(&format!("/orders{next}")).await;
    assert_eq!(ids(&[body(&second)]), ["3"]);
    assert!(!second.headers.contains_key("link"));
}

#[tokio::test]
async fn the_link_repeats_the_clients_query_string() {
    let world = World::create().await;
    let events: Vec<_> = (1..=3).map(|n| created("7", n, n * 1_000, "Crème (brûlée)")).collect();
    seed(&world, &events).await;
    let api = world.open();
    let query = "consumerId=7&since=2026-03-01T12:00:00Z&keywords=cr%c3%a8me+!*'(),;:@/?$&keywords=%62r%C3%BBl%C3%A9e&pageSize=1";
    let first = api.get(&format!("/orders?{query}")).await;
    let start_key = |response: &query_api::Response| body(response)["startKey"].as_str().unwrap().to_owned();
    assert_eq!(first.headers["link"], format!("<?{query}&startKey={}>; rel=\"next\"", start_key(&first)));
    // Also from page to page, even if `startKey` is encoded.
    let second = api.get(&format!("/orders?start%4Bey={}&&{query}", start_key(&first))).await;
    assert_eq!(second.headers["link"], format!("<?{query}&startKey={}>; rel=\"next\"", start_key(&second)));
    assert_ne!(start_key(&first), start_key(&second));
}

#[tokio::test]
async fn a_link_that_is_too_long_is_left_out() {
    let world = World::create().await;
    let events: Vec<_> = (1..=2).map(|n| created("7", n, n * 1_000, "Soup")).collect();
    seed(&world, &events).await;
    for (bars, is_linked) in [(1_000, true), (5_000, false)] {
        let page =
            world.open().get(&format!("/orders?consumerId=7&pageSize=1&keywords=soup{}", "|".repeat(bars))).await;
        assert_eq!(page.headers.contains_key("link"), is_linked, "{bars}");
        assert!(body(&page)["startKey"].is_string(), "{bars}");
    }
}

#[tokio::test]
async fn the_link_is_valid_for_any_query_string() {
    let world = World::create().await;
    let events: Vec<_> = (1..=2).map(|n| created("a>b\"", n, n * 1_000, "Crème")).collect();
    seed(&world, &events).await;
    let api = world.open();
    let first = api.get("/orders?consumerId=a>b\"&keywords=crème&pageSize=1&start%4Bey=").await;
    assert_eq!(first.status_code, 400, "an empty startKey is invalid");
    let first = api.get("/orders?consumerId=a>b\"&keywords=crème&pageSize=1").await;
    let link = &first.headers["link"];
    assert!(link.is_ascii(), "{link}");
    let next = link.strip_prefix('<').and_then(|link| link.strip_suffix(r#">; rel="next""#)).unwrap();
    assert!(!next.contains(['<', '>', '"', ' ']), "{next}");
    assert_eq!(ids(&[body(&api.get(&format!("/orders{next}")).await)]), ["2"]);
}

#[tokio::test]
async fn the_default_since_is_thirty_days_before_the_first_page() {
    let world = World::create().await;
    let events = [created("7", 1, DAY, "A"), created("7", 2, 30 * DAY - 1, "A"), created("7", 3, 30 * DAY, "A")];
    seed(&world, &events).await;
    let api = world.open();
    assert_eq!(ids(&[api.json("/orders?consumerId=7").await]), ["1", "2"], "since is exclusive");
    assert_eq!(ids(&[api.json("/orders?consumerId=7&since=0").await]), ["1", "2", "3"]);

    // One minute later, order 2 is older than 30 days. The second page still contains it.
    let first = api.json("/orders?consumerId=7&pageSize=1").await;
    let start_key = first["startKey"].as_str().unwrap();
    let later = world.open_later(60_000);
    let second = later.json(&format!("/orders?consumerId=7&pageSize=1&startKey={start_key}")).await;
    assert_eq!(ids(&[second]), ["2"]);
    assert_eq!(ids(&[later.json("/orders?consumerId=7").await]), ["1"]);
}

#[tokio::test]
async fn the_page_size_may_change_from_page_to_page() {
    let world = World::create().await;
    let events: Vec<_> = (1..=5).map(|n| created("7", n, n * 1_000, "Ajanta")).collect();
    seed(&world, &events).await;
    let api = world.open();
    let first = api.json("/orders?consumerId=7&pageSize=1").await;
    let start_key = first["startKey"].as_str().unwrap();
    let request = RequestBuilder::get(&format!("/orders?consumerId=7&pageSize=50&startKey={start_key}"));
    assert_eq!(ids(&[body(&api.send(request).await)]), ["2", "3", "4", "5"]);
}
