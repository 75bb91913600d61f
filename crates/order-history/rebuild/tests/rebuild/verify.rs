//! Comparisons of two views.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use archive::Store;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use embedded_dynamodb::{Disturbance, Wire};
use futures_util::{StreamExt, stream};
use order_store::OrderStore;
use order_view::VIEW;
use projection::State;
use projection::dynamodb::{Item, write_item};
use rebuild::scan::Source;
use rebuild::verify::{Comparison, Difference, Options, RightSide, Sample, Step, compare};

use crate::world::{
    Folder, Orders, engine, events, folded, key, lines_of_order, lines_of_orders, new_table, orders, runtime,
};

fn options(left: Source, right: RightSide) -> Options {
    let pause = Duration::from_millis(10);
    Options { left, right, sample: Sample::ALL, segments: 4, pause, memory: 64 << 20, workers: 2 }
}

fn tables(client: &Client, left: &str, right: &str) -> Options {
    let table = |name: &str| Source { client: client.clone(), name: name.to_owned() };
    options(table(left), RightSide::Table(table(right)))
}

fn with_archive(client: &Client, left: &str, archive: Store) -> Options {
    let left = Source { client: client.clone(), name: left.to_owned() };
    options(left, RightSide::Archive { archive, use_snapshot: true })
}

/// Puts items in batches.
async fn fill(client: &Client, table: &str, items: impl Iterator<Item = Item>) {
    let puts = items.map(|item| {
        let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    });
    let puts: Vec<_> = puts.collect();
    let batches: Vec<_> = puts.chunks(25).map(<[_]>::to_vec).collect();
    let sent = stream::iter(batches).map(|batch| async move {
        let response = client.batch_write_item().request_items(table, batch).send().await.unwrap();
        assert!(response.unprocessed_items.unwrap_or_default().is_empty());
    });
    sent.buffer_unordered(8).collect::<Vec<_>>().await;
}

async fn fill_with(client: &Client, table: &str, orders: &Orders) {
    fill(client, table, orders.iter().map(|(order_id, view)| write_item(&VIEW, order_id, view))).await;
}

async fn set(client: &Client, table: &str, order_id: &str, attribute: &str, value: AttributeValue) {
    let update = client.update_item().table_name(table).key("orderId", AttributeValue::S(order_id.to_owned()));
    let update = update.update_expression("SET #a = :v").expression_attribute_names("#a", attribute);
    update.expression_attribute_values(":v", value).send().await.unwrap();
}

async fn delete(client: &Client, table: &str, order_id: &str) {
    let key = AttributeValue::S(order_id.to_owned());
    client.delete_item().table_name(table).key("orderId", key).send().await.unwrap();
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn changed(attributes: &[&str]) -> Difference {
    Difference::Changed { attributes: attributes.iter().map(|name| (*name).to_owned()).collect() }
}

fn differences(compared: &Comparison) -> BTreeMap<&str, &Difference> {
    compared.differences.iter().map(|(order_id, difference)| (order_id.as_str(), difference)).collect()
}

#[test]
fn one_changed_one_missing_and_one_extra_order_among_ten_thousand_are_found() {
    let (_engine, client) = engine();
    let view = folded(&lines_of_order(1)).remove("1").unwrap();
    runtime().block_on(async {
        let (left, right) = (new_table(&client).await, new_table(&client).await);
        let item = |number: usize| write_item(&VIEW, &number.to_string(), &view);
        fill(&client, &left, (0..10_000).map(item)).await;
        fill(&client, &right, (0..10_000).map(item)).await;
        let equal = compare(tables(&client, &left, &right), |_| ()).await.unwrap();
        assert!(equal.is_equal());
        assert_eq!((equal.left, equal.right, equal.settled), (10_000, 10_000, 0));

        set(&client, &right, "4711", "status", text("TELEPORTED")).await;
        delete(&client, &right, "77").await;
        fill(&client, &right, [item(10_007)].into_iter()).await;
        let compared = compare(tables(&client, &left, &right), |_| ()).await.unwrap();
        let (one, two, three) = (changed(&["status"]), Difference::Missing, Difference::Extra);
        assert_eq!(differences(&compared), [("4711", &one), ("77", &two), ("10007", &three)].into());
        assert_eq!(compared.counts(), (1, 1, 1));
        assert!(!compared.is_equal());
        let shown = serde_json::to_string(&compared).unwrap();
        assert!(!shown.contains("TELEPORTED"), "values are customers' data: {shown}");
    });
}

/// Attributes of a newer version are compared between two tables.
#[test]
fn attributes_that_the_view_does_not_know_are_compared_between_tables() {
    let (_engine, client) = engine();
    runtime().block_on(async {
        let (left, right) = (new_table(&client).await, new_table(&client).await);
        for table in [&left, &right] {
            fill_with(&client, table, &folded(&lines_of_orders(0..3))).await;
        }
        set(&client, &left, "1", "teleport", text("yes")).await;
        let compared = compare(tables(&client, &left, &right), |_| ()).await.unwrap();
        assert_eq!(differences(&compared), [("1", &changed(&["teleport"]))].into());
        set(&client, &right, "1", "teleport", text("yes")).await;
        assert!(compare(tables(&client, &left, &right), |_| ()).await.unwrap().is_equal());
    });
}

#[test]
fn against_an_archive_attributes_that_the_view_does_not_know_are_counted() {
    let (folder, (_engine, client)) = (Folder::new(), engine());
    let lines = lines_of_orders(0..30);
    for (day, some) in lines.chunks(120).enumerate() {
        folder.put(&key(day + 1, "a"), some);
    }
    runtime().block_on(async {
        let table = new_table(&client).await;
        fill_with(&client, &table, &folded(&lines)).await;
        set(&client, &table, "3", "teleport", text("yes")).await;
        set(&client, &table, "4", "teleport", text("yes")).await;
        let equal = compare(with_archive(&client, &table, folder.archive()), |_| ()).await.unwrap();
        assert!(equal.is_equal(), "{equal:?}");
        assert_eq!((equal.left, equal.right), (30, 30));
        assert_eq!(equal.ignored, [("teleport".to_owned(), 2)].into());

        set(&client, &table, "5", "restaurantName", text("Elsewhere")).await;
        delete(&client, &table, "6").await;
        fill_with(&client, &table, &folded(&lines_of_order(77))).await;
        let compared = compare(with_archive(&client, &table, folder.archive()), |_| ()).await.unwrap();
        let expected = [
            ("5".to_owned(), changed(&["restaurantName"])),
            ("6".to_owned(), Difference::Extra),
            ("77".to_owned(), Difference::Missing),
        ];
        assert_eq!(compared.differences, expected.into());
    });
}

#[test]
fn a_table_is_compared_with_a_snapshot_and_the_files_after_it() {
    let (folder, (_engine, client)) = (Folder::new(), engine());
    let lines = lines_of_orders(0..10);
    folder.put(&key(1, "a"), &lines[..lines.len() / 2]);
    crate::snapshots::snapshot(&folder.archive());
    std::fs::remove_file(folder.path().join(key(1, "a"))).unwrap();
    folder.put(&key(2, "b"), &lines[lines.len() / 2..]);
    runtime().block_on(async {
        let table = new_table(&client).await;
        fill_with(&client, &table, &folded(&lines)).await;
        let compared = compare(with_archive(&client, &table, folder.archive()), |_| ()).await.unwrap();
        assert!(compared.is_equal(), "{compared:?}");
    });
}

/// The table has an event that the archive gets only during the pause.
#[test]
fn an_event_that_reaches_the_archive_during_the_pause_is_not_a_difference() {
    let (folder, (_engine, client)) = (Folder::new(), engine());
    let mut lines = lines_of_orders(0..5);
    let late = lines.pop().unwrap();
    folder.put(&key(1, "a"), &lines);
    runtime().block_on(async {
        let table = new_table(&client).await;
        lines.push(late.clone());
        fill_with(&client, &table, &folded(&lines)).await;
        let compared = compare(with_archive(&client, &table, folder.archive()), |step| {
            if matches!(step, Step::LookAgain { orders: 1, .. }) {
                folder.put(&key(1, "b"), std::slice::from_ref(&late));
            }
        });
        let compared = compared.await.unwrap();
        assert!(compared.is_equal(), "{compared:?}");
        assert_eq!(compared.settled, 1);
    });
}

/// Every order changes all the time, and the right table is always behind.
#[test]
fn live_traffic_is_not_a_difference_but_a_lost_event_is() {
    let (_engine, client) = engine();
    let (lines, lost) = (lines_of_orders(0..40), "7");
    // Endless location events, each with a later id.
    let location = lines.iter().find(|line| line.contains("DeliveryLocationUpdated")).unwrap().clone();
    let location: serde_json::Value = serde_json::from_str(&location).unwrap();
    let start = order_events::Timestamp::from(std::time::SystemTime::now()).as_millis();
    runtime().block_on(async {
        let (left, right) = (new_table(&client).await, new_table(&client).await);
        let orders = folded(&lines);
        fill_with(&client, &left, &orders).await;
        // Order 7 of the right table never gets its last event.
        let mut incomplete = orders.clone();
        let order_7 = lines_of_order(7);
        incomplete.insert(lost.to_owned(), folded(&order_7[..order_7.len() - 1]).remove(lost).unwrap());
        fill_with(&client, &right, &incomplete).await;

        let ends = Arc::new(AtomicBool::new(false));
        let writer = {
            let (ends, client, left, right) = (Arc::clone(&ends), client.clone(), left.clone(), right.clone());
            async move {
                let (left, right) = (OrderStore::new(client.clone(), left), OrderStore::new(client, right));
                let mut waiting = std::collections::VecDeque::new();
                let mut number = 0_usize;
                while !ends.load(Ordering::Relaxed) {
                    let id = format!("{:016x}-{number:016x}", start + i64::try_from(number).unwrap()).parse().unwrap();
                    let message = sample_events::message_of_order(&location, id, &(number % 40).to_string(), None);
                    let event = events(&[message.to_string()]).remove(0);
                    let _ = left.apply(&event).await.unwrap();
                    waiting.push_back(event);
                    if waiting.len() > 20 {
                        let _ = right.apply(&waiting.pop_front().unwrap()).await.unwrap();
                    }
                    number += 1;
                }
                number
            }
        };
        let writer = tokio::spawn(writer);
        let options = Options { pause: Duration::from_millis(1_500), ..tables(&client, &left, &right) };
        let compared = compare(options, |_| ()).await.unwrap();
        ends.store(true, Ordering::Relaxed);
        let written = writer.await.unwrap();
        assert!(written > 100, "there was traffic: {written} events");
        assert!(compared.settled > 0, "some orders differed at first: {compared:?}");
        assert_eq!(compared.differences.keys().collect::<Vec<_>>(), [lost], "{compared:?}");
    });
}

#[test]
fn the_cost_is_reported_before_anything_is_read() {
    let (engine, client) = engine();
    runtime().block_on(async {
        let (left, right) = (new_table(&client).await, new_table(&client).await);
        fill_with(&client, &left, &folded(&lines_of_orders(0..50))).await;
        let wire = Wire::watched();
        let watched = engine.client_over(&wire);
        let steps = Mutex::new(Vec::new());
        let compared = compare(tables(&watched, &left, &right), |step| {
            steps.lock().unwrap().push((wire.count("Scan") + wire.count("BatchGetItem"), step));
        });
        let compared = compared.await.unwrap();
        assert_eq!(compared.counts(), (0, 50, 0));
        let steps = steps.into_inner().unwrap();
        let (0, Step::Estimate(estimate)) = &steps[0] else { panic!("{:?}", steps[0]) };
        assert_eq!(estimate.orders, 50);
        assert!(estimate.bytes > 50_000 && estimate.read_units == estimate.bytes.div_ceil(8_192), "{estimate:?}");
    });
}

/// With two tables, all orders that are read are compared.
#[test]
fn a_sample_of_two_tables_reads_a_part_of_them_and_finds_its_differences() {
    let (_engine, client) = engine();
    runtime().block_on(async {
        let (left, right) = (new_table(&client).await, new_table(&client).await);
        let view = folded(&lines_of_order(1)).remove("1").unwrap();
        let item = |number: usize| write_item(&VIEW, &number.to_string(), &view);
        for table in [&left, &right] {
            fill(&client, table, (0..1_000).map(item)).await;
        }
        let options = Options { sample: "20%".parse().unwrap(), ..tables(&client, &left, &right) };
        let compared = compare(options.clone(), |_| ()).await.unwrap();
        assert!(compared.is_equal());
        assert_eq!(compared.left, compared.right, "both sides have the same orders in the sample");
        assert!((100..300).contains(&compared.left), "{} of 1,000 orders", compared.left);
        // All orders differ now, so exactly the orders of the sample must be listed.
        for number in 0..1_000 {
            set(&client, &right, &number.to_string(), "status", text("TELEPORTED")).await;
        }
        let again = compare(options, |_| ()).await.unwrap();
        assert_eq!(again.differences.len() as u64, compared.left);
    });
}

#[test]
fn a_sample_against_the_archive_has_the_same_orders_on_both_sides() {
    let (folder, (_engine, client)) = (Folder::new(), engine());
    let lines = lines_of_orders(0..200);
    folder.put(&key(1, "a"), &lines);
    runtime().block_on(async {
        let table = new_table(&client).await;
        let all = folded(&lines);
        fill_with(&client, &table, &all).await;
        let sample: Sample = "0.25".parse().unwrap();
        let chosen: BTreeSet<_> = all.keys().filter(|order_id| sample.has(order_id)).cloned().collect();
        assert!((30..70).contains(&chosen.len()), "{} of 200", chosen.len());
        let options = Options { sample, ..with_archive(&client, &table, folder.archive()) };
        let compared = compare(options.clone(), |_| ()).await.unwrap();
        assert!(compared.is_equal());
        assert_eq!((compared.left, compared.right), (chosen.len() as u64, chosen.len() as u64));
        for order_id in all.keys() {
            set(&client, &table, order_id, "restaurantName", text("Elsewhere")).await;
        }
        let compared = compare(options, |_| ()).await.unwrap();
        assert_eq!(compared.differences.into_keys().collect::<BTreeSet<_>>(), chosen);
    });
}

#[test]
fn a_sample_is_a_share_above_0_and_at_most_100_percent() {
    for good in ["1%", "100%", "0.01", "1", "0.1 %"] {
        good.parse::<Sample>().unwrap_or_else(|error| panic!("{good}: {error}"));
    }
    for bad in ["0", "0%", "101%", "2", "-1%", "x", "", "%"] {
        assert!(bad.parse::<Sample>().is_err(), "{bad}");
    }
}

/// `DynamoDB` may leave keys out of a response.
#[test]
fn unprocessed_keys_are_requested_again() {
    const LEFT_OUT: &str = r#"{"Responses":{},"UnprocessedKeys":{"kept":{"ConsistentRead":true,"Keys":[
        {"orderId":{"S":"0"}},{"orderId":{"S":"1"}},{"orderId":{"S":"2"}}]}}}"#;
    let (engine, client) = engine();
    runtime().block_on(async {
        order_store::table::create_if_missing(&client, "kept").await.unwrap();
        let orders_there = folded(&lines_of_orders(0..3));
        fill_with(&client, "kept", &orders_there).await;
        let wire = Wire::disturbed(|request| match request.number {
            1 => Disturbance::Respond(200, LEFT_OUT),
            2 => Disturbance::Throttle,
            _ => Disturbance::None,
        });
        let source = Source { client: engine.client_over(&wire), name: "kept".to_owned() };
        let found = source.get(&["0", "1", "2", "3"].map(str::to_owned)).await.unwrap();
        assert_eq!(wire.requests().len(), 3);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["0", "1", "2"]);
    });
}

/// More orders than fit into one response or one page.
#[test]
fn hundreds_of_orders_are_read_by_their_ids() {
    let (_engine, client) = engine();
    runtime().block_on(async {
        let table = new_table(&client).await;
        let view: State = folded(&lines_of_order(1)).remove("1").unwrap();
        fill(&client, &table, (0..450).map(|number| write_item(&VIEW, &number.to_string(), &view))).await;
        let source = Source { client: client.clone(), name: table.clone() };
        let ids: Vec<_> = (0..500).map(|number| number.to_string()).collect();
        assert_eq!(source.get(&ids).await.unwrap().len(), 450);
        assert_eq!(orders(&client, &table).await.len(), 450);
    });
}
