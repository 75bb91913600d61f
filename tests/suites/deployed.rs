//! The scenarios on the system of `make e2e`, and tests of what only a deployment has: real tokens, a topic, roles.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

use std::time::{Duration, SystemTime};

use end_to_end::deployed::connect;
use end_to_end::order::{Order, PublishedEvent, consumer};
use end_to_end::payments::{Command, new_order};
use end_to_end::scenarios;
use end_to_end::system::eventually;
use order_events::EventType;
use serde_json::json;
use uuid::Uuid;

scenarios!(connect);

#[tokio::test]
async fn an_invalid_token_is_rejected() {
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
async fn the_topic_delivers_an_unknown_event_type_to_no_queue() {
    let system = connect().await;
    let order = Order::new(&consumer(), 5);
    let created = order.event(EventType::OrderCreated);
    // A delivered message would be projected, because its body is valid.
    let others = ["BulkOrderCreated", "com.example.OrderCreatedLate", "ordercreated"];
    let others = others.map(|type_name| PublishedEvent { type_name: type_name.to_owned(), ..created.clone() });
    system.publish(&others).await;
    // When the order that is published later is visible, the others would be visible too.
    let next = Order::new(&consumer(), 5);
    system.publish(std::slice::from_ref(next.event(EventType::OrderCreated))).await;
    let found =
        async |order: &Order| system.get_as(&system.reader_token(), &format!("/orders/{}", order.id)).await.status;
    end_to_end::system::eventually("the next order", async || (found(&next).await == 200).then_some(())).await;
    assert_eq!(found(&order).await, 404);
}

#[tokio::test]
async fn health_and_contract_need_no_token() {
    let system = connect().await;
    assert_eq!(system.get("/health?deep=1", &[]).await.status, 200);
    assert_eq!(system.get("/openapi.json", &[]).await.body["openapi"], "3.1.0");
}

#[tokio::test]
async fn a_function_of_payments_has_only_the_permissions_for_its_own_work() {
    let system = connect().await;
    let (order, token) = new_order(&system).await;
    let intent = system.command(&token, &Command::create(&order.id, 500)).await.intent_id();
    let read = json!({"TableName": "ftgo-payments", "Key": {"pk": {"S": format!("PaymentIntent#{intent}")}}});
    let (api, relay) =
        (system.as_function_of_payments("PaymentApi").await, system.as_function_of_payments("Relay").await);
    let batch = json!({"RequestItems": {"ftgo-payments": {"Keys": [read["Key"]]}}});
    let (status, found) = api.try_dynamodb("BatchGetItem", &batch).await;
    assert!(status.is_success() && found.contains(&intent), "the API must be able to read payments: {found}");
    for operation in [("GetItem", &read), ("BatchGetItem", &batch)] {
        let (status, response) = relay.try_dynamodb(operation.0, operation.1).await;
        assert!(
            status.is_client_error() && response.contains("AccessDenied"),
            "the relay must not read payments: {response}"
        );
    }
    assert!(system.try_publish_as(&relay).await.is_success(), "the relay must be able to publish");
    assert_eq!(system.try_publish_as(&api).await, 403, "the API must not publish");
}

/// The roles have a condition on `dynamodb:EnclosingOperation`.
#[tokio::test]
async fn intents_and_events_can_be_written_only_in_transactions() {
    let system = connect().await;
    let intent = json!({"pk": {"S": format!("PaymentIntent#{}", Uuid::new_v4())}});
    let update = json!({"TableName": "ftgo-payments", "Key": intent, "UpdateExpression": "SET #state = :state",
        "ConditionExpression": "attribute_exists(pk)", "ExpressionAttributeNames": {"#state": "state"},
        "ExpressionAttributeValues": {":state": {"S": "CHARGED"}}});
    let put = json!({"TableName": "ftgo-payments", "Item": intent});
    let event = json!({"TableName": "ftgo-payments-outbox", "Item": {"pk": intent["pk"], "sk": {"N": "1"}}});
    let (updated, written, published) = (("UpdateItem", &update), ("PutItem", &put), ("PutItem", &event));
    for (function, alone) in [
        ("PaymentApi", vec![updated, written, published]),
        ("Charge", vec![updated, published]),
        ("Reconcile", vec![updated, published]),
    ] {
        let function_may = system.as_function_of_payments(function).await;
        for (operation, request) in alone {
            let (status, response) = function_may.try_dynamodb(operation, request).await;
            let table = &request["TableName"];
            let is_denied = status.is_client_error() && response.contains("AccessDenied");
            assert!(is_denied, "{function} writes to {table} with {operation} alone: {status} {response}");
        }
        // The same update in a transaction fails only because of its own condition: there is no such intent.
        let transaction = json!({"TransactItems": [{"Update": update}]});
        let (status, response) = function_may.try_dynamodb("TransactWriteItems", &transaction).await;
        let is_tried = status.is_client_error() && response.contains("ConditionalCheckFailed");
        assert!(is_tried, "{function} may not update in a transaction: {status} {response}");
    }
}

#[tokio::test]
async fn a_payment_needs_a_valid_token() {
    let system = connect().await;
    let (order, _) = new_order(&system).await;
    let issuer = system.issuer();
    let expired = issuer.sign(&json!({"sub": order.consumer_id}), SystemTime::now() - Duration::from_mins(10));
    for token in [expired.as_str(), "token"] {
        let refused = system.try_command(token, &Command::create(&order.id, 500)).await.unwrap();
        assert_eq!(refused.status, 401, "{refused:?}");
    }
}

#[tokio::test]
async fn the_sweeper_publishes_events_that_the_stream_lost() {
    let system = connect().await;
    let (order, token) = new_order(&system).await;
    system.set_relay(false).await;
    let intent = system.command(&token, &Command::create(&order.id, 900)).await.intent_id();
    system.command(&token, &Command::charge(&intent)).await;
    assert_eq!(system.outbox_rows().await, 1, "the event waits in the outbox");
    system.await_state(&token, &intent, "CHARGED").await;
    eventually("the outbox to be empty", async || (system.outbox_rows().await == 0).then_some(())).await;
    system.set_relay(true).await;
    assert_eq!(system.charges_of(&order.id).await.len(), 1);
}

/// The charge queue has a filter: an event of another type would stay there, and end as a dead letter.
#[tokio::test]
async fn the_topic_delivers_only_requested_charges_to_payments() {
    let system = connect().await;
    let order = Order::new(&consumer(), 5);
    let others =
        order.story.iter().filter(|published| published.event.event_type() != EventType::PaymentIntentChargeRequested);
    let others: Vec<_> = others.cloned().collect();
    let kept = async || system.waiting_in("charge").await + system.waiting_in("charge-dlq").await;
    let before = kept().await;
    system.publish(&others).await;
    let (path, expected) = (format!("/orders/{}", order.id), order.expected_json(&others));
    let shown = async || (system.get_as(&system.reader_token(), &path).await.body == expected).then_some(());
    eventually("the order", shown).await;
    assert_eq!(kept().await, before);
}
