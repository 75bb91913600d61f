//! The scenarios on what `make e2e` has deployed, and what only a deployment has: real tokens, a topic, roles.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

use std::time::{Duration, SystemTime};

use end_to_end::deployed::connect;
use end_to_end::order::{Order, Told, consumer};
use end_to_end::scenarios;
use order_events::EventType;
use serde_json::json;

scenarios!(connect);

#[tokio::test]
async fn a_token_that_is_not_good_is_refused() {
    let system = connect().await;
    let (issuer, consumer) = (system.issuer(), consumer());
    let later = SystemTime::now() + Duration::from_mins(10);
    let good = issuer.sign(&json!({"sub": consumer}), later);
    assert_eq!(system.get_as(&good, "/orders").await.status, 200);

    let anothers = issuer.sign(&json!({"sub": "somebody else"}), later);
    let (signed, _) = good.rsplit_once('.').unwrap();
    let (_, signature) = anothers.rsplit_once('.').unwrap();
    for (why, token) in [
        ("expired", issuer.sign(&json!({"sub": consumer}), SystemTime::now() - Duration::from_mins(10))),
        ("for another audience", issuer.sign(&json!({"sub": consumer, "aud": "somebody else"}), later)),
        ("of another issuer", issuer.sign(&json!({"sub": consumer, "iss": "https://issuer.example"}), later)),
        ("signed for something else", format!("{signed}.{signature}")),
        ("no token", "token".to_owned()),
    ] {
        assert_eq!(system.get_as(&token, "/orders").await.status, 401, "{why}");
    }
}

#[tokio::test]
async fn the_topic_hands_an_event_of_another_type_to_nobody() {
    let system = connect().await;
    let order = Order::new(&consumer(), 5);
    let created = order.event(EventType::OrderCreated);
    // Were one of them handed over, it would be projected, for the body is good.
    let others = ["BulkOrderCreated", "com.example.OrderCreatedLate", "ordercreated"];
    let others = others.map(|type_name| Told { type_name: type_name.to_owned(), ..created.clone() });
    system.publish(&others).await;
    // What is published after them comes after them, so that it is not for want of time.
    let next = Order::new(&consumer(), 5);
    system.publish(std::slice::from_ref(next.event(EventType::OrderCreated))).await;
    let found =
        async |order: &Order| system.get_as(&system.reader_token(), &format!("/orders/{}", order.id)).await.status;
    end_to_end::system::eventually("the next order", async || (found(&next).await == 200).then_some(())).await;
    assert_eq!(found(&order).await, 404);
}

#[tokio::test]
async fn health_and_contract_are_for_everybody() {
    let system = connect().await;
    assert_eq!(system.get("/health?deep=1", &[]).await.status, 200);
    assert_eq!(system.get("/openapi.json", &[]).await.body["openapi"], "3.1.0");
}
