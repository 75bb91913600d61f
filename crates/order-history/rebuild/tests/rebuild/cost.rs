//! The cost of a rebuild: the estimate, the real cost, and the rate.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use archive::Store;
use aws_sdk_dynamodb::types::AttributeValue;
use embedded_dynamodb::{Disturbance, Wire};
use projection::dynamodb::item_size;
use rebuild::estimate::{Estimate, EstimateInput, Prices};
use rebuild::filter::Filter;
use rebuild::plan::{BATCH_BYTES, SnapshotChoice, Work};
use tokio::net::TcpListener;

use crate::commands::rebuild as binary;
use crate::world::{Folder, Rebuild, S3, engine, folded, key, lines_of_order, lines_of_orders, new_table, orders};

async fn estimate(archive: &Store, memory: usize, sample: u64) -> Estimate {
    let filter = Filter::default();
    let Work { batches, .. } = Work::list(archive, &filter, SnapshotChoice::None, BATCH_BYTES).await.unwrap();
    let input = EstimateInput { archive, filter: &filter, batches: &batches, memory, rate: Some(100), sample };
    Estimate::make(&input, Prices::read().unwrap()).await.unwrap()
}

/// Eight days. Half of the orders have events on two days, so that some writes create and some update.
fn eight_days(folder: &Folder) {
    for day in 1..9 {
        let begun: Vec<_> =
            (day * 10..day * 10 + 6).flat_map(|order| lines_of_order(order).into_iter().take(9)).collect();
        let ended: Vec<_> =
            (day * 10 - 10..day * 10 - 7).flat_map(|order| lines_of_order(order).into_iter().skip(9)).collect();
        folder.put(&key(day, "a"), [begun, ended].concat());
    }
}

#[tokio::test]
async fn the_estimate_is_within_a_tenth_of_the_units_consumed() {
    let (_engine, client) = engine();
    let folder = Folder::new();
    eight_days(&folder);
    let bytes: u64 = folder.files().values().map(|content| content.len() as u64).sum();
    // In one part and in many; all read and a sample. Concurrent batches are written in any sequence, and then some writes are a unit
    // larger or smaller than in the sequence of the days, which the estimate uses.
    for (memory, sample, jobs, tolerance) in
        [(64 << 20, u64::MAX, 1, 0.02), (100_000, u64::MAX, 2, 0.1), (64 << 20, bytes / 2, 2, 0.1)]
    {
        let table = new_table(&client).await;
        let estimate = estimate(&folder.archive(), memory, sample).await;
        assert_eq!(estimate.is_exact, sample == u64::MAX);
        let rebuild = Rebuild { memory, jobs, ..Rebuild::new(folder.archive(), client.clone(), &table) };
        let (report, _) = rebuild.run().await.unwrap();
        #[allow(clippy::cast_precision_loss)]
        let deviation = estimate.write_units as f64 * 1_000.0 / report.stored.milliunits as f64 - 1.0;
        assert!(deviation.abs() <= tolerance, "{deviation:+.3} of {:?}: {estimate:?}", report.stored);
        assert!(report.stored.requests > report.stored.views, "some orders are updated");
        assert_eq!(estimate.seconds, estimate.write_units.div_ceil(100));
        std::fs::remove_dir_all(folder.path().join("runs")).unwrap();
    }
}

#[tokio::test]
async fn a_plan_and_a_dry_run_write_nothing() {
    let ((engine, client), s3) = (engine(), S3::start().await);
    // In this process.
    let bucket = s3.bucket(&[(key(1, "a"), lines_of_orders(1..4)), (key(2, "b"), lines_of_orders(2..6))]);
    let wire = Wire::watched();
    let estimated = estimate(&s3.store_over(&wire, &bucket), 1 << 20, u64::MAX).await;
    assert_eq!(estimated.events, (lines_of_orders(1..4).len() + lines_of_orders(2..6).len()) as u64);
    // S3's requests have no operation: the listing, and each file once.
    assert_eq!(wire.requests().len(), 1 + 2);
    let before = s3.files();
    assert!(before.keys().all(|path| !path.to_string_lossy().contains("/runs/")));

    // The binary, with an S3 and a DynamoDB that counts connections.
    let (table, dynamodb) = (new_table(&client).await, TcpListener::bind("127.0.0.1:0").await.unwrap());
    let connected = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&connected);
    let address = format!("http://{}", dynamodb.local_addr().unwrap());
    let counting = tokio::spawn(async move {
        while dynamodb.accept().await.is_ok() {
            counter.fetch_add(1, Ordering::SeqCst);
        }
    });
    let from = format!("s3://{bucket}");
    for arguments in [
        ["plan", "--from", &from, "--into", &table, "--json"].as_slice(),
        &["run", "--dry-run", "--from", &from, "--into", &table, "--json"],
        &["run", "--dry-run", "--from", &from, "--into", &table, "--sink", "files"],
    ] {
        let mut command = crate::commands::command(&engine, arguments);
        command.env("AWS_ENDPOINT_URL_DYNAMODB", &address).env("AWS_ENDPOINT_URL_S3", &s3.endpoint);
        let ended = crate::commands::ended(command.spawn().unwrap()).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
    counting.abort();
    assert_eq!(connected.load(Ordering::SeqCst), 0, "no request to DynamoDB");
    assert_eq!(s3.files(), before, "nothing is put into S3");
}

#[tokio::test]
async fn a_new_table_needs_one_request_for_each_order_and_batch() {
    let (engine, client) = engine();
    let (folder, table) = (Folder::new(), new_table(&client).await);
    for day in 1..5 {
        folder.put(&key(day, "a"), lines_of_orders(day * 10..day * 10 + 8));
    }
    let wire = Wire::watched();
    let rebuild = Rebuild::new(folder.archive(), engine.client_over(&wire), &table);
    let (report, _) = rebuild.run().await.unwrap();
    assert_eq!(orders(&client, &table).await.len(), 32);
    let sent = wire.requests().len();
    assert!(sent * 10 <= 32 * 11, "{sent} requests for 32 orders");
    assert_eq!((report.stored.requests, report.stored.views), (sent as u64, 32));
}

#[tokio::test]
async fn a_run_keeps_the_rate() {
    let (_engine, client) = engine();
    let (folder, table) = (Folder::new(), new_table(&client).await);
    for day in 1..4 {
        folder.put(&key(day, "a"), lines_of_orders(day * 100..day * 100 + 80));
    }
    let rebuild = Rebuild { rate: Some(400), ..Rebuild::new(folder.archive(), client.clone(), &table) };
    let begun = Instant::now();
    let (report, _) = rebuild.run().await.unwrap();
    let elapsed = begun.elapsed();
    assert_eq!(orders(&client, &table).await.len(), 240);
    #[allow(clippy::cast_precision_loss)]
    let units = report.stored.milliunits as f64 / 1_000.0;
    assert!(units > 800.0, "{units} units are too few to measure a rate");
    let rate = units / elapsed.as_secs_f64();
    assert!(rate <= 400.0 * 1.1, "{rate} units per second");
    assert!(rate >= 400.0 * 0.5, "{rate} units per second");
}

#[tokio::test]
async fn a_table_that_throttles_slows_the_run_down_and_it_finishes() {
    let (engine, client) = engine();
    let (folder, table) = (Folder::new(), new_table(&client).await);
    folder.put(&key(1, "a"), lines_of_orders(1..301));
    // It accepts 200 writes per second, and a tenth of that at the same time.
    let bucket = Mutex::new((20.0_f64, Instant::now()));
    let throttled = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&throttled);
    let wire = Wire::disturbed(move |_| {
        let mut bucket = bucket.lock().unwrap();
        let passed = bucket.1.elapsed().as_secs_f64();
        *bucket = ((bucket.0 + passed * 200.0).min(20.0), Instant::now());
        if bucket.0 >= 1.0 {
            bucket.0 -= 1.0;
            return Disturbance::None;
        }
        counter.fetch_add(1, Ordering::SeqCst);
        Disturbance::Throttle
    });
    let begun = Instant::now();
    let rebuild = Rebuild::new(folder.archive(), engine.client_over(&wire), &table);
    rebuild.run().await.unwrap();
    assert_eq!(orders(&client, &table).await, folded(&lines_of_orders(1..301)));
    let (throttled, sent) = (throttled.load(Ordering::SeqCst), wire.requests().len());
    assert!(throttled > 0 && begun.elapsed() > Duration::from_secs(1));
    assert!(throttled * 2 < sent, "{throttled} of {sent} requests were throttled: it did not slow down");
}

#[tokio::test]
async fn an_order_of_more_than_400_kilobytes_is_reported_and_the_others_are_stored() {
    let (engine, client) = engine();
    let (folder, table) = (Folder::new(), new_table(&client).await);
    let (first, long) = (lines_of_order(2)[0].clone(), "Chicken Vindaloo ".repeat(30_000));
    let large = first.replace("Ajanta", &long);
    assert!(large.len() > 400 * 1024);
    folder.put(&key(1, "a"), [lines_of_order(1), vec![large], lines_of_order(3)].concat());
    // A part of an existing order, which would become too large.
    folder.put(&key(2, "b"), lines_of_order(4));
    let grown = lines_of_order(4)[0].replace("Ajanta", &long).replace("-0000000400000000", "-0000000400000fff");
    folder.put(&key(3, "c"), [grown]);
    let rebuild = Rebuild { jobs: 1, ..Rebuild::new(folder.archive(), client.clone(), &table) };
    let (report, _) = rebuild.run().await.unwrap();
    assert_eq!(report.stored.too_large, BTreeSet::from(["2".to_owned(), "4".to_owned()]));
    assert!(!report.is_clean());
    assert_eq!(
        orders(&client, &table).await,
        folded(&[lines_of_order(1), lines_of_order(3), lines_of_order(4)].concat())
    );

    let table = new_table(&client).await;
    let ran = binary(&engine, &["run", "--from", folder.path().to_str().unwrap(), "--into", &table]).await;
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.errors.contains("order 2 would exceed DynamoDB's 400 KB"), "{ran:?}");
    assert!(!ran.errors.contains("Vindaloo") && !ran.output.contains("Vindaloo"));
}

/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>
#[test]
fn the_size_of_an_item_is_counted_by_the_rules_of_dynamodb() {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let item: HashMap<_, _> = [
        ("orderId", text("99")),
        ("n", AttributeValue::N("-12345".to_owned())),
        ("l", AttributeValue::L(vec![AttributeValue::Bool(true), AttributeValue::Null(true)])),
        ("m", AttributeValue::M(HashMap::from([("ab".to_owned(), text("é"))]))),
        ("s", AttributeValue::Ss(vec!["abc".to_owned(), "d".to_owned()])),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect();
    // Names and values: 7+2, 1+5, 1+(3+2+2), 1+(3+1+2+2), 1+4.
    assert_eq!(item_size(&item), 9 + 6 + 8 + 9 + 5);
}
