//! A process is stopped at any point, and another one resumes its run.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use embedded_dynamodb::{Disturbance, Request, Wire};
use futures_util::{StreamExt, stream};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::Notify;

use crate::commands::{command, ended};
use crate::world::{Folder, Orders, Rebuild, S3, engine, folded, key, lines_of_orders, new_table, orders};

/// Three days. The first order has events on the first two, so that the second batch updates its item. One line of
/// the last day cannot be read.
fn archive() -> (Vec<(String, Vec<String>)>, Orders) {
    let lines = lines_of_orders(1..4);
    let expected = folded(&lines);
    let files = vec![
        (key(1, "a"), lines[..8].to_vec()),
        (key(2, "b"), lines[8..30].to_vec()),
        (key(2, "c"), lines[25..].to_vec()),
        (key(3, "d"), [&lines[4..12], &["not an event".to_owned()]].concat()),
    ];
    (files, expected)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_killed_before_any_request_and_resumed_makes_the_same_table() {
    let ((engine, client), s3) = (engine(), S3::start().await);
    let (files, expected) = archive();
    let mut kills = 0;
    loop {
        let (bucket, table) = (s3.bucket(&files), new_table(&client).await);
        let reached = Arc::new(Notify::new());
        let (signal, last) = (Arc::clone(&reached), kills);
        // A killed process sends no more requests.
        let wire = Wire::disturbed(move |request| {
            if request.number <= last {
                return Disturbance::None;
            }
            signal.notify_one();
            Disturbance::Stall
        });
        let killed =
            Rebuild { jobs: 1, ..Rebuild::new(s3.store_over(&wire, &bucket), engine.client_over(&wire), &table) };
        let is_done = tokio::select! {
            done = killed.resume("run") => { done.unwrap(); true }
            () = reached.notified() => false,
        };
        let wire = Wire::watched();
        let resumed = Rebuild::new(s3.store_over(&wire, &bucket), client.clone(), &table);
        let (report, _) = resumed.resume("run").await.unwrap();
        assert_eq!(orders(&client, &table).await, expected, "killed before request {}", kills + 1);
        assert_eq!((report.batches, report.files), (3, 4), "killed before request {}", kills + 1);
        assert_eq!(report.summary.events, files.iter().map(|(_, lines)| lines.len() as u64).sum::<u64>() - 1);
        assert_eq!(report.summary.lines_quarantined(), 1, "killed before request {}", kills + 1);
        if is_done {
            break;
        }
        kills += 1;
    }
    assert!(kills > 20, "the run had only {kills} requests");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_survives_any_lost_response_and_any_failed_request() {
    let ((engine, client), s3) = (engine(), S3::start().await);
    let (files, expected) = archive();
    let run = async |wire: Wire, case: String| {
        let (bucket, table) = (s3.bucket(&files), new_table(&client).await);
        let rebuild =
            Rebuild { jobs: 1, ..Rebuild::new(s3.store_over(&wire, &bucket), engine.client_over(&wire), &table) };
        let (report, _) = rebuild.resume("run").await.unwrap();
        assert_eq!(orders(&client, &table).await, expected, "{case}");
        assert_eq!(report.batches, 3, "{case}");
        wire.requests()
    };
    let undisturbed = run(Wire::watched(), "undisturbed".to_owned()).await;
    let disturbances = [Disturbance::LoseResponse, Disturbance::FailBefore, Disturbance::Throttle]
        .into_iter()
        .flat_map(|disturbance| {
            // S3 does not throttle as DynamoDB does.
            let can_happen =
                move |request: &&Request| disturbance != Disturbance::Throttle || request.operation.ends_with("Item");
            undisturbed.iter().filter(can_happen).map(move |request| (disturbance, request.number))
        });
    // In parallel, because the SDK pauses before a retry.
    let runs = stream::iter(disturbances).map(|(disturbance, number)| {
        let script = move |request: &Request| if request.number == number { disturbance } else { Disturbance::None };
        run(Wire::disturbed(script), format!("{disturbance:?} of request {number}"))
    });
    assert!(runs.buffer_unordered(16).count().await > 40);
}

#[tokio::test]
async fn a_binary_that_is_killed_several_times_finishes_when_it_is_resumed() {
    let (engine, client) = engine();
    let (folder, table) = (Folder::new(), new_table(&client).await);
    let days = 1..9;
    for day in days.clone() {
        folder.put(&key(day, "a"), lines_of_orders(day * 2..day * 2 + 4));
    }
    let from = folder.path().to_str().unwrap();
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut arguments = owned(&["run", "--from", from, "--into", &table, "--rate", "40", "--memory", "3"]);
    let mut kills = 0;
    loop {
        let before = results(&folder);
        let arguments_now: Vec<_> = arguments.iter().map(String::as_str).collect();
        let mut child = command(&engine, &arguments_now).spawn().unwrap();
        // It is killed after one more batch, while it processes others.
        let is_done = loop {
            if let Some(status) = child.try_wait().unwrap() {
                assert_eq!(status.code(), Some(0), "{:?}", ended(child).await);
                break true;
            }
            if results(&folder) > before {
                child.kill().await.unwrap();
                break false;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        };
        if is_done {
            break;
        }
        kills += 1;
        let runs = std::fs::read_dir(folder.path().join("runs")).unwrap();
        let run = runs.map(|run| run.unwrap().file_name().into_string().unwrap()).next().unwrap();
        arguments = owned(&["run", "--from", from, "--resume", &run, "--rate", "200"]);
    }
    assert!(kills >= 3, "it was killed only {kills} times");
    assert_eq!(orders(&client, &table).await, folded(&lines_of_orders(2..20)));
    assert_eq!(
        std::fs::read_dir(folder.path().join("runs")).unwrap().count(),
        1,
        "each process continued the same run"
    );
}

/// How many batches have a result. A process that is running may rename files meanwhile, so none is opened.
fn results(folder: &Folder) -> usize {
    let Ok(runs) = std::fs::read_dir(folder.path().join("runs")) else { return 0 };
    let results = runs.filter_map(|run| std::fs::read_dir(run.ok()?.path().join("results")).ok());
    results.flatten().filter_map(Result::ok).filter(|file| file.path().extension() == Some("json".as_ref())).count()
}

#[tokio::test]
async fn an_interrupted_run_prints_the_command_that_resumes_it() {
    let (engine, client) = engine();
    for signal in ["-TERM", "-INT"] {
        // A name that a shell would split.
        let (folder, table) = (Folder::new(), new_table(&client).await);
        let archive = folder.path().join("an archive of 'ours'");
        for day in 1..4 {
            folder.put(&format!("an archive of 'ours'/{}", key(day, "a")), lines_of_orders(day * 10..day * 10 + 3));
        }
        let arguments = ["run", "--from", archive.to_str().unwrap(), "--into", &table, "--rate", "5"];
        let mut child = command(&engine, &arguments).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next_line().await.unwrap().unwrap();
        assert!(first.contains("3 of 3 batches"), "{first}");
        let sent = Command::new("kill").args([signal, &child.id().unwrap().to_string()]).status().unwrap();
        assert!(sent.success());
        let last = lines.next_line().await.unwrap().unwrap();
        assert_eq!(ended(child).await.code, Some(130), "{last}");

        let last: serde_json::Value = serde_json::from_str(&last).unwrap();
        let resume = last["message"].as_str().unwrap().split_once("To continue: rebuild ").unwrap().1;
        let binary = env!("CARGO_BIN_EXE_rebuild");
        let mut shell = tokio::process::Command::new("sh");
        let resumed = shell
            .args(["-c", &format!("{binary} {resume} --rate 1000")])
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "local")
            .env("AWS_SECRET_ACCESS_KEY", "local")
            .env("AWS_ENDPOINT_URL_DYNAMODB", engine.endpoint());
        assert!(resumed.status().await.unwrap().success(), "{resume}");
        let all = [lines_of_orders(10..13), lines_of_orders(20..23), lines_of_orders(30..33)].concat();
        assert_eq!(orders(&client, &table).await, folded(&all));
    }
}
