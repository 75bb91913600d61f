//! Filters.

use std::collections::BTreeSet;

use embedded_dynamodb::Wire;
use order_events::{Event, EventType, OrderId, Timestamp};
use order_view::VIEW;
use projection::dynamodb::Table;
use rebuild::filter::Filter;

use crate::world::{
    Orders, Rebuild, S3, engine, events, folded, key, lines_of_order, lines_of_orders, new_table, orders,
};

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn a_filter_uses_only_matching_events() {
    let ((_engine, client), s3) = (engine(), S3::start().await);
    let lines = lines_of_orders(1..5);
    let bucket = s3.bucket(&[(key(1, "a"), lines[..40].to_vec()), (key(1, "b"), lines[40..].to_vec())]);
    let times: BTreeSet<_> = events(&lines).iter().map(Event::at).collect();
    let middle = *times.iter().nth(times.len() / 2).unwrap();
    let types = BTreeSet::from([EventType::OrderCreated, EventType::DeliveryDelivered]);
    let two: BTreeSet<_> = ["2", "4"].into_iter().map(|id| OrderId::parse(id).unwrap()).collect();
    let cases = [
        Filter { since: Some(middle), ..Filter::default() },
        Filter { until: Some(middle), ..Filter::default() },
        Filter { types: types.clone(), ..Filter::default() },
        Filter { orders: two.clone(), ..Filter::default() },
        Filter { since: Some(middle), until: None, types, orders: two },
    ];
    for filter in cases {
        let is_selected = |event: &Event| {
            filter.since.is_none_or(|since| event.at() >= since)
                && filter.until.is_none_or(|until| event.at() < until)
                && (filter.types.is_empty() || filter.types.contains(&event.event_type()))
                && (filter.orders.is_empty() || filter.orders.contains(&event.order_id()))
        };
        let selected: Vec<_> =
            lines.iter().filter(|line| is_selected(&events(&[(*line).clone()])[0])).cloned().collect();
        assert!(!selected.is_empty() && selected.len() < lines.len(), "{filter:?}");
        let table = new_table(&client).await;
        let archive = s3.store_over(&Wire::watched(), &bucket);
        let rebuild = Rebuild { filter: filter.clone(), ..Rebuild::new(archive, client.clone(), &table) };
        let (report, _) = rebuild.run().await.unwrap();
        assert_eq!(orders(&client, &table).await, folded(&selected), "{filter:?}");
        let counted = (report.summary.events, report.summary.filtered);
        assert_eq!(counted, (selected.len() as u64, (lines.len() - selected.len()) as u64), "{filter:?}");
    }
}

#[tokio::test]
async fn other_orders_are_not_read() {
    let ((engine, client), s3) = (engine(), S3::start().await);
    let table = new_table(&client).await;
    let (known, archived) = (lines_of_orders(1..4), lines_of_orders(1..7));
    let view = Table::new(client.clone(), &table, &VIEW);
    let half: Orders = folded(&known[..known.len() / 2]);
    for (order_id, state) in half.clone() {
        let _ = view.merge(&order_id, state).await.unwrap();
    }
    let bucket = s3.bucket(&[(key(1, "a"), archived)]);
    let wire = Wire::watched();
    let orders_named = BTreeSet::from([OrderId::parse("2").unwrap()]);
    let filter = Filter { orders: orders_named, ..Filter::default() };
    let archive = s3.store_over(&Wire::watched(), &bucket);
    Rebuild { filter, ..Rebuild::new(archive, engine.client_over(&wire), &table) }.run().await.unwrap();
    let mut expected = half;
    expected.extend(folded(&lines_of_order(2)));
    assert_eq!(orders(&client, &table).await, expected);
    assert_eq!(wire.requests().len(), 2, "the refused put, and the update: {:?}", wire.requests());
}

#[tokio::test]
async fn files_that_arrived_long_before_since_are_not_read() {
    let ((_engine, client), s3) = (engine(), S3::start().await);
    let table = new_table(&client).await;
    let files = [
        (key(1, "a"), lines_of_order(1)),
        (key(2, "b"), lines_of_order(2)),
        (key(9, "c"), lines_of_order(3)),
        ("elsewhere".to_owned(), lines_of_order(4)),
    ];
    let bucket = s3.bucket(&files);
    let wire = Wire::watched();
    // A file of the second day may contain an event of the third: its id may be ahead of its time by one day.
    let filter = Filter { since: Some(time("2026-03-03T13:00:00Z")), ..Filter::default() };
    let rebuild = Rebuild { filter, ..Rebuild::new(s3.store_over(&wire, &bucket), client.clone(), &table) };
    let (report, _) = rebuild.run().await.unwrap();
    assert_eq!(report.files, 3);
}
