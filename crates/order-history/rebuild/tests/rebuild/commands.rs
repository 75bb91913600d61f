//! The commands of the binary.

use std::path::Path;
use std::process::Stdio;

use embedded_dynamodb::Engine;
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::world::{Folder, encoded, engine, folded, key, lines_of_order, lines_of_orders, new_table, orders};

/// The output of a command and its exit code.
#[derive(Debug)]
pub(crate) struct CommandResult {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl CommandResult {
    /// The last line of the output, as JSON.
    fn json(&self) -> Value {
        let last = self.output.lines().last().unwrap_or_else(|| panic!("no output: {self:?}"));
        serde_json::from_str(last).unwrap()
    }
}

pub(crate) fn command(engine: &Engine, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rebuild"));
    command
        .args(arguments)
        .env_clear()
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "local")
        .env("AWS_SECRET_ACCESS_KEY", "local")
        .env("AWS_ENDPOINT_URL_DYNAMODB", engine.endpoint())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

pub(crate) async fn ended(child: Child) -> CommandResult {
    let output = child.wait_with_output().await.unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    CommandResult { code: output.status.code(), output: text(output.stdout), errors: text(output.stderr) }
}

pub(crate) async fn rebuild(engine: &Engine, arguments: &[&str]) -> CommandResult {
    ended(command(engine, arguments).spawn().unwrap()).await
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test]
async fn a_run_fills_the_table_and_reports() {
    let (engine, client) = engine();
    let (folder, table) = (Folder::new(), new_table(&client).await);
    for day in 1..4 {
        folder.put(&key(day, "a"), lines_of_orders(day * 10..day * 10 + 5));
    }
    let from = text(folder.path());
    let ran = rebuild(&engine, &["run", "--from", from, "--into", &table, "--json"]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let all = [lines_of_orders(10..15), lines_of_orders(20..25), lines_of_orders(30..35)].concat();
    assert_eq!(orders(&client, &table).await, folded(&all));
    let done = ran.json();
    assert_eq!((&done["clean"], &done["report"]["batches"]), (&true.into(), &3.into()));
    assert_eq!(done["report"]["summary"]["events"], all.len());
    let run = done["run"].as_str().unwrap();

    let status = rebuild(&engine, &["status", run, "--from", from]).await;
    assert_eq!(status.code, Some(0));
    assert!(status.output.contains("finished"), "{status:?}");

    // A finished run does nothing, even if its table is gone.
    client.delete_table().table_name(&table).send().await.unwrap();
    let again = rebuild(&engine, &["run", "--from", from, "--resume", run, "--json"]).await;
    assert_eq!((again.code, again.json()), (Some(0), done), "{again:?}");
}

#[tokio::test]
async fn the_exit_code_says_what_was_left_out() {
    let (engine, client) = engine();
    let bad = "Ajanta, in a line that cannot be read".to_owned();
    let mut cut = encoded("x.gz", lines_of_order(1));
    cut.truncate(100);
    let (quarantined, damaged) = (Folder::new(), Folder::new());
    quarantined.put(&key(1, "a"), [lines_of_order(1), vec![bad]].concat());
    damaged.put_bytes(&key(1, "a"), &cut);
    damaged.put(&key(1, "b"), lines_of_order(2));
    for (folder, expected, order) in [(&quarantined, 3, 1), (&damaged, 4, 2)] {
        let table = new_table(&client).await;
        let ran = rebuild(&engine, &["run", "--from", text(folder.path()), "--into", &table]).await;
        assert_eq!(ran.code, Some(expected), "{ran:?}");
        assert_eq!(orders(&client, &table).await, folded(&lines_of_order(order)));
        // File and reason, but no customer data.
        let all = ran.output + &ran.errors;
        assert!(all.contains(&key(1, "a")), "{all}");
        assert!(!all.contains("Ajanta"), "{all}");
    }
}

#[tokio::test]
async fn every_error_says_what_to_do() {
    let (engine, client) = engine();
    let (folder, empty, table) = (Folder::new(), Folder::new(), new_table(&client).await);
    folder.put(&key(1, "a"), lines_of_order(1));
    let from = text(folder.path());
    let cases: [(&[&str], i32, &str); 9] = [
        (&[], 2, "Usage"),
        (&["run", "--from", from], 2, "--into TABLE"),
        (&["run", "--from", from, "--into", "nowhere"], 1, "there is no table `nowhere`"),
        (&["run", "--from", text(empty.path()), "--into", &table], 1, "check --from"),
        (&["run", "--from", from, "--resume", "gone"], 1, "run `gone` does not exist"),
        (&["run", "--from", from, "--resume", "../x"], 2, "a run's id may contain"),
        (&["run", "--from", from, "--into", &table, "--types", "OrderPainted"], 2, "OrderCreated"),
        (&["run", "--from", from, "--into", &table, "--orders", "@/nowhere"], 2, "the file cannot be read"),
        (&["run", "--from", from, "--resume", "x", "--into", &table], 2, "cannot be used with"),
    ];
    for (arguments, code, expected) in cases {
        let ran = rebuild(&engine, arguments).await;
        assert_eq!(ran.code, Some(code), "{arguments:?}: {ran:?}");
        assert!(ran.errors.contains(expected), "{arguments:?}: {ran:?}");
    }
    assert_eq!(orders(&client, &table).await, folded(&[]));
}

#[tokio::test]
async fn lines_of_a_pipe_are_folded_to_one_line_per_order_in_any_partition() {
    let (engine, _) = engine();
    let lines = lines_of_orders(1..4);
    let (left, right) = lines.split_at(25);
    let all = pipe(&engine, lines.join("\n")).await;
    // Partial results are lines that can be folded again, as `reduceByKey` does.
    let partial = [pipe(&engine, left.join("\n")).await, pipe(&engine, right.join("\n")).await].concat();
    assert_eq!(all.len(), 3);
    assert_eq!(pipe(&engine, partial.join("\n")).await, all);
    let read: std::collections::BTreeMap<_, _> = all
        .iter()
        .map(|line| projection::read_line(&order_view::VIEW, line.as_bytes()).unwrap())
        .map(|(order_id, found)| (order_id, found.state))
        .collect();
    assert_eq!(read, folded(&lines));
}

/// The lines that `rebuild fold` makes of these, sorted.
async fn pipe(engine: &Engine, input: String) -> Vec<String> {
    use tokio::io::AsyncWriteExt;
    let mut child = command(engine, &["fold"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writing = tokio::spawn(async move { stdin.write_all(input.as_bytes()).await });
    let ended = ended(child).await;
    writing.await.unwrap().unwrap();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut lines: Vec<_> = ended.output.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}
