//! The same events, in any order and with duplicates, make the same item as `fold`.

use std::cell::Cell;
use std::collections::BTreeSet;

use sample_events::{ORDER_HISTORY_TABLE, arbitrary, of_order, of_type, story};

use crate::table::{self, Table, folded};
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;
use order_events::payload::Address;
use order_events::{Event, EventType, OrderId, Payload};
use order_store::Applied;
use order_view::{OrderStatus, OrderView, fold};
use projection::{Facet, Found, State};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// All events of one order: every event type, two revisions, two deliveries.
#[test]
fn all_events_of_an_order_in_thousands_of_random_sequences_make_the_same_item() {
    let table = Table::create();
    let story = story();
    let types: std::collections::BTreeSet<_> = story.iter().map(Event::event_type).collect();
    assert_eq!(types.len(), EventType::ALL.len(), "the story has every event type");

    let deliveries = proptest::collection::vec(0..story.len(), 0..8)
        .prop_map({
            let once: Vec<usize> = (0..story.len()).collect();
            move |again| once.iter().copied().chain(again).collect::<Vec<_>>()
        })
        .prop_shuffle();
    let mut runner = TestRunner::new(Config { cases: 2_000, failure_persistence: None, ..Config::default() });
    let case = Cell::new(0);
    runner
        .run(&deliveries, |order| {
            case.set(case.get() + 1);
            let order_id = OrderId::parse(format!("life-{}", case.get())).unwrap();
            let events: Vec<_> = order.iter().map(|&i| of_order(&story[i], &order_id)).collect();
            table.deliver(&events);
            prop_assert_eq!(table.state(&order_id), folded(&events, &order_id));
            Ok(())
        })
        .unwrap();
}

/// Random events: facets that lose attributes, empty sets and lists, the largest numbers.
#[test]
fn hundreds_of_random_histories_make_the_same_item_in_any_sequence() {
    let table = Table::create();
    let mut runner = TestRunner::new(Config { cases: 500, failure_persistence: None, ..Config::default() });
    runner
        .run(&arbitrary(25), |events| {
            let order_id = "99".parse().unwrap();
            table.clear(&order_id);
            table.deliver(&events);
            prop_assert_eq!(table.state(&order_id), folded(&events, &order_id));
            Ok(())
        })
        .unwrap();
}

/// Seven events that write every kind of piece, and replace each other.
#[test]
fn every_permutation_of_seven_events_makes_the_same_item() {
    use EventType::{
        DeliveryLocationUpdated, DeliveryScheduled, OrderAuthorized, OrderCreated, OrderRevised, TicketAccepted,
        TicketPreparationStarted,
    };
    let table = Table::create();
    let seven = [
        OrderCreated,
        OrderAuthorized,
        OrderRevised,
        TicketAccepted,
        TicketPreparationStarted,
        DeliveryScheduled,
        DeliveryLocationUpdated,
    ]
    .map(of_type);

    let mut permutations = 0;
    table::permutations(seven.len(), &mut |order| {
        permutations += 1;
        let order_id = OrderId::parse(format!("permutation-{permutations}")).unwrap();
        let events: Vec<_> = order.iter().map(|&i| of_order(&seven[i], &order_id)).collect();
        table.deliver(&events);
        assert_eq!(table.state(&order_id), folded(&events, &order_id), "order {order:?}");
    });
    assert_eq!(permutations, 5_040);
}

#[test]
fn late_order_created_keeps_the_approved_status() {
    let (table, story) = (Table::create(), story());
    let created = &story[0];
    let authorized = &of_type(EventType::OrderAuthorized);
    assert_eq!(table.apply(authorized), Applied::Written);
    assert_eq!(table.apply(created), Applied::WrittenLate);
    assert_eq!(table.apply(created), Applied::Duplicate);

    let view = table.view(&created.order_id()).unwrap();
    assert_eq!(view.state, Some(OrderStatus::Approved));
    assert_eq!(view.details.unwrap().restaurant_name, "Ajanta");
}

/// Address and consumer come from the same `OrderCreated`.
#[test]
fn an_order_created_without_an_address_removes_the_address_of_an_earlier_consumer() {
    let table = Table::create();
    let address_of =
        |state: &State| state.attribute::<Address>(order_view::facet::Address::WATERMARK, "deliveryAddress");
    let revised = of_type(EventType::OrderRevised);
    let elsewhere = address_of(&fold([&revised]).unwrap().states["99"]);
    assert!(elsewhere.is_some(), "the revision changes the address");
    for later_has_an_address in [false, true] {
        let [mut earlier, mut later] = [of_type(EventType::OrderCreated), of_type(EventType::OrderCreated)];
        later.id = "0000019ca9450a08-0000000000000000".parse().unwrap();
        let without = if later_has_an_address { &mut earlier } else { &mut later };
        let Payload::OrderCreated(payload) = &mut without.payload else { unreachable!("the event is an OrderCreated") };
        payload.delivery_address = None;
        payload.order_details.consumer_id = "another".parse().unwrap();

        for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0], [2, 0, 1], [0, 2, 1], [1, 2, 0]] {
            let order_id =
                OrderId::parse(format!("{later_has_an_address}-{}", order.map(|i| i.to_string()).concat())).unwrap();
            let events = [&earlier, &later, &revised].map(|event| of_order(event, &order_id));
            let created: Vec<_> = order.into_iter().filter(|&i| i < 2).map(|i| events[i].clone()).collect();
            table.deliver(&created);
            let state = table.state(&order_id).unwrap();
            assert_eq!(Some(&state), folded(&created, &order_id).as_ref(), "{order_id}");
            assert_eq!(address_of(&state).is_some(), later_has_an_address, "{order_id}");
            assert_eq!(table.view(&order_id).unwrap().unreadable, BTreeSet::new());

            table.clear(&order_id);
            let all = order.map(|i| events[i].clone());
            table.deliver(&all);
            let state = table.state(&order_id).unwrap();
            assert_eq!(Some(&state), folded(&all, &order_id).as_ref(), "{order_id}");
            assert_eq!(address_of(&state), elsewhere, "{order_id}: a later revision wins");
        }
    }
}

/// Eight concurrent writers of the same events, each in another sequence.
#[test]
fn concurrent_writers_of_one_order_lose_no_event() {
    let (table, story) = (Table::create(), story());
    table.block_on(async {
        let writers = (0..8).map(|writer| {
            let (store, mut events) = (table.store(), story.clone());
            events.rotate_left(writer * 3);
            async move {
                for event in &events {
                    let _: Applied = store.apply(event).await.unwrap();
                }
            }
        });
        join_all(writers).await;
    });
    let order_id = story[0].order_id();
    assert_eq!(table.state(&order_id), folded(&story, &order_id));
}

/// During a rollout both versions write. The attributes of the newer one must not stop the older one.
#[test]
fn a_late_event_is_applied_to_an_item_of_a_newer_version() {
    let (table, story) = (Table::create(), story());
    let (created, later) = (&story[0], &story[1..]);
    table.deliver(later);
    let newer = "0000019ca9450a08-0242ac1200080001 OrderTeleported 2026-03-01T12:00:00.008Z".to_owned();
    let update = table
        .client
        .update_item()
        .table_name(ORDER_HISTORY_TABLE)
        .key("orderId", AttributeValue::S("99".to_owned()))
        .update_expression("ADD timeline :newer SET teleport = :newer")
        .expression_attribute_values(":newer", AttributeValue::Ss(vec![newer]));
    table.block_on(update.send()).unwrap();
    assert_eq!(table.apply(created), Applied::WrittenLate);
    let order_id = created.order_id();
    let state = folded(&story, &order_id).unwrap();
    let expected = OrderView::of(order_id.clone(), Found { state, unreadable: Vec::new() });
    assert_eq!(table.view(&order_id), expected, "except for the attributes that this version cannot show");
}

/// An event whose entry an older version stored with its time, and whose idempotency record has expired.
#[test]
fn a_repeated_event_with_an_entry_of_an_older_version_does_not_change_the_view() {
    let (table, story) = (Table::create(), story());
    table.deliver(&story);
    let (created, order_id) = (&story[0], story[0].order_id());
    let before = table.view(&order_id);
    let texts = |event: &Event| {
        let text = format!("{} {}", event.id, event.event_type());
        (text.clone(), format!("{text} {}", event.at()))
    };
    let (new, old) = texts(created);
    for (clause, text) in [("DELETE", new), ("ADD", old)] {
        let update = table
            .client
            .update_item()
            .table_name(ORDER_HISTORY_TABLE)
            .key("orderId", AttributeValue::S(order_id.to_string()))
            .update_expression(format!("{clause} timeline :entry"))
            .expression_attribute_values(":entry", AttributeValue::Ss(vec![text]));
        table.block_on(update.send()).unwrap();
    }
    assert_eq!(table.view(&order_id), before, "the old entry is shown");

    assert_eq!(table.apply(created), Applied::WrittenLate);
    assert_eq!(table.view(&order_id), before, "the old and the new entry are shown as one");
    assert_eq!(table.apply(created), Applied::Duplicate);
}
