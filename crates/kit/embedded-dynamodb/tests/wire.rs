//! What a wire records, and what it does to requests.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod rows;

use std::net::TcpStream;
use std::time::Duration;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::AttributeValue::S;
use aws_sdk_dynamodb::types::{Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem};
use embedded_dynamodb::{Disturbance, Engine, Request, Wire};

/// An engine with a table, and a wire that disturbs each `PutItem`.
async fn disturbed(disturbance: Disturbance) -> (Engine, Wire) {
    let engine = Engine::start();
    rows::create(&engine, "rows").await;
    let is_disturbed = move |request: &Request| request.operation == "PutItem";
    let wire = Wire::disturbed(move |request| if is_disturbed(request) { disturbance } else { Disturbance::None });
    (engine, wire)
}

async fn put_over(engine: &Engine, wire: &Wire) -> Result<(), SdkError<PutItemError>> {
    let put = engine.client_over(wire).put_item().table_name("rows").item("id", S("a".to_owned()));
    put.send().await.map(drop)
}

async fn is_stored(engine: &Engine) -> bool {
    let get = engine.client().get_item().table_name("rows").key("id", S("a".to_owned()));
    get.send().await.unwrap().item.is_some()
}

#[tokio::test]
async fn requests_are_recorded_in_order_with_their_numbers() {
    let (engine, wire) = disturbed(Disturbance::None).await;
    put_over(&engine, &wire).await.unwrap();
    engine.client_over(&wire).scan().table_name("rows").send().await.unwrap();
    put_over(&engine, &wire.clone()).await.unwrap();
    let requests: Vec<_> = wire.requests().into_iter().map(|request| (request.number, request.operation)).collect();
    assert_eq!(requests, [(1, "PutItem"), (2, "Scan"), (3, "PutItem")].map(|(n, name)| (n, name.to_owned())));
    assert_eq!(["PutItem", "Scan", "GetItem"].map(|operation| wire.count(operation)), [2, 1, 0]);
    assert_eq!(wire.most_in_flight(), 1);
}

#[tokio::test]
async fn requests_at_the_same_time_are_counted() {
    let (engine, wire) = disturbed(Disturbance::None).await;
    let put = || put_over(&engine, &wire);
    let (one, two, three) = tokio::join!(put(), put(), put());
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    assert_eq!(wire.most_in_flight(), 3);
}

/// A timeout of the client drops a request.
#[tokio::test]
async fn a_dropped_request_is_no_longer_in_flight() {
    let (engine, wire) = disturbed(Disturbance::None).await;
    for number in 1..=2 {
        let sent = async {
            while wire.requests().len() < number {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = sent => {}
            response = put_over(&engine, &wire) => panic!("the request is dropped before its response: {response:?}"),
        }
    }
    put_over(&engine, &wire).await.unwrap();
    assert_eq!((wire.requests().len(), wire.most_in_flight()), (3, 1));
}

#[tokio::test]
async fn a_request_that_fails_before_does_not_reach_the_engine() {
    let (engine, wire) = disturbed(Disturbance::FailBefore).await;
    let error = put_over(&engine, &wire).await.unwrap_err();
    assert!(matches!(error, SdkError::DispatchFailure(_)), "{error:?}");
    assert!(!is_stored(&engine).await);
}

#[tokio::test]
async fn a_request_that_stalls_is_never_answered() {
    let (engine, wire) = disturbed(Disturbance::Stall).await;
    assert!(tokio::time::timeout(Duration::from_millis(200), put_over(&engine, &wire)).await.is_err());
    assert!(!is_stored(&engine).await);
}

#[tokio::test]
async fn a_request_whose_response_is_lost_has_taken_effect() {
    let (engine, wire) = disturbed(Disturbance::LoseResponse).await;
    let error = put_over(&engine, &wire).await.unwrap_err();
    assert!(matches!(error, SdkError::DispatchFailure(_)), "{error:?}");
    assert!(is_stored(&engine).await);
}

#[tokio::test]
async fn a_request_gets_the_response_of_the_script() {
    let (engine, wire) = disturbed(Disturbance::Throttle).await;
    let error = put_over(&engine, &wire).await.unwrap_err();
    assert_eq!(error.code(), Some("ProvisionedThroughputExceededException"));
    assert!(!is_stored(&engine).await);

    let (engine, wire) = disturbed(Disturbance::Respond(500, r#"{"__type":"InternalServerError"}"#)).await;
    let error = put_over(&engine, &wire).await.unwrap_err();
    assert_eq!((error.code(), error.raw_response().unwrap().status().as_u16()), (Some("InternalServerError"), 500));
}

#[tokio::test]
async fn an_old_item_can_be_hidden() {
    let all_old = ReturnValuesOnConditionCheckFailure::AllOld;
    for (disturbance, is_hidden) in [(Disturbance::None, false), (Disturbance::HideOldItem, true)] {
        let (engine, _) = disturbed(Disturbance::None).await;
        rows::put(&engine, "a").await;
        let client = engine.client_over(&Wire::disturbed(move |_| disturbance));

        let put = client.put_item().table_name("rows").item("id", S("a".to_owned()));
        let put = put.condition_expression("attribute_not_exists(id)");
        let error = put.return_values_on_condition_check_failure(all_old.clone()).send().await.unwrap_err();
        let PutItemError::ConditionalCheckFailedException(failed) = error.into_service_error() else {
            panic!("the condition does not hold");
        };
        assert_eq!(failed.item.is_none(), is_hidden);

        let put = Put::builder().table_name("rows").item("id", S("a".to_owned()));
        let put = put.condition_expression("attribute_not_exists(id)");
        let put = put.return_values_on_condition_check_failure(all_old.clone()).build().unwrap();
        let write = TransactWriteItem::builder().put(put).build();
        let error = client.transact_write_items().transact_items(write).send().await.unwrap_err();
        let TransactWriteItemsError::TransactionCanceledException(canceled) = error.into_service_error() else {
            panic!("the condition does not hold");
        };
        let reason = &canceled.cancellation_reasons()[0];
        assert_eq!((reason.code(), reason.item.is_none()), (Some("ConditionalCheckFailed"), is_hidden));

        // A response without an error passes as it is.
        let get = client.get_item().table_name("rows").key("id", S("a".to_owned())).send().await.unwrap();
        assert_eq!(get.item.and_then(|item| item.get("id").cloned()), Some(S("a".to_owned())));
    }
}

#[tokio::test]
async fn an_engine_stops_when_it_is_dropped() {
    let engine = Engine::start();
    let address = engine.endpoint().trim_start_matches("http://").to_owned();
    assert!(TcpStream::connect(&address).is_ok());
    drop(engine);
    assert!(TcpStream::connect(&address).is_err());
}
