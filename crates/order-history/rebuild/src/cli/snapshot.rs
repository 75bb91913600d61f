//! `rebuild snapshot`.

use std::sync::{Arc, OnceLock};

use archive::Location;
use serde_json::json;

use super::arguments::{Snapshot as Arguments, megabytes};
use super::interrupt::Interrupt;
use super::work::{DEFAULT_MEMORY, code, watched};
use super::{CLEAN, Failure, INTERRUPTED, output};
use crate::batch::Meter;
use crate::connection::{dynamodb, open, settings};
use crate::execution::jobs;
use crate::progress::Progress;
use crate::scan::Source;
use crate::snapshot::{NewSnapshot, Options, SnapshotResult, Step, take};
use crate::text::{bytes, count, shell_word};

/// Creates a snapshot.
pub(super) async fn snapshot(arguments: Arguments, as_json: bool) -> Result<u8, Failure> {
    let interrupt = Interrupt::new()?;
    let settings = settings().await?;
    let meter = Arc::new(Meter::default());
    let options = Options {
        archive: open(&arguments.from, &settings),
        table: arguments.from_table.clone().map(|name| Source { client: dynamodb(&settings), name }),
        segments: arguments.segments,
        use_latest: !arguments.full,
        memory: megabytes(arguments.memory),
        workers: jobs(),
        resume: arguments.resume.clone(),
        meter: Arc::clone(&meter),
    };
    let progress = Progress::new("snapshot", 0);
    let run = OnceLock::new();
    let on_step = |step| match step {
        Step::Note(note) => progress.print("WARN", &note),
        Step::Begun(plan) => {
            let _ = run.set(plan.run.clone());
            progress.set_total(plan.bytes);
            let (files, size) = (count(plan.files), bytes(plan.bytes));
            progress.print("INFO", &format!("run {}: {files} files, {size}", plan.run));
        }
        Step::Merged(done, of) if done == of => {
            progress.print("INFO", &format!("{} buckets merged", count(of.into())));
        }
        Step::Merged(..) => {}
    };
    let resume = || match run.get() {
        Some(run) => {
            let memory = if arguments.memory == DEFAULT_MEMORY {
                String::new()
            } else {
                format!(" --memory {}", arguments.memory)
            };
            resume_command(&arguments.from, run, arguments.from_table.as_deref()) + &memory
        }
        None => format!("rebuild snapshot --from {}", shell_word(&arguments.from.to_string())),
    };
    match Box::pin(watched(take(options, on_step), interrupt, &meter, &progress, &resume)).await? {
        None => Ok(INTERRUPTED),
        Some(SnapshotResult::NothingNew { latest }) => {
            if as_json {
                output::json_line(&json!({"message": "no new files", "latest": latest}))?;
            } else {
                println!("no new files: {latest} is still the latest snapshot");
            }
            Ok(CLEAN)
        }
        Some(SnapshotResult::Created(done)) => {
            let NewSnapshot { manifest, report, ignored, unreadable } = *done;
            if as_json {
                output::json_line(&json!({
                    "message": "done", "snapshot": manifest, "report": report, "ignored": ignored, "unreadable": unreadable,
                }))?;
            } else {
                let mut rows = vec![
                    ("snapshot", format!("{} is the latest now", manifest.id)),
                    ("orders", count(manifest.orders())),
                    ("files", format!("{} of the archive, {} of them new", count(manifest.files), count(report.files))),
                ];
                rows.extend(ignored.iter().map(|(name, items)| {
                    ("left out", format!("attribute {name} of {} items: unknown to the view", count(*items)))
                }));
                rows.extend(unreadable.keys().map(|order| ("unreadable", format!("an attribute of order {order}"))));
                output::rows(&rows);
                output::problems(&report);
            }
            Ok(code(&report))
        }
    }
}

pub(super) fn resume_command(from: &Location, run: &str, table: Option<&str>) -> String {
    let table = table.map(|table| format!(" --from-table {}", shell_word(table))).unwrap_or_default();
    format!("rebuild snapshot --from {} --resume {run}{table}", shell_word(&from.to_string()))
}
