//! Errors have the right code, and are retryable or not.

use aws_sdk_dynamodb::types::AttributeValue;
use embedded_dynamodb::{Disturbance, Engine, Wire};
use lambda_boot::Clock;
use payment_intents::PaymentIntentId;
use payment_store::{Error, PaymentStore};

use crate::world::{World, tables};

#[tokio::test]
async fn an_outage_and_throttling_are_retryable() {
    let world = World::create().await;
    let cases = [
        (Disturbance::FailBefore, "store_unavailable"),
        (Disturbance::Throttle, "store_throttled"),
        (Disturbance::Respond(500, "{}"), "store_unavailable"),
    ];
    for (disturbance, code) in cases {
        let wire = Wire::disturbed(move |_| disturbance);
        let error = world.over(&wire).find(PaymentIntentId::random()).await.unwrap_err();
        assert_eq!((error.code(), error.is_retryable()), (code, true), "{error:?}");
    }
}

#[tokio::test]
async fn a_missing_table_is_not_retryable() {
    let engine = Engine::start();
    let store = PaymentStore::new(engine.client(), tables(), Clock::system());
    let error = store.ping().await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("store_table_missing", false));
}

#[tokio::test]
async fn a_refused_request_is_not_retryable() {
    let world = World::create().await;
    let denied = r#"{"__type":"com.amazon.coral.service#AccessDeniedException","message":"x"}"#;
    let wire = Wire::disturbed(move |_| Disturbance::Respond(400, denied));
    let error = world.over(&wire).ping().await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), ("store_rejected", false));
}

#[tokio::test]
async fn the_error_for_an_unreadable_item_names_the_attribute() {
    let world = World::create().await;
    let found = world.requested("99").await;
    let client = world.engine.client();
    for (attribute, value) in [
        ("amount", AttributeValue::N("0".to_owned())),
        ("state", AttributeValue::S("SETTLED".to_owned())),
        ("version", AttributeValue::Bool(true)),
        ("chargeKey", AttributeValue::S(String::new())),
    ] {
        let world_item = world.scan(&tables().payments).await;
        let item = world_item.iter().find(|item| item.contains_key("amount")).unwrap().clone();
        let mut broken = item.clone();
        broken.insert(attribute.to_owned(), value);
        client.put_item().table_name(&tables().payments).set_item(Some(broken)).send().await.unwrap();
        let error = world.store.find(found.intent.id()).await.unwrap_err();
        assert!(matches!(error, Error::Corrupt { attribute: named } if named == attribute), "{error:?}");
        assert!(!error.is_retryable());
        client.put_item().table_name(&tables().payments).set_item(Some(item)).send().await.unwrap();
    }
}
