//! The scenarios. Each runs on every system; [`scenarios!`](crate::scenarios) makes them tests.

use order_events::EventType;
use serde_json::{Value, json};

use crate::order::{Order, PublishedEvent, consumer};
pub use crate::payments::{
    a_consumer_can_pay_only_for_themselves, a_consumer_pays_for_an_order_and_its_history_shows_it,
    a_declined_payment_can_be_tried_again, every_fault_of_the_gateway_ends_in_one_charge,
};
use crate::system::{ApiResponse, Environment, System, eventually, list};

/// Makes every scenario a test on the system that `$start` starts.
#[macro_export]
macro_rules! scenarios {
    ($start:path) => {
        $crate::scenarios! {
            $start:
            an_order_has_the_same_result_for_any_sequence_and_any_duplicates,
            an_order_is_not_found_before_it_is_created,
            a_history_has_every_order_once_and_the_newest_first,
            a_client_can_read_its_own_write,
            a_consumer_sees_only_their_own_orders,
            a_bad_message_blocks_no_other_and_is_kept_unchanged,
            failed_events_are_projected_after_a_redrive,
            a_consumer_pays_for_an_order_and_its_history_shows_it,
            a_declined_payment_can_be_tried_again,
            every_fault_of_the_gateway_ends_in_one_charge,
            a_consumer_can_pay_only_for_themselves,
        }
    };
    ($start:path: $($scenario:ident),* $(,)?) => {
        $(#[tokio::test] async fn $scenario() { $crate::scenario::$scenario(&$start().await).await; })*
    };
}

/// All events, the last first, each twice.
pub async fn an_order_has_the_same_result_for_any_sequence_and_any_duplicates(system: &System<impl Environment>) {
    let order = Order::new(&consumer(), 5);
    let backwards: Vec<_> = order.story.iter().rev().cloned().collect();
    system.publish(&backwards).await;
    system.publish(&order.story).await;
    assert_is_shown(system, &order, &order.story).await;
}

/// An order without `OrderCreated` is not found. After `OrderCreated` it has all its events.
pub async fn an_order_is_not_found_before_it_is_created(system: &System<impl Environment>) {
    let order = Order::new(&consumer(), 5);
    let (created, rest): (Vec<_>, Vec<_>) =
        order.story.iter().cloned().partition(|published| published.event.event_type() == EventType::OrderCreated);
    system.publish(&rest).await;
    let stored = async || (system.waiting_in_all().await == 0).then_some(());
    eventually("the queues to be empty", stored).await;
    assert_eq!(find(system, &order).await.status, 404);

    system.publish(&created).await;
    assert_is_shown(system, &order, &order.story).await;
}

/// Reads two and a half pages with their start keys; then filters.
pub async fn a_history_has_every_order_once_and_the_newest_first(system: &System<impl Environment>) {
    let consumer = consumer();
    let orders: Vec<_> = (0..25).map(|minutes_ago| Order::new(&consumer, minutes_ago)).collect();
    let mut published: Vec<_> = orders.iter().map(|order| order.event(EventType::OrderCreated).clone()).collect();
    published.push(orders[7].event(EventType::OrderCancelled).clone());
    system.publish(&published).await;
    for order in &orders {
        eventually("the order", async || (find(system, order).await.status == 200).then_some(())).await;
    }

    let token = system.consumer_token(&consumer);
    let mut shown = Vec::new();
    let mut start_key = None::<String>;
    loop {
        let mut parameters = vec![("pageSize", "10")];
        parameters.extend(start_key.as_deref().map(|start_key| ("startKey", start_key)));
        let page = system.get_as(&token, &list(&parameters)).await;
        assert_eq!(page.status, 200, "{page:?}");
        shown.extend(ids(&page));
        match page.body["startKey"].as_str() {
            Some(next) => start_key = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(shown, orders.iter().map(|order| order.id.to_string()).collect::<Vec<_>>());

    let cancelled = async || {
        let page = system.get_as(&token, &list(&[("status", "CANCELLED"), ("keywords", "VINDALOO")])).await;
        (ids(&page) == [orders[7].id.to_string()]).then_some(())
    };
    eventually("the only cancelled order", cancelled).await;
}

/// A query waits for the event of a consistency token.
pub async fn a_client_can_read_its_own_write(system: &System<impl Environment>) {
    let order = Order::new(&consumer(), 1);
    let bearer = format!("Bearer {}", system.consumer_token(&order.consumer_id));
    let consistency_token = order.token(EventType::OrderAuthorized);
    let headers = [("authorization", bearer.as_str()), ("consistency-token", &consistency_token)];
    let path = format!("/orders/{}", order.id);
    assert_eq!(system.get(&path, &headers).await.status, 412);

    let published =
        [EventType::OrderCreated, EventType::OrderAuthorized].map(|event_type| order.event(event_type).clone());
    system.publish(&published).await;
    let patient = [headers[0], headers[1], ("prefer", "wait=10")];
    let seen = async || {
        let response = system.get(&path, &patient).await;
        (response.status != 412).then_some(response)
    };
    let seen = eventually("the authorized order", seen).await;
    assert_eq!((seen.status.as_u16(), seen.body), (200, order.expected_json(&published)));
    let page = system.get("/orders", &patient).await;
    assert_eq!(ids(&page), [order.id.to_string()]);
}

/// Requests of another consumer, and without a token.
pub async fn a_consumer_sees_only_their_own_orders(system: &System<impl Environment>) {
    let order = Order::new(&consumer(), 5);
    let created = [order.event(EventType::OrderCreated).clone()];
    system.publish(&created).await;
    assert_is_shown(system, &order, &created).await;
    let (one, all) = (format!("/orders/{}", order.id), list(&[("consumerId", &order.consumer_id)]));

    let theirs = system.consumer_token(&order.consumer_id);
    assert_eq!(system.get_as(&theirs, &one).await.body, order.expected_json(&created));
    assert_eq!(ids(&system.get_as(&theirs, &all).await), [order.id.to_string()]);

    let anothers = system.consumer_token(&consumer());
    assert_eq!(system.get_as(&anothers, &one).await.status, 404);
    assert_eq!(system.get_as(&anothers, &all).await.status, 403);
    assert!(ids(&system.get_as(&anothers, "/orders").await).is_empty());

    for path in [&one, &all] {
        assert_eq!(system.get(path, &[]).await.status, 401);
    }
}

/// Messages that can never be projected, among good ones.
pub async fn a_bad_message_blocks_no_other_and_is_kept_unchanged(system: &System<impl Environment>) {
    let event_type = EventType::TicketAccepted;
    let order = Order::new(&consumer(), 5);
    let wrong_type = order.event(EventType::TicketCreated).body.clone();
    let mut bad = vec!["{".to_owned(), json!({"payload": "{}", "headers": {}}).to_string(), wrong_type];
    system.send(event_type, &bad).await;
    let published = [order.event(EventType::OrderCreated).clone(), order.event(event_type).clone()];
    system.publish(&published).await;
    assert_is_shown(system, &order, &published).await;

    let mut dead = system.dead_letters(event_type, bad.len()).await;
    dead.sort();
    bad.sort();
    assert_eq!(dead, bad);
    let empty = async || (system.waiting(event_type).await == 0).then_some(());
    eventually("the queue to be empty", empty).await;
}

/// Events that arrive while their function cannot work.
pub async fn failed_events_are_projected_after_a_redrive(system: &System<impl Environment>) {
    let event_type = EventType::DeliveryDelivered;
    let order = Order::new(&consumer(), 5);
    let created = [order.event(EventType::OrderCreated).clone()];
    system.publish(&created).await;
    assert_is_shown(system, &order, &created).await;

    Environment::break_function(system, event_type).await;
    let delivered = order.event(event_type).clone();
    system.publish(std::slice::from_ref(&delivered)).await;
    system.dead_letters(event_type, 1).await;
    assert_eq!(find(system, &order).await.body, order.expected_json(&created), "the event is not projected yet");

    Environment::repair_function(system, event_type).await;
    system.redrive(event_type).await;
    assert_is_shown(system, &order, &[created[0].clone(), delivered]).await;
}

async fn find(system: &System<impl Environment>, order: &Order) -> ApiResponse {
    system.get_as(&system.reader_token(), &format!("/orders/{}", order.id)).await
}

/// Waits until the API shows an order with these events.
async fn assert_is_shown(system: &System<impl Environment>, order: &Order, events: &[PublishedEvent]) {
    let expected = order.expected_json(events);
    let shown = async || (find(system, order).await.body == expected).then_some(());
    eventually(&format!("the order to be {expected}"), shown).await;
}

fn ids(page: &ApiResponse) -> Vec<String> {
    let orders = page.body["orders"].as_array().unwrap_or_else(|| panic!("{page:?} is not a page"));
    orders.iter().map(|order: &Value| order["orderId"].as_str().unwrap().to_owned()).collect()
}
