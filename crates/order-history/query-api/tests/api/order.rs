//! `GET /orders/{orderId}`.

use order_events::{EventType, Payload};
use sample_events::story;
use serde_json::json;

use crate::world::{RequestBuilder, World, assert_problem, body, created};

#[tokio::test]
async fn an_order_shows_everything_in_the_view() {
    let world = World::create().await;
    let story = story();
    world.project(&story).await;
    let mut order = world.open().json("/orders/99").await;

    let timeline = order.as_object_mut().unwrap().remove("timeline").unwrap();
    let expected: Vec<_> = story
        .iter()
        .filter(|event| event.event_type() != EventType::DeliveryLocationUpdated)
        .map(|event| {
            json!({
                "eventId": event.id.to_string(),
                "type": event.event_type().name(),
                "at": event.at().to_string(),
            })
        })
        .collect();
    assert_eq!(timeline, json!(expected), "sorted by event id");
    assert_eq!(
        order,
        json!({
            "orderId": "99",
            "consumerId": "1511300065921",
            "status": "CANCELLED",
            "restaurantId": 1,
            "restaurantName": "Ajanta",
            "orderCreationTime": "2026-03-01T12:00:00.007Z",
            "orderTotal": "35.29",
            "lineItems": [
                {"menuItemId": "1", "name": "Chicken Vindaloo", "price": "12.34", "quantity": 1},
                {"menuItemId": "2", "name": "Gobhi Bhaji", "price": "9.95", "quantity": 1},
                {"menuItemId": "3", "name": "Crème brûlée", "price": "6.50", "quantity": 2},
            ],
            "deliveryAddress": {
                "street1": "1 Other Street", "street2": "Apt 4", "city": "Berkeley", "state": "CA", "zip": "94704",
            },
            "deliveryTime": "2026-03-01T13:15:00.000Z",
            "ticket": {"status": "PICKED_UP", "readyBy": "2026-03-01T12:30:00.000Z"},
            "delivery": {
                "status": "DELIVERED",
                "courierId": "8",
                "estimatedPickupTime": "2026-03-01T12:45:00.000Z",
                "estimatedDeliveryTime": "2026-03-01T13:10:00.000Z",
                "location": {"latitude": 37.8716, "longitude": -122.2727, "at": "2026-03-01T12:50:00.175Z"},
            },
            "payment": {
                "status": "CHARGED", "paymentIntentId": "pi_3Q7y", "amount": 6063, "currency": "USD",
                "chargeId": "ch_3Q7y",
            },
        })
    );
}

#[tokio::test]
async fn a_list_entry_is_an_order_without_address_location_and_timeline() {
    let world = World::create().await;
    world.project(&story()).await;
    let mut order = world.open().json("/orders/99").await;
    for left_out in ["deliveryAddress", "deliveryTime", "timeline"] {
        assert!(order.as_object_mut().unwrap().remove(left_out).is_some());
    }
    assert!(order["delivery"].as_object_mut().unwrap().remove("location").is_some());
    let page = world.open().json("/orders?consumerId=1511300065921").await;
    assert_eq!(page, json!({ "orders": [order] }));
}

#[tokio::test]
async fn a_missing_address_is_left_out() {
    let world = World::create().await;
    let (with_address, mut without) = (story().remove(0), story().remove(0));
    without.id = "0000019ca9450a08-0000000000000000".parse().unwrap();
    let Payload::OrderCreated(payload) = &mut without.payload else {
        unreachable!("the story begins with OrderCreated")
    };
    payload.delivery_address = None;
    payload.order_details.consumer_id = "another".parse().unwrap();
    world.project(&[with_address, without]).await;
    let order = world.open().json("/orders/99").await;
    assert_eq!(order["consumerId"], "another");
    assert_eq!(order.get("deliveryAddress"), None, "{order}");
    assert_eq!(order.get("deliveryTime"), None, "{order}");
}

#[tokio::test]
async fn unknown_members_are_left_out() {
    let world = World::create().await;
    world.project(&[created("7", 1, 0, "Ajanta")]).await;
    let order = world.open().json("/orders/1").await;
    let members: Vec<_> = order.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        members,
        [
            "consumerId",
            "lineItems",
            "orderCreationTime",
            "orderId",
            "orderTotal",
            "restaurantId",
            "restaurantName",
            "status",
            "timeline"
        ]
    );
}

#[tokio::test]
async fn an_order_is_404_before_its_order_created_event_and_complete_after_it() {
    let world = World::create().await;
    let story = story();
    let api = world.open();
    for event in story[1..].iter().rev() {
        world.project(std::slice::from_ref(event)).await;
        assert_problem(&api.get("/orders/99").await, 404, "order-not-found");
        assert_eq!(api.json("/orders?consumerId=1511300065921").await, json!({"orders": []}));
    }
    world.project(&story[..1]).await;
    let late = api.json("/orders/99").await;

    let in_order = World::create().await;
    in_order.project(&story).await;
    assert_eq!(late, in_order.open().json("/orders/99").await);
}

#[tokio::test]
async fn the_couriers_location_is_shown_even_without_other_delivery_events() {
    let world = World::create().await;
    let story = story();
    let seen = story.iter().find(|event| event.event_type() == EventType::DeliveryLocationUpdated).unwrap();
    world.project(&[story[0].clone(), seen.clone()]).await;
    let order = world.open().json("/orders/99").await;
    assert_eq!(
        order["delivery"],
        json!({"location": {"latitude": 37.8044, "longitude": -122.2712, "at": seen.at().to_string()}})
    );
}

#[tokio::test]
async fn the_order_id_is_the_path_parameter_that_api_gateway_has_decoded() {
    let world = World::create().await;
    let mut event = created("7", 1, 0, "Ajanta");
    event.aggregate_id = "a%41/ü".parse().unwrap();
    world.project(&[event]).await;
    let mut request = RequestBuilder::get("/orders/whatever");
    request.event().insert("pathParameters".to_owned(), json!({"orderId": "a%41/ü"}));
    assert_eq!(body(&world.open().send(request).await)["orderId"], "a%41/ü");

    // Without a path parameter, the rest of the path is the id.
    for id in ["a%41ü", "a/b", "a/b/", "/a", "a%2Fb", "100%", "orders/a"] {
        let mut event = created("7", 2, 0, "Ajanta");
        event.aggregate_id = id.parse().unwrap();
        world.project(&[event]).await;
        assert_eq!(world.open().json(&format!("/orders/{id}")).await["orderId"], id);
    }
}

#[tokio::test]
async fn an_invalid_order_id_is_400() {
    let api = World::create().await.open();
    for path in ["/orders/ ", "/orders/a\u{0}", &format!("/orders/{}", "x".repeat(256))] {
        for method in ["GET", "OPTIONS"] {
            let response = api.send(RequestBuilder::get(path).method(method)).await;
            let problem = assert_problem(&response, 400, "invalid-parameters");
            assert_eq!(problem["errors"][0]["parameter"], "orderId");
            assert_eq!(problem["errors"][0]["in"], "path");
        }
    }
}
