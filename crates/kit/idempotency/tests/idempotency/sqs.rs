//! A batch of SQS messages: each is done once and fails alone, and none is acknowledged before its work is done.

use std::collections::BTreeSet;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use embedded_dynamodb::{Disturbance, Wire};
use idempotency::sqs::{
    BatchObserver, KeyedMessage, MessageError, MessageOutcome, ProcessedMessage, SqsBatch, process_batch,
};
use idempotency::{Error, Fingerprint, TimedStore};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::{IN_PROGRESS_FOR, World, expect_completed, expect_in_progress, expect_new};

#[derive(Deserialize)]
struct Order {
    id: String,
}

fn key(order: &Order) -> String {
    order.id.clone()
}

/// Messages that are named by their place: `m0`, `m1`, …
fn batch<'a>(bodies: impl IntoIterator<Item = &'a str>) -> SqsEvent {
    let message = |(place, body)| json!({"messageId": format!("m{place}"), "body": body});
    let records: Vec<Value> = bodies.into_iter().enumerate().map(message).collect();
    serde_json::from_value(json!({ "Records": records })).expect("a batch")
}

fn orders(count: usize) -> SqsEvent {
    let bodies: Vec<_> = (0..count).map(|id| format!(r#"{{"id":"{id}"}}"#)).collect();
    batch(bodies.iter().map(String::as_str))
}

/// The messages that the queue delivers again.
fn failures(response: &SqsBatchResponse) -> BTreeSet<&str> {
    response.batch_item_failures.iter().map(|failure| failure.item_identifier.as_str()).collect()
}

/// The work: it counts how often it was done for each order, and does what the order's name says.
#[derive(Default)]
struct Work {
    done: Mutex<Vec<String>>,
}

impl Work {
    async fn run(&self, order: &Order) -> Result<(), io::Error> {
        match order.id.as_str() {
            "fails" => return Err(io::Error::other("no card")),
            "panics" => panic!("a bug"),
            "hangs" => std::future::pending().await,
            _ => {}
        }
        self.done.lock().expect("a list").push(order.id.clone());
        Ok(())
    }

    fn done(&self) -> Vec<String> {
        let mut done = self.done.lock().expect("a list").clone();
        done.sort_unstable();
        done
    }

    async fn process(&self, store: &TimedStore, batch: SqsEvent) -> Result<SqsBatchResponse, String> {
        let work = async |order: &Order| self.run(order).await;
        process_batch(store, batch, key, work).await.map_err(|error| error.to_string())
    }
}

#[tokio::test]
async fn a_batch_is_done_with_two_requests_for_each_message() {
    let (world, work, wire) = (World::start().await, Work::default(), Wire::watched());
    let response = work.process(&world.store_over(&wire), orders(10)).await.expect("a response");
    assert_eq!(response, SqsBatchResponse::default());
    assert_eq!(work.done().len(), 10);
    assert_eq!((wire.count("PutItem"), wire.count("UpdateItem")), (10, 10));
    assert_eq!(wire.requests().len(), 20);
    assert_eq!(world.status("7").await.as_deref(), Some("COMPLETED"));
}

#[tokio::test]
async fn the_records_of_idempotent_work_can_be_completed_together() {
    let (world, wire) = (World::start().await, Wire::watched());
    let store = world.store_over(&wire);
    let batch = SqsBatch::new(&store, batch(["0", "1", "2"])).complete_together();
    let response = batch.process(by_body, async |_: &String| Ok(()), &mut Outcomes::default()).await;
    assert_eq!(response.expect("a response"), SqsBatchResponse::default());
    assert_eq!((wire.count("PutItem"), wire.count("BatchWriteItem")), (3, 1));
    assert_eq!(wire.requests().len(), 4);
    assert_eq!(world.status("2").await.as_deref(), Some("COMPLETED"));
}

/// If the process dies now, only the message that still runs is done again.
#[tokio::test]
async fn each_record_is_completed_while_other_work_of_the_batch_still_runs() {
    let (world, work) = (World::start().await, Work::default());
    let store = world.store();
    let mut running = Box::pin(work.process(&store, batch([r#"{"id":"1"}"#, r#"{"id":"hangs"}"#])));
    let expected = [Some("COMPLETED".to_owned()), Some("INPROGRESS".to_owned())];
    let one_is_completed = async {
        while [world.status("1").await, world.status("hangs").await] != expected {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        outcome = &mut running => panic!("{outcome:?}"),
        () = one_is_completed => {}
    }
}

#[tokio::test]
async fn a_batch_of_a_fifo_queue_is_refused() {
    let (world, work, wire) = (World::start().await, Work::default(), Wire::watched());
    let mut fifo = orders(2);
    fifo.records[1].event_source_arn = Some("arn:aws:sqs:eu-central-1:123456789012:orders.fifo".to_owned());
    let mut outcomes = Outcomes::default();
    let store = world.store_over(&wire);
    let outcome = SqsBatch::new(&store, fifo.clone()).process(by_body, async |_: &String| Ok(()), &mut outcomes).await;
    assert_eq!(outcome.expect_err("nothing is done").messages, 2);
    let refused = "failed: the messages of a FIFO queue would lose their order: use a standard queue";
    assert_eq!(outcomes.0, [format!("m0 -: {refused}"), format!("m1 -: {refused}")]);
    assert!(work.process(&store, fifo).await.is_err());
    assert_eq!(wire.requests().len(), 0);

    let mut standard = orders(2);
    standard.records[1].event_source_arn = Some("arn:aws:sqs:eu-central-1:123456789012:orders".to_owned());
    let response = work.process(&store, standard).await.expect("a response");
    assert_eq!(response, SqsBatchResponse::default());
}

#[tokio::test]
async fn a_parser_that_panics_fails_only_its_message() {
    let (world, work) = (World::start().await, Work::default());
    let key = |order: &Order| order.id[..2].to_owned();
    let store = world.store();
    let orders = batch([r#"{"id":"a"}"#, r#"{"id":"abc"}"#]);
    let response = process_batch(&store, orders, key, async |order: &Order| work.run(order).await).await;
    assert_eq!(failures(&response.expect("one is done")), ["m0"].into());
    assert_eq!(work.done(), ["abc"]);
}

#[tokio::test]
async fn an_empty_batch_is_answered_without_a_request() {
    let (world, work, wire) = (World::start().await, Work::default(), Wire::watched());
    let response = work.process(&world.store_over(&wire), batch([])).await.expect("a response");
    assert_eq!(response, SqsBatchResponse::default());
    assert_eq!(wire.requests().len(), 0);
}

#[tokio::test]
async fn a_batch_that_is_delivered_twice_is_done_once() {
    let (world, work) = (World::start().await, Work::default());
    for _ in 0..2 {
        let response = work.process(&world.store(), orders(3)).await.expect("a response");
        assert_eq!(response, SqsBatchResponse::default());
    }
    assert_eq!(work.done(), ["0", "1", "2"]);
}

#[tokio::test]
async fn a_message_twice_in_a_batch_is_done_once_and_acknowledged_twice() {
    let (world, work, wire) = (World::start().await, Work::default(), Wire::watched());
    let body = r#"{"id":"1"}"#;
    let response = work.process(&world.store_over(&wire), batch([body, body])).await.expect("a response");
    assert_eq!(response, SqsBatchResponse::default());
    assert_eq!(work.done(), ["1"]);
    assert_eq!(wire.count("PutItem"), 1);
}

#[tokio::test]
async fn of_two_bodies_with_one_key_only_one_is_done_and_the_other_is_delivered_again() {
    let (world, work) = (World::start().await, Work::default());
    let bodies = [r#"{"id":"1"}"#, r#"{"id":"1","total":2}"#];
    let response = work.process(&world.store(), batch(bodies)).await.expect("a response");
    assert_eq!(response.batch_item_failures.len(), 1);
    assert_eq!(work.done(), ["1"]);
}

#[tokio::test]
async fn messages_that_cannot_be_read_or_have_no_key_fail_alone() {
    let (world, work, wire) = (World::start().await, Work::default(), Wire::watched());
    let mut batch = batch(["not JSON", r#"{"id":7}"#, r#"{"id":""}"#, r#"{"id":"1"}"#, "x"]);
    batch.records[4].body = None;
    let response = work.process(&world.store_over(&wire), batch).await.expect("a response");
    assert_eq!(failures(&response), ["m0", "m1", "m2", "m4"].into());
    assert_eq!(work.done(), ["1"]);
    assert_eq!(wire.count("PutItem"), 1);
}

#[tokio::test]
async fn work_that_fails_or_panics_fails_alone_and_can_be_tried_again_at_once() {
    let (world, work) = (World::start().await, Work::default());
    let bodies = [r#"{"id":"fails"}"#, r#"{"id":"1"}"#, r#"{"id":"panics"}"#, r#"{"id":"fails"}"#];
    let response = work.process(&world.store(), batch(bodies)).await.expect("a response");
    assert_eq!(failures(&response), ["m0", "m2", "m3"].into());
    assert_eq!(work.done(), ["1"]);
    for id in ["fails", "panics"] {
        assert_eq!(world.record(id).await, None, "{id} is released");
    }
}

#[tokio::test]
async fn work_that_takes_too_long_is_stopped_in_time_and_its_message_is_delivered_again() {
    let (world, work) = (World::start().await, Work::default());
    let limit = Duration::from_secs(2);
    let store = world.store().for_at_most(limit);
    let bodies = [r#"{"id":"hangs"}"#, r#"{"id":"1"}"#];
    let start = Instant::now();
    let response = work.process(&store, batch(bodies)).await.expect("a response");
    assert!(start.elapsed() >= Duration::from_millis(1_500), "a quarter of the time is reserved, and no more");
    assert_eq!(failures(&response), ["m0"].into());
    assert_eq!(work.done(), ["1"]);
    assert_eq!(world.status("1").await.as_deref(), Some("COMPLETED"));
    assert_eq!(world.status("hangs").await.as_deref(), Some("INPROGRESS"), "it may still take effect");
    world.clock.advance(limit * 2);
    let _claim = expect_new(world.store().claim("hangs", &Fingerprint::none()).await);
}

/// A message that starts late must not use the time that is reserved for the records and the response.
#[tokio::test]
async fn work_that_is_stopped_makes_no_room_for_more_work() {
    let world = World::start().await;
    let store = world.store().for_at_most(Duration::from_secs(3));
    let name = |number| if number == 0 { "1".to_owned() } else { format!("hangs {number}") };
    let bodies: Vec<_> = (0..30).map(name).collect();
    let started = AtomicUsize::new(0);
    let work = async |value: &String| {
        started.fetch_add(1, Ordering::SeqCst);
        if value.starts_with("hangs") { std::future::pending().await } else { Ok(()) }
    };
    let batch = SqsBatch::new(&store, batch(bodies.iter().map(String::as_str))).concurrency(3);
    let response = batch.process(by_body, work, &mut Outcomes::default()).await.expect("a response");
    assert_eq!(response.batch_item_failures.len(), 29);
    assert_eq!(started.load(Ordering::SeqCst), 4, "one that ends, and three that are stopped");
    assert_eq!(world.status("1").await.as_deref(), Some("COMPLETED"));
}

#[tokio::test]
async fn nothing_is_started_when_time_is_up() {
    let (world, work, wire) = (World::start().await, Work::default(), Wire::watched());
    for store in [world.store_over(&wire).for_at_most(Duration::ZERO), world.store_over(&wire).until(world.clock.now())]
    {
        let failed = work.process(&store, orders(3)).await.expect_err("nothing is done");
        assert_eq!(failed, "every message of the batch failed (3): see the log line of each");
    }
    assert_eq!(wire.requests().len(), 0);
}

#[tokio::test]
async fn requests_that_are_never_answered_do_not_delay_the_response() {
    let cases = [("PutItem", false), ("UpdateItem", true), ("BatchWriteItem", true), ("DeleteItem", false)];
    for (operation, is_done) in cases {
        let world = World::start().await;
        let wire = Wire::disturbed(move |request| match request.operation.as_str() {
            stalled if stalled == operation => Disturbance::Stall,
            _ => Disturbance::None,
        });
        let store = world.store_over(&wire).for_at_most(Duration::from_secs(2));
        let started = AtomicUsize::new(0);
        let work = async |_: &String| {
            started.fetch_add(1, Ordering::SeqCst);
            if operation == "DeleteItem" { Err("no card".to_owned()) } else { Ok(()) }
        };
        let mut batch = SqsBatch::new(&store, batch(["a"]));
        if operation == "BatchWriteItem" {
            batch = batch.complete_together();
        }
        let mut outcomes = Outcomes::default();
        let outcome = tokio::time::timeout(Duration::from_secs(20), batch.process(by_body, work, &mut outcomes)).await;
        let outcome = outcome.expect("in time");
        assert_eq!(outcome.is_ok(), is_done, "{operation}: {outcome:?}");
        assert_eq!(started.load(Ordering::SeqCst), usize::from(operation != "PutItem"), "{operation}");
        assert_eq!(wire.count(operation), 1);
        let reported = outcomes.0.iter().any(|outcome| outcome.starts_with("not") && outcome.ends_with("out_of_time"));
        assert_eq!(reported, operation != "PutItem", "{operation}: {:?}", outcomes.0);
    }
}

#[tokio::test]
async fn a_batch_of_messages_in_progress_is_no_error_but_one_failure_makes_it_one() {
    let (world, work) = (World::start().await, Work::default());
    let store = world.store();
    let claim = expect_new(store.claim("1", &Fingerprint::of(r#"{"id":"1"}"#)).await);
    let response = work.process(&store, batch([r#"{"id":"1"}"#])).await.expect("no error");
    assert_eq!(failures(&response), ["m0"].into());
    let failed = work.process(&store, batch([r#"{"id":"1"}"#, "not JSON"])).await;
    assert!(failed.is_err(), "{failed:?}");
    assert_eq!(work.done().len(), 0);

    store.complete(claim, None).await.expect("completed");
    let response = work.process(&store, batch([r#"{"id":"1"}"#, "not JSON"])).await.expect("one is done");
    assert_eq!(failures(&response), ["m1"].into());
}

#[tokio::test]
async fn at_most_ten_messages_run_at_once_unless_set() {
    for (concurrency, expected) in [(None, 10), (Some(3), 3), (Some(0), 1)] {
        let world = World::start().await;
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = async |_: &String| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(())
        };
        let store = world.store();
        let mut batch = SqsBatch::new(&store, orders(25));
        if let Some(concurrency) = concurrency {
            batch = batch.concurrency(concurrency);
        }
        let response = batch.process(by_body, work, &mut Outcomes::default()).await.expect("a response");
        assert_eq!(response, SqsBatchResponse::default());
        let most = most.load(Ordering::SeqCst);
        assert!(most <= expected && (expected == 1 || most > 1), "{most} at once, with {concurrency:?}");
    }
}

/// The whole body is the key.
fn by_body(message: &SqsMessage) -> Result<KeyedMessage<String>, String> {
    let body = message.body.clone().unwrap_or_default();
    match body.as_str() {
        "unreadable" => Err(body),
        _ => Ok(KeyedMessage { key: body.clone(), fingerprint: Fingerprint::none(), value: body }),
    }
}

/// The outcomes that the observer is called with, as texts.
#[derive(Default)]
struct Outcomes(Vec<String>);

impl BatchObserver<String, (), String> for Outcomes {
    fn processed(&mut self, message: ProcessedMessage<'_, String, (), String>) {
        let ProcessedMessage { message_id, value, outcome, .. } = message;
        let outcome = match outcome {
            MessageOutcome::New(()) => "new".to_owned(),
            MessageOutcome::Completed => "completed".to_owned(),
            MessageOutcome::InProgress { until } => format!("in progress, until known: {}", until.is_some()),
            MessageOutcome::Failed(MessageError::Work(error) | MessageError::Parse(error)) => {
                format!("failed: {error}")
            }
            MessageOutcome::Failed(error @ MessageError::Record(_)) => {
                format!("failed: {error} ({})", error.code(|_| ""))
            }
            MessageOutcome::Failed(error) => format!("failed: {error}"),
        };
        self.0.push(format!("{message_id} {}: {outcome}", value.map_or("-", String::as_str)));
    }

    fn not_released(&mut self, message_ids: &[String], value: &String, error: &Error) {
        self.0.push(format!("not released: {} {value}: {}", message_ids.join(","), error.code()));
    }

    fn not_completed(&mut self, message_ids: &[String], values: &[String], error: &Error) {
        self.0.push(format!("not completed: {} {}: {}", message_ids.join(","), values.join(","), error.code()));
    }
}

#[tokio::test]
async fn the_observer_is_told_about_every_message() {
    let world = World::start().await;
    let store = world.store();
    let _claim = expect_new(store.claim("busy", &Fingerprint::none()).await);
    let claim = expect_new(store.claim("done", &Fingerprint::none()).await);
    store.complete(claim, None).await.expect("completed");
    let mut outcomes = Outcomes::default();
    let work = async |value: &String| if value == "bad" { Err("no card".to_owned()) } else { Ok(()) };
    let bodies = ["unreadable", "a", "a", "busy", "done", "bad", "bad", ""];
    let batch = SqsBatch::new(&store, batch(bodies)).concurrency(1);
    let response = batch.process(by_body, work, &mut outcomes).await.expect("a response");
    assert_eq!(failures(&response), ["m0", "m3", "m5", "m6", "m7"].into());
    let expected = [
        "m0 -: failed: unreadable",
        "m1 a: new",
        "m2 a: completed",
        "m3 busy: in progress, until known: true",
        "m4 done: completed",
        "m5 bad: failed: no card",
        "m6 bad: failed: no card",
        "m7 : failed: the work was not started: its idempotency record could not be used (record_key_empty)",
    ];
    assert_eq!(outcomes.0, expected);
}

#[tokio::test]
async fn work_starts_in_the_order_of_the_batch_or_of_the_keys() {
    for (in_key_order, expected) in [(false, ["b", "c", "a"]), (true, ["a", "b", "c"])] {
        let world = World::start().await;
        let started = Mutex::new(Vec::new());
        let work = async |value: &String| {
            started.lock().expect("a list").push(value.clone());
            Ok(())
        };
        let store = world.store();
        let mut batch = SqsBatch::new(&store, batch(["b", "c", "a", "b"])).concurrency(1);
        if in_key_order {
            batch = batch.in_key_order();
        }
        let _ = batch.process(by_body, work, &mut Outcomes::default()).await.expect("a response");
        assert_eq!(*started.lock().expect("a list"), expected);
    }
}

#[tokio::test]
async fn done_is_acknowledged_although_its_record_cannot_be_completed_and_failed_is_reported_although_not_released() {
    for completes_together in [false, true] {
        let world = World::start().await;
        let wire = Wire::disturbed(|request| match request.operation.as_str() {
            "UpdateItem" | "BatchWriteItem" | "DeleteItem" => Disturbance::FailBefore,
            _ => Disturbance::None,
        });
        let mut outcomes = Outcomes::default();
        let work = async |value: &String| if value == "bad" { Err("no card".to_owned()) } else { Ok(()) };
        let store = world.store_over(&wire);
        let mut batch = SqsBatch::new(&store, batch(["a", "b", "bad"])).concurrency(1);
        if completes_together {
            batch = batch.complete_together();
        }
        let response = batch.process(by_body, work, &mut outcomes).await.expect("a response");
        assert_eq!(failures(&response), ["m2"].into());
        let of_records: Vec<_> = outcomes.0.iter().filter(|outcome| outcome.starts_with("not")).collect();
        let expected: &[&str] = if completes_together {
            &["not released: m2 bad: record_unavailable", "not completed: m0,m1 a,b: record_unavailable"]
        } else {
            &[
                "not completed: m0 a: record_unavailable",
                "not completed: m1 b: record_unavailable",
                "not released: m2 bad: record_unavailable",
            ]
        };
        assert_eq!(of_records, expected);
        expect_in_progress(world.store().claim("a", &Fingerprint::none()).await);
        world.clock.advance(IN_PROGRESS_FOR * 2);
        let _claim = expect_new(world.store().claim("a", &Fingerprint::none()).await);
    }
}

/// Whatever request fails or loses its response: what is acknowledged is done, and in the end all is done.
#[tokio::test]
async fn no_fault_acknowledges_work_that_is_not_done() {
    for disturbance in [Disturbance::FailBefore, Disturbance::LoseResponse, Disturbance::Throttle] {
        for disturbed in 1..=8 {
            let (world, work) = (World::start().await, Work::default());
            let wire = Wire::disturbed(move |request| match request.number {
                number if number == disturbed => disturbance,
                _ => Disturbance::None,
            });
            let store = world.store_over(&wire);
            let context = format!("request {disturbed}, {disturbance:?}");
            let response = work.process(&store, orders(4)).await.expect(&context);
            let failed = failures(&response);
            let done = work.done();
            for id in 0..4 {
                let is_acknowledged = !failed.contains(format!("m{id}").as_str());
                assert!(!is_acknowledged || done.contains(&id.to_string()), "{context}: {id}");
            }
            world.clock.advance(IN_PROGRESS_FOR * 2);
            let response = work.process(&store, orders(4)).await.expect(&context);
            assert_eq!(response, SqsBatchResponse::default(), "{context}");
            let done: BTreeSet<_> = work.done().into_iter().collect();
            assert_eq!(done.len(), 4, "{context}");
            expect_completed(store.claim("0", &Fingerprint::none()).await);
        }
    }
}
