//! `rebuild verify`.

use std::io::{IsTerminal, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;

use super::arguments::{Verify as Arguments, megabytes};
use super::interrupt::Interrupt;
use super::{CLEAN, DAMAGED, FAILED, Failure, INTERRUPTED, QUARANTINED, output};
use crate::connection::{dynamodb, open, settings};
use crate::execution::jobs;
use crate::plan::SnapshotChoice;
use crate::scan::Source;
use crate::text::{bytes, count, dollars};
use crate::verify::{ARCHIVE_PAUSE, Comparison, Difference, Options, RightSide, Sample, Step, TABLE_PAUSE, compare};

/// The largest number of different orders that are printed.
const MAX_LISTED: usize = 100;

/// Compares two tables, or a table and an archive.
pub(super) async fn verify(arguments: Arguments, as_json: bool) -> Result<u8, Failure> {
    let mut interrupt = Interrupt::new()?;
    let settings = settings().await?;
    let client = dynamodb(&settings);
    let is_archive = arguments.right.contains('/') || arguments.right == ".";
    let right = if is_archive {
        let Ok(location) = arguments.right.parse();
        RightSide::Archive {
            archive: open(&location, &settings),
            use_snapshot: arguments.snapshot == SnapshotChoice::Latest,
        }
    } else {
        RightSide::Table(Source { client: client.clone(), name: arguments.right.clone() })
    };
    let pause = if is_archive { ARCHIVE_PAUSE } else { TABLE_PAUSE };
    let options = Options {
        left: Source { client, name: arguments.left.clone() },
        right,
        sample: arguments.sample.unwrap_or(Sample::ALL),
        segments: arguments.segments,
        pause: arguments.pause.map_or(pause, Duration::from_secs),
        memory: megabytes(arguments.memory),
        workers: jobs(),
    };
    let shown = Mutex::new(Instant::now());
    let compared = tokio::select! {
        compared = compare(options, |step| show_step(&step, &shown)) => compared?,
        () = interrupt.received() => {
            eprintln!("interrupted; a comparison cannot be resumed");
            return Ok(INTERRUPTED);
        }
    };
    show(&compared, as_json)?;
    Ok(match &compared.archive {
        _ if !compared.is_equal() => FAILED,
        Some(found) if !found.damaged.is_empty() => DAMAGED,
        Some(found) if found.lines_quarantined() > 0 => QUARANTINED,
        Some(_) | None => CLEAN,
    })
}

fn show_step(step: &Step, shown: &Mutex<Instant>) {
    let is_terminal = stderr().is_terminal();
    if let Step::Read { .. } = step {
        let mut shown = shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let interval = if is_terminal { Duration::from_millis(250) } else { Duration::from_secs(10) };
        if shown.elapsed() < interval {
            return;
        }
        *shown = Instant::now();
    }
    if !is_terminal {
        eprintln!("{}", json!({"message": "verify", "progress": step}));
        return;
    }
    match step {
        Step::Estimate(estimate) => eprintln!(
            "reading about {} orders, {}: {} read units, {}",
            count(estimate.orders),
            bytes(estimate.bytes),
            count(estimate.read_units),
            dollars(estimate.dollars)
        ),
        Step::Read { left, right } => {
            eprint!("\r\x1b[2K{} orders on the left, {} on the right", count(*left), count(*right));
        }
        Step::Note { message } => eprintln!("\r\x1b[2Knote: {message}"),
        Step::LookAgain { orders, seconds } => {
            eprintln!(
                "\r\x1b[2K{} orders differ; they are compared again in {seconds} s, because events may still arrive",
                count(*orders)
            );
        }
    }
}

fn show(compared: &Comparison, as_json: bool) -> Result<(), Failure> {
    if as_json {
        output::json_line(&json!({"message": "done", "equal": compared.is_equal(), "comparison": compared}))?;
        return Ok(());
    }
    if stderr().is_terminal() {
        eprintln!();
    }
    let (changed, missing, extra) = compared.counts();
    for (order_id, difference) in compared.differences.iter().take(MAX_LISTED) {
        match difference {
            Difference::Changed { attributes } => {
                let attributes = attributes.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                println!("order {order_id} differs in {attributes}");
            }
            Difference::Missing => println!("order {order_id} is missing on the right"),
            Difference::Extra => println!("order {order_id} exists only on the right"),
        }
    }
    if compared.differences.len() > MAX_LISTED {
        println!("… and {} more: --json lists up to 10,000", count((compared.differences.len() - MAX_LISTED) as u64));
    }
    for (name, items) in &compared.ignored {
        println!("attribute {name} of {} items was not compared: unknown to the view", count(*items));
    }
    if let Some(found) = &compared.archive {
        for damaged in &found.damaged {
            println!("file {} of the archive is damaged: its events were not compared", damaged.file);
        }
        if found.lines_quarantined() > 0 {
            println!(
                "{} lines of the archive could not be read and were not compared",
                count(found.lines_quarantined())
            );
        }
    }
    let verdict = if compared.is_equal() { "equal" } else { "DIFFERENT" };
    output::rows(&[
        ("orders", format!("{} on the left, {} on the right", count(compared.left), count(compared.right))),
        (
            "differ",
            format!("{changed} changed, {missing} missing, {extra} extra, {} not listed", count(compared.unnamed)),
        ),
        ("settled", format!("{} differed at first and were equal after the pause", count(compared.settled))),
        ("verdict", verdict.to_owned()),
    ]);
    Ok(())
}
