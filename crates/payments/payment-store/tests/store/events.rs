//! Event rows: a commit writes its event, and event ids always rise.

use order_events::{EventType, Message};
use payment_store::{ReadItem, Write};
use proptest::prelude::*;

use crate::world::{World, charged_as, declined, refused, tables};

#[tokio::test]
async fn the_request_of_a_charge_writes_an_event_row() {
    let world = World::create().await;
    let created = world.created("99").await;
    assert!(world.scan(&tables().outbox).await.is_empty());
    let change = created.intent.request_charge(world.now()).unwrap();
    let requested = world.commit(&change, ReadItem::Intent(&created)).await.unwrap();
    let rows = world.scan(&tables().outbox).await;
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!(row["pk"].as_s().unwrap(), &format!("PaymentIntent#{}", created.intent.id()));
    assert_eq!(row["sk"].as_n().unwrap(), "2", "the version");
    assert_eq!(row["eventType"].as_s().unwrap(), "PaymentIntentChargeRequested");
    let message = Message::parse(row["message"].as_s().unwrap()).unwrap();
    assert_eq!(message.event.event_type(), EventType::PaymentIntentChargeRequested);
    assert_eq!(Some(message.event.id), requested.last_event_id);
    assert_eq!(message.event.aggregate_id.as_str(), created.intent.id().to_string());
    assert!(row["message"].as_s().unwrap().contains("Tue, 17 Nov 2026 12:00:00"), "the real time");
}

#[tokio::test]
async fn a_commit_whose_event_row_exists_is_refused_and_writes_nothing() {
    let world = World::create().await;
    let created = world.created("99").await;
    let client = world.engine.client();
    let row = [
        ("pk", aws_sdk_dynamodb::types::AttributeValue::S(format!("PaymentIntent#{}", created.intent.id()))),
        ("sk", aws_sdk_dynamodb::types::AttributeValue::N("2".to_owned())),
    ];
    let row = row.map(|(name, value)| (name.to_owned(), value)).into();
    client.put_item().table_name(&tables().outbox).set_item(Some(row)).send().await.unwrap();
    let change = created.intent.request_charge(world.now()).unwrap();
    assert_eq!(refused(world.commit(&change, ReadItem::Intent(&created)).await), Write::Event);
    assert_eq!(world.find(created.intent.id()).await, Some(created));
}

#[tokio::test]
async fn a_refused_commit_writes_no_event() {
    let world = World::create().await;
    let created = world.created("99").await;
    let change = created.intent.request_charge(world.now()).unwrap();
    world.commit(&change, ReadItem::Intent(&created)).await.unwrap();
    assert_eq!(refused(world.commit(&change, ReadItem::Intent(&created)).await), Write::Intent);
    assert_eq!(world.scan(&tables().outbox).await.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    /// Every host has its own clock, which is wrong by one hour at most.
    #[test]
    fn event_ids_rise_with_versions_and_from_intent_to_intent(clocks in prop::collection::vec(-3_600_000..3_600_000_i64, 8)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let world = World::create().await;
            let mut ids = Vec::new();
            for pair in clocks.chunks(2) {
                world.set_clock(pair[0]);
                let requested = world.requested("99").await;
                ids.push(requested.last_event_id.unwrap());
                world.set_clock(pair[1]);
                let _ = world.settle(&requested, declined()).await;
                ids.push(world.find(requested.intent.id()).await.unwrap().last_event_id.unwrap());
            }
            assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
            assert_eq!(world.event_ids().await.len(), ids.len());
            for row in world.scan(&tables().outbox).await {
                // A consumer accepts the message: its id and its date are not far apart.
                Message::parse(row["message"].as_s().unwrap()).unwrap();
            }
        });
    }
}

#[tokio::test]
async fn a_settlement_publishes_the_result() {
    let world = World::create().await;
    world.settled("1", charged_as("ch_1")).await;
    world.settled("2", declined()).await;
    let mut types: Vec<_> =
        world.scan(&tables().outbox).await.iter().map(|row| row["eventType"].as_s().unwrap().clone()).collect();
    types.sort();
    assert_eq!(
        types,
        [
            "PaymentIntentChargeFailed",
            "PaymentIntentChargeRequested",
            "PaymentIntentChargeRequested",
            "PaymentIntentCharged",
        ]
    );
}
