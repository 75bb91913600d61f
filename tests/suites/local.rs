//! The scenarios on the system of `make run`, and what only it has: a restart, and a storm.
#![allow(clippy::expect_used)] // A test that cannot go on should stop there.

use end_to_end::local::{start, start_on};
use end_to_end::order::{Order, consumer};
use end_to_end::scenarios;
use end_to_end::storm::{self, Storm};
use end_to_end::system::eventually;
use order_events::EventType;

scenarios!(start);

#[tokio::test]
async fn what_was_stored_is_there_after_a_restart() {
    let system = start().await;
    let order = Order::new(&consumer(), 5);
    let path = format!("/orders/{}", order.id);
    system.publish(&order.story).await;
    let expected = order.as_told(&order.story);
    let shown = async || (system.get_as(&system.reader_token(), &path).await.body == expected).then_some(());
    eventually("the order", shown).await;

    let data = system.stop().await;
    let system = start_on(data, 4).await;
    assert_eq!(system.get_as(&system.reader_token(), &path).await.body, expected);
}

#[tokio::test]
async fn a_function_says_in_its_log_why_a_message_failed() {
    let system = start().await;
    let event_type = EventType::OrderRejected;
    system.send(event_type, &["{".to_owned()]).await;
    let logged = async || system.log(event_type).contains(r#""reason":"malformed_body""#).then_some(());
    eventually("the reason", logged).await;
}

#[tokio::test]
async fn a_storm_leaves_every_order_as_its_events_say() {
    let orders = std::env::var("STORM_ORDERS").map_or(100, |orders| orders.parse().expect("STORM_ORDERS is a number"));
    storm::weather(&Storm { orders, ..Storm::default() }).await;
}
