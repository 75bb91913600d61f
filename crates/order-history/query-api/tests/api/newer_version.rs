//! Items that a newer version wrote, or that are damaged. This version shows the parts that it can read, and the list does not
//! fail.

use aws_sdk_dynamodb::types::AttributeValue;
use sample_events::ORDER_HISTORY_TABLE;
use serde_json::{Value, json};

use crate::world::{NOW, RequestBuilder, World, authorized, created, ids};

/// Orders 1 to 20 of consumer 7. Order 20 is the newest.
async fn twenty_orders() -> World {
    let world = World::create().await;
    for n in 1..=20 {
        world.project(&[created("7", n, 1_000 - n, "Ajanta"), authorized(n, 1_000 - n)]).await;
    }
    world
}

/// Sets an attribute of an order.
async fn set(world: &World, order: u64, attribute: &str, value: AttributeValue) {
    let update = world.engine.client().update_item().table_name(ORDER_HISTORY_TABLE);
    update
        .key("orderId", AttributeValue::S(order.to_string()))
        .update_expression("SET #attribute = :value")
        .expression_attribute_names("#attribute", attribute)
        .expression_attribute_values(":value", value)
        .send()
        .await
        .unwrap();
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

/// The order in a list and alone. Checks that the other nineteen orders of the list are complete.
async fn shown(order: u64, attribute: &str, value: AttributeValue) -> (Value, Value) {
    let world = twenty_orders().await;
    let before = world.open().json("/orders?consumerId=7").await;
    set(&world, order, attribute, value).await;
    let after = world.open().json("/orders?consumerId=7").await;
    assert_eq!(ids(std::slice::from_ref(&after)), ids(std::slice::from_ref(&before)), "{attribute}");
    let (mut changed, order_id) = (None, order.to_string());
    for (before, after) in before["orders"].as_array().unwrap().iter().zip(after["orders"].as_array().unwrap()) {
        if after["orderId"] == order_id.as_str() {
            changed = Some(after.clone());
        } else {
            assert_eq!(after, before, "{attribute}");
        }
    }
    let by_itself = world.open().json(&format!("/orders/{order_id}")).await;
    (changed.unwrap(), by_itself)
}

/// Checks that only these members are missing, in a list and alone.
async fn check_left_out(attribute: &str, value: AttributeValue, members: &[&str]) {
    let world = twenty_orders().await;
    let mut expected = world.open().json("/orders/5").await;
    for member in members {
        expected.as_object_mut().unwrap().remove(*member);
    }
    let (mut entry, order) = shown(5, attribute, value).await;
    assert_eq!(order, expected, "{attribute}");
    entry["timeline"] = order["timeline"].clone();
    assert_eq!(entry, expected, "{attribute}");
}

#[tokio::test]
async fn an_unknown_status_is_shown_as_its_text() {
    let (entry, order) = shown(5, "status", text("TELEPORTED")).await;
    assert_eq!((&entry["status"], &order["status"]), (&json!("TELEPORTED"), &json!("TELEPORTED")));
    assert_eq!(entry["restaurantName"], "Ajanta");
}

#[tokio::test]
async fn an_unknown_attribute_changes_nothing() {
    check_left_out("teleport", text("?"), &[]).await;
    check_left_out("wz", AttributeValue::Bool(true), &[]).await;
}

#[tokio::test]
async fn a_facet_of_the_wrong_type_is_left_out() {
    check_left_out("status", AttributeValue::Bool(true), &["status"]).await;
    check_left_out("orderTotal", text("a lot"), &["orderTotal"]).await;
    check_left_out("payment", text("CHARGED"), &["payment"]).await;
    check_left_out("schedule", AttributeValue::L(vec![]), &["delivery"]).await;
    check_left_out("ticket", AttributeValue::Ns(vec!["1".to_owned()]), &["ticket"]).await;
    check_left_out("readyBy", text("soon"), &["ticket"]).await;
}

#[tokio::test]
async fn an_order_with_unreadable_details_still_shows_its_consumer_and_creation_time() {
    let details = ["restaurantId", "restaurantName", "lineItems"];
    check_left_out("lineItems", AttributeValue::N("3".to_owned()), &details).await;
    check_left_out("restaurantId", text("one"), &details).await;
    check_left_out("keywords", AttributeValue::Bool(true), &details).await;
}

#[tokio::test]
async fn an_unreadable_revision_is_left_out() {
    check_left_out("revisions", AttributeValue::Ss(vec!["?".to_owned()]), &[]).await;
    check_left_out("revisions", AttributeValue::N("1".to_owned()), &[]).await;
}

/// Authorization does not depend on the readable parts of an order.
#[tokio::test]
async fn an_order_with_damaged_details_is_shown_only_to_its_consumer() {
    let world = twenty_orders().await;
    set(&world, 5, "lineItems", AttributeValue::Bool(true)).await;
    let request = |consumer: &str| RequestBuilder::get("/orders/5").claims(json!({"sub": consumer}));
    assert_eq!(world.guarded().send(request("7")).await.status_code, 200);
    assert_eq!(world.guarded().send(request("8")).await.status_code, 404);
}

/// One page with every kind of damage, with filters that read the damaged attributes.
#[tokio::test]
async fn a_page_with_every_kind_of_damage_contains_all_its_orders() {
    let world = twenty_orders().await;
    set(&world, 2, "status", text("TELEPORTED")).await;
    set(&world, 4, "teleport", text("?")).await;
    set(&world, 6, "payment", text("CHARGED")).await;
    set(&world, 8, "lineItems", AttributeValue::Bool(true)).await;
    set(&world, 10, "timeline", AttributeValue::Bool(true)).await;
    set(&world, 12, "ws", AttributeValue::Bool(true)).await;
    set(&world, 14, "Order14", AttributeValue::Bool(true)).await;
    let newest_first: Vec<_> = (1..=20).rev().map(|n| n.to_string()).collect();
    let page = world.open().json("/orders?consumerId=7&pageSize=20").await;
    assert_eq!(ids(&[page]), newest_first);
    let pages = world.open().walk("/orders?consumerId=7&pageSize=3&keywords=soup", async || {}).await;
    assert_eq!(ids(&pages), newest_first);
    let approved = world.open().json("/orders?consumerId=7&status=APPROVED").await;
    assert_eq!(ids(&[approved]).len(), 19);
}

/// 30 items whose keys are not valid order ids, newer than all orders.
#[tokio::test]
async fn items_with_unreadable_keys_do_not_end_a_list() {
    let world = twenty_orders().await;
    for n in 0..30 {
        let put = world.engine.client().put_item().table_name(ORDER_HISTORY_TABLE);
        let put = put.item("orderId", text(&format!("not ours {n}"))).item("consumerId", text("7"));
        let put =
            put.item("orderCreationTime", AttributeValue::N((NOW + n).to_string())).item("status", text("APPROVED"));
        put.send().await.unwrap();
    }
    let newest_first: Vec<_> = (1..=20).rev().map(|n| n.to_string()).collect();
    for list in ["/orders?consumerId=7&pageSize=3", "/orders?consumerId=7&pageSize=3&status=APPROVED"] {
        assert_eq!(ids(&world.open().walk(list, async || {}).await), newest_first, "{list}");
    }
}
