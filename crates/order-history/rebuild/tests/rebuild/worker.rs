//! The functions that a state machine calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use archive::Store;
use aws_sdk_dynamodb::Client;
use embedded_dynamodb::{Disturbance, Engine, Wire};
use lambda_boot::Clock;
use lambda_host::lambda::{Function, InvokeError, Settings};
use rebuild::plan::Batch;
use rebuild::worker::{Config, Failure, FoldRequest, FoldResponse, PlanRequest, ReportRequest, Role, Worker};
use serde_json::{Value, json};

use crate::world::{Folder, S3, engine, folded, key, lines_of_orders, new_table, orders};

const MINUTE: Duration = Duration::from_mins(1);

fn worker(archive: Store, client: Client) -> Worker {
    let config = Config {
        role: Role::Fold,
        archive_bucket: "ftgo-archive".to_owned(),
        metrics_namespace: "test".to_owned(),
        memory: 64 << 20,
    };
    Worker::new(config, archive, client, Clock::system())
}

fn into(table: &str) -> PlanRequest {
    PlanRequest { into: Some(table.to_owned()), ..PlanRequest::default() }
}

/// The requests of the state machine: the run and each line of `batches.jsonl`.
fn requests(folder: &Folder, run: &str) -> Vec<FoldRequest> {
    let lines = std::fs::read_to_string(folder.path().join(format!("runs/{run}/batches.jsonl"))).unwrap();
    let request = |line| json!({"run": run, "batch": serde_json::from_str::<Value>(line).unwrap()});
    lines.lines().map(request).map(|request| Worker::read(request).unwrap()).collect()
}

async fn fold(worker: &Worker, request: FoldRequest, left: Duration) -> Result<FoldResponse, Failure> {
    worker.fold(request, "request", SystemTime::now() + left).await
}

fn archive() -> Folder {
    let folder = Folder::new();
    for day in 1..4 {
        folder.put(&key(day, "a"), lines_of_orders(day..day + 3));
    }
    folder
}

#[tokio::test]
async fn a_plan_its_batches_and_a_report_fill_the_table_and_a_second_start_does_nothing() {
    let ((engine, client), folder) = (engine(), archive());
    let table = new_table(&client).await;
    let wire = Wire::watched();
    let worker = worker(folder.archive(), engine.client_over(&wire));
    let only_run = || PlanRequest { run: Some("exec-1".to_owned()), ..PlanRequest::default() };
    let planned = worker.plan(PlanRequest { run: Some("exec-1".to_owned()), ..into(&table) }).await.unwrap();
    let response = serde_json::to_value(&planned).unwrap();
    assert_eq!((&response["run"], &response["into"]), (&json!("exec-1"), &json!(table)));
    assert_eq!((&response["bucket"], &response["key"]), (&json!("ftgo-archive"), &json!("runs/exec-1/batches.jsonl")));
    assert_eq!((&response["batches"], &response["files"]), (&json!(3), &json!(3)));

    let missing = worker.report(ReportRequest { run: "exec-1".to_owned() }).await.unwrap_err();
    assert_eq!(missing.name(), "Unfinished");
    assert!(missing.to_string().contains("batches 00000, 00001, 00002"), "{missing}");
    for request in requests(&folder, "exec-1") {
        assert!(!fold(&worker, request, 10 * MINUTE).await.unwrap().already_done);
    }
    let report = worker.report(ReportRequest { run: "exec-1".to_owned() }).await.unwrap();
    assert!(report.clean);
    assert_eq!(report.events, (lines_of_orders(1..4).len() * 3) as u64);
    let expected = folded(&lines_of_orders(1..6));
    assert_eq!(orders(&client, &table).await, expected);

    // A second start with the same name, after a new file has arrived: the run does not change.
    folder.put(&key(4, "a"), lines_of_orders(9..10));
    let before = wire.requests().len();
    assert_eq!(worker.plan(only_run()).await.unwrap(), planned);
    for request in requests(&folder, "exec-1") {
        assert!(fold(&worker, request, 10 * MINUTE).await.unwrap().already_done);
    }
    assert_eq!(worker.report(ReportRequest { run: "exec-1".to_owned() }).await.unwrap(), report);
    assert_eq!(wire.requests().len(), before, "no request to the table");
    assert_eq!(orders(&client, &table).await, expected);
}

#[tokio::test]
async fn a_request_to_continue_an_unknown_run_does_not_start_it() {
    let ((engine, client), folder) = (engine(), archive());
    let table = new_table(&client).await;
    let worker = worker(folder.archive(), engine.client());
    let failure = worker.plan(PlanRequest { run: Some("exec-1".to_owned()), ..PlanRequest::default() }).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.name(), "Invalid");
    assert!(failure.to_string().contains("run exec-1 does not exist"), "{failure}");
    assert!(!folder.path().join("runs").exists());
    assert!(orders(&client, &table).await.is_empty());
}

/// A worker has fifteen minutes, and repeats the whole batch if it does not end in time.
#[tokio::test]
async fn batches_are_smaller_for_workers_with_a_low_rate() {
    let ((engine, client), folder) = (engine(), archive());
    let table = new_table(&client).await;
    for part in ["b", "c", "d"] {
        folder.put(&key(1, part), lines_of_orders(1..200));
    }
    let worker = worker(folder.archive(), engine.client());
    let batches = async |rate| worker.plan(PlanRequest { rate, ..into(&table) }).await.unwrap().batches;
    assert_eq!(batches(None).await, 3, "one for each day");
    assert!(batches(Some(1)).await > 3);
}

/// DynamoDB's response to a function without permission.
const DENIED: &str = r#"{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"not authorized"}"#;

#[tokio::test]
async fn a_batch_that_fails_three_times_succeeds_the_fourth_time() {
    let ((engine, client), folder) = (engine(), archive());
    let table = new_table(&client).await;
    let is_allowed = Arc::new(AtomicBool::new(false));
    let allowed = Arc::clone(&is_allowed);
    // In each attempt, some writes are stored before the permission is removed.
    let wire = Wire::disturbed(move |request| {
        let is_through = allowed.load(Ordering::SeqCst) || request.number % 3 == 1;
        if is_through { Disturbance::None } else { Disturbance::Respond(400, DENIED) }
    });
    let worker = worker(folder.archive(), engine.client_over(&wire));
    let run = worker.plan(into(&table)).await.unwrap().run;
    for request in requests(&folder, &run) {
        is_allowed.store(false, Ordering::SeqCst);
        for _ in 0..3 {
            let failure = fold(&worker, request.clone(), 10 * MINUTE).await.unwrap_err();
            assert_eq!(failure.name(), "Failed", "{failure}");
        }
        is_allowed.store(true, Ordering::SeqCst);
        assert!(!fold(&worker, request, 10 * MINUTE).await.unwrap().already_done);
    }
    assert!(worker.report(ReportRequest { run }).await.unwrap().clean);
    assert_eq!(orders(&client, &table).await, folded(&lines_of_orders(1..6)));
}

#[tokio::test]
async fn thirty_seconds_before_its_deadline_a_batch_stops_and_its_stored_views_are_kept() {
    let ((engine, client), folder) = (engine(), archive());
    let table = new_table(&client).await;
    let is_stuck = Arc::new(AtomicBool::new(true));
    let stuck = Arc::clone(&is_stuck);
    let wire = Wire::disturbed(move |request| {
        if stuck.load(Ordering::SeqCst) && request.number > 2 { Disturbance::Stall } else { Disturbance::None }
    });
    let worker = worker(folder.archive(), engine.client_over(&wire));
    let run = worker.plan(into(&table)).await.unwrap().run;
    let requests = requests(&folder, &run);

    let begun = SystemTime::now();
    let left = Duration::from_secs(31);
    let failure = fold(&worker, requests[0].clone(), left).await.unwrap_err();
    assert_eq!(failure.name(), "OutOfTime");
    let elapsed = begun.elapsed().unwrap();
    assert!(elapsed >= Duration::from_secs(1) && elapsed < Duration::from_secs(6), "{elapsed:?}");
    assert_eq!(orders(&client, &table).await.len(), 2, "the stored views are kept");
    assert_eq!(fold(&worker, requests[0].clone(), Duration::from_secs(29)).await.unwrap_err().name(), "OutOfTime");

    is_stuck.store(false, Ordering::SeqCst);
    for request in requests {
        fold(&worker, request, MINUTE).await.unwrap();
    }
    assert!(worker.report(ReportRequest { run }).await.unwrap().clean);
    assert_eq!(orders(&client, &table).await, folded(&lines_of_orders(1..6)));
}

#[test]
fn a_request_with_unknown_members_is_invalid() {
    let cases = [json!({"run": "x"}), json!({"run": "x", "batch": {"id": "1"}}), json!({"batches": []}), json!("x")];
    for request in cases {
        let failure = Worker::read::<FoldRequest>(request).unwrap_err();
        assert_eq!(failure.name(), "Invalid");
    }
    assert_eq!(Worker::read::<PlanRequest>(json!({"form": "s3://x"})).unwrap_err().name(), "Invalid");
    let batch: Batch = serde_json::from_value(json!({"id": "0", "bytes": 1, "files": []})).unwrap();
    assert_eq!(batch.day, None);
}

/// A function of the binary, with an S3 and an engine.
async fn function(handler: &str, bucket: &str, s3: &S3, engine: &Engine) -> Function {
    let environment = [
        ("ARCHIVE_BUCKET", bucket),
        ("AWS_ENDPOINT_URL_DYNAMODB", &engine.endpoint()),
        ("AWS_ENDPOINT_URL_S3", &s3.endpoint),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "local"),
        ("AWS_SECRET_ACCESS_KEY", "local"),
    ];
    let mut settings = Settings::new("rebuild", handler, env!("CARGO_BIN_EXE_rebuild-worker").into());
    settings.environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    settings.timeout = 5 * MINUTE;
    Function::start(settings).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_binary_behind_the_runtime_api_plans_folds_and_reports() {
    let ((engine, client), s3) = (engine(), S3::start().await);
    let table = new_table(&client).await;
    let bucket = s3.bucket(&[
        (key(1, "a"), lines_of_orders(1..4)),
        (key(2, "b"), [lines_of_orders(3..6), vec!["not an event".to_owned()]].concat()),
    ]);
    let start = async |handler| function(handler, &bucket, &s3, &engine).await;
    let (plan, fold, report) = (start("Plan").await, start("Fold").await, start("Report").await);
    let planned = plan.invoke(json!({"run": "exec-1", "into": table})).await.unwrap();
    assert_eq!((&planned["bucket"], &planned["batches"]), (&json!(bucket), &json!(2)));

    let Err(InvokeError::Function(error)) = report.invoke(planned.clone()).await else { panic!("nothing is done yet") };
    assert_eq!(error["errorType"], "Unfinished");
    let Err(InvokeError::Function(error)) = fold.invoke(json!({"run": "exec-1"})).await else {
        panic!("it has no batch")
    };
    assert_eq!(error["errorType"], "Invalid");

    let batches = s3.get(&bucket, planned["key"].as_str().unwrap());
    for line in batches.lines() {
        let batch: Value = serde_json::from_str(line).unwrap();
        let folded = fold.invoke(json!({"run": "exec-1", "batch": batch})).await.unwrap();
        assert_eq!((&folded["batch"], &folded["already_done"]), (&batch["id"], &json!(false)));
    }
    let reported = report.invoke(json!({"run": "exec-1", "batches": 2})).await.unwrap();
    assert_eq!((&reported["quarantined"], &reported["clean"]), (&json!(1), &json!(false)));
    assert_eq!(orders(&client, &table).await, folded(&lines_of_orders(1..6)));
    let log = fold.stop().await.unwrap();
    assert!(log.iter().any(|line| line.contains("RebuiltEvents")), "{log:?}");
    assert!(log.iter().all(|line| !line.contains("not an event") && !line.contains("Ajanta")), "{log:?}");
}
