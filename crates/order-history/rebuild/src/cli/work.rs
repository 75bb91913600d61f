//! `rebuild plan`, `run` and `status`.

use std::sync::Arc;
use std::time::SystemTime;

use archive::{Location, Store};
use aws_config::SdkConfig;
use lambda_boot::with_causes;
use order_events::Timestamp;
use order_store::OrderStore;
use order_store::table::create_if_missing;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use super::arguments::{PlanArguments, Run as RunArguments, SinkChoice, Status};
use super::interrupt::Interrupt;
use super::{CLEAN, DAMAGED, Failure, INTERRUPTED, QUARANTINED, output};
use crate::batch::{Meter, Processor, Sink};
use crate::connection::{dynamodb, open, settings};
use crate::error::Error;
use crate::estimate::{Estimate, EstimateInput, Prices};
use crate::execution::{execute, jobs};
use crate::files::{self, Import, ImportTarget};
use crate::fold::Summary;
use crate::plan::{BATCH_BYTES, Batch, Work};
use crate::progress::Progress;
use crate::run::{Plan, Report, Run, Stored, Target};
use crate::table::TableSink;
use crate::text::{bytes, count, duration, shell_word};

/// Prints the estimate of a run.
pub(super) async fn plan(what: PlanArguments, as_json: bool) -> Result<u8, Failure> {
    let archive = open(&what.from, &settings().await?);
    let filter = what.filter()?;
    let Work { batches, notes, .. } = Work::list(&archive, &filter, what.snapshot, BATCH_BYTES).await?;
    print_notes(&notes);
    let input = EstimateInput {
        archive: &archive,
        filter: &filter,
        batches: &batches,
        memory: what.memory() / jobs(),
        rate: what.rate,
        sample: u64::from(what.sample) * 1_000_000,
    };
    let estimate = Estimate::make(&input, Prices::read()?).await?;
    output::estimate(&estimate, as_json)?;
    Ok(CLEAN)
}

/// Starts or continues a run.
pub(super) async fn run(arguments: RunArguments, as_json: bool) -> Result<u8, Failure> {
    if arguments.dry_run {
        eprintln!("dry run: nothing was written");
        return plan(arguments.what, as_json).await;
    }
    let interrupt = Interrupt::new()?;
    let settings = settings().await?;
    let archive = open(&arguments.what.from, &settings);
    let (run, plan, batches) = match &arguments.resume {
        Some(id) => {
            let run = Run::new(&archive, id)?;
            let (plan, batches) = (run.plan().await?, run.batches().await?);
            (run, plan, batches)
        }
        None => begin(&archive, &arguments, &settings).await?,
    };
    let place = format!("{}/{}", arguments.what.from.to_string().trim_end_matches('/'), run.key(""));
    if let Some(report) = run.find_report().await? {
        eprintln!("run {} is finished: nothing is left to do", run.id());
        output::report(&report, &place, as_json)?;
        return Ok(code(&report));
    }
    plan.check_rules()?;
    let sink = match &plan.into {
        Target::Table(table) => {
            let rate = arguments.what.rate.or(plan.rate);
            Sink::Table(Arc::new(TableSink::new(dynamodb(&settings), table, rate)))
        }
        Target::Files(_) => Sink::Buckets(Arc::new(files::spill(&archive, &run, &plan)?)),
        Target::Snapshot(_) => return Err(Error::OtherKind { run: run.id().to_owned() }.into()),
    };
    let processor = Processor {
        archive: archive.clone(),
        filter: Arc::new(plan.filter.clone()),
        sink,
        memory: arguments.what.memory() / jobs(),
        meter: Arc::new(Meter::default()),
    };
    let progress = Progress::new(run.id(), plan.bytes);
    let resume = || resume_command(&arguments.what.from, run.id(), arguments.what.memory);
    let working = async {
        process(&run, batches, &processor, &progress).await?;
        match &plan.into {
            Target::Files(import) => import_files(&run, import, &arguments, &settings, &plan, &progress).await,
            Target::Table(_) | Target::Snapshot(_) => Ok(run.report().await?),
        }
    };
    match Box::pin(watched(working, interrupt, &processor.meter, &progress, &resume)).await? {
        Some(report) => {
            output::report(&report, &place, as_json)?;
            Ok(code(&report))
        }
        None => Ok(INTERRUPTED),
    }
}

/// Processes the batches that have no result.
async fn process(run: &Run, batches: Vec<Batch>, processor: &Processor, progress: &Progress) -> Result<(), Error> {
    let total = count(batches.len() as u64);
    let crate::run::Progress { done, missing } = run.progress_of(batches).await?;
    progress.set_done_before(done.values().map(|result| result.bytes).sum());
    let left = count(missing.len() as u64);
    progress.print("INFO", &format!("run {}: {left} of {total} batches to do", run.id()));
    execute(run, processor, missing, jobs(), |result, quarantine| progress.print_errors(result, quarantine)).await
}

/// Merges the spilled views into files for an import.
async fn import_files(
    run: &Run,
    import: &Import,
    arguments: &RunArguments,
    settings: &SdkConfig,
    plan: &Plan,
    progress: &Progress,
) -> Result<Report, Error> {
    let archive = open(&arguments.what.from, settings);
    let out = out(&archive, run, import.out.as_deref(), settings);
    let on_step = |done: u32, of: u32| {
        if done == of {
            progress.print("INFO", &format!("{} files for the import written", count(of.into())));
        }
    };
    let written = files::write(&archive, run, &out, arguments.what.memory(), jobs(), on_step).await?;
    let (mut found, mut stored) = (Summary::default(), Stored::default());
    for bucket in &written.merged.buckets {
        found.add(bucket.summary.clone());
        stored.too_large.extend(bucket.too_large.iter().cloned());
    }
    let spill = files::spill(&archive, run, plan)?;
    if let Err(error) = spill.remove().await {
        let reason = with_causes(&error);
        progress.print("WARN", &format!("the temporary files under {} could not be removed: {reason}", spill.prefix));
    }
    let report = run.report_with(found, stored).await?;
    let (orders, size) = (count(written.merged.orders()), bytes(written.merged.bytes()));
    progress
        .print("INFO", &format!("{orders} orders, {size}, in {}. To import them:\n{}", written.place, written.command));
    Ok(report)
}

/// The target of import files.
fn out(archive: &Store, run: &Run, place: Option<&str>, settings: &SdkConfig) -> ImportTarget {
    let Some(place) = place else { return ImportTarget::of_run(archive, run) };
    let Ok(place) = place.parse();
    ImportTarget::at(open(&place, settings))
}

/// Shows the progress until the work is done. None if it was interrupted.
pub(super) async fn watched<T>(
    work: impl Future<Output = Result<T, Error>>,
    mut interrupt: Interrupt,
    meter: &Meter,
    progress: &Progress,
    resume: &dyn Fn() -> String,
) -> Result<Option<T>, Failure> {
    let mut ticks = interval(progress.interval());
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.reset();
    tokio::pin!(work);
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            () = interrupt.received() => {
                progress.print("WARN", &format!("interrupted; all results so far are kept. To continue: {}", resume()));
                return Ok(None);
            }
            _ = ticks.tick() => progress.show(meter),
        }
    };
    progress.show(meter);
    progress.end();
    match done {
        Ok(done) => Ok(Some(done)),
        Err(error) => {
            let hint =
                format!("stopped; all results so far are kept. Fix the cause below, then continue: {}", resume());
            progress.print("ERROR", &hint);
            Err(error.into())
        }
    }
}

/// Prints the progress of a run.
pub(super) async fn status(Status { run, from }: Status, as_json: bool) -> Result<u8, Failure> {
    let archive = open(&from, &settings().await?);
    let run = Run::new(&archive, &run)?;
    let plan = run.plan().await?;
    let crate::run::Progress { done, missing } = run.progress().await?;
    let is_finished = run.find_report().await?.is_some();
    let age = (Timestamp::from(SystemTime::now()).as_millis() - plan.created.as_millis()).max(0) / 1_000;
    let (batches, so_far) = (plan.batches, Report::of(run.id(), done.into_values()));
    if as_json {
        let missing: Vec<_> = missing.iter().map(|batch| &batch.id).collect();
        output::json_line(&json!({
            "run": run.id(), "plan": plan, "finished": is_finished, "age_seconds": age, "missing": missing, "so_far": so_far,
        }))?;
        return Ok(CLEAN);
    }
    let (summary, stored) = (&so_far.summary, &so_far.stored);
    let state = match (is_finished, missing.len()) {
        (true, _) => "finished".to_owned(),
        (false, 0) => "all batches are done; the report is missing".to_owned(),
        (false, missing) => format!("{} of {} batches are not done yet", count(missing as u64), count(batches)),
    };
    let into = match &plan.into {
        Target::Table(table) => format!("table {table}"),
        Target::Files(Import { table, out }) => {
            format!("files for a new table {table}, in {}", out.as_deref().unwrap_or("the run's folder"))
        }
        Target::Snapshot(_) => "a snapshot".to_owned(),
    };
    let mut lines = vec![
        ("run", run.id().to_owned()),
        ("started", format!("{} ({} ago)", plan.created, duration(age.unsigned_abs()))),
        ("into", into),
        ("state", state),
        ("done", format!("{} of {}", bytes(so_far.bytes), bytes(plan.bytes))),
        ("events", count(summary.events)),
        ("stored", format!("{} views, {} write units", count(stored.views), count(stored.milliunits.div_ceil(1_000)))),
        ("quarantined", format!("{} lines", count(summary.lines_quarantined()))),
        ("damaged", format!("{} files", count(summary.damaged.len() as u64))),
    ];
    if !is_finished {
        let command = match &plan.into {
            Target::Table(_) | Target::Files(_) => resume_command(&from, run.id(), DEFAULT_MEMORY),
            Target::Snapshot(settings) => super::snapshot::resume_command(&from, run.id(), settings.table.as_deref()),
        };
        lines.push(("continue", command));
    }
    output::rows(&lines);
    Ok(CLEAN)
}

/// The default of `--memory`, in MB.
pub(super) const DEFAULT_MEMORY: u32 = 1_024;

async fn begin(
    archive: &Store,
    arguments: &RunArguments,
    settings: &SdkConfig,
) -> Result<(Run, Plan, Vec<Batch>), Failure> {
    let RunArguments { what, sink, create, .. } = arguments;
    let filter = what.filter()?;
    let run = Run::new(archive, &Run::new_id(SystemTime::now()))?;
    let (plan, batches) = match sink {
        SinkChoice::Table => {
            let table = what.into.clone();
            let table = table.ok_or_else(|| Failure::Usage("--into TABLE is required".to_owned()))?;
            let client = dynamodb(settings);
            if *create {
                create_if_missing(&client, &table).await.map_err(Error::from)?;
            }
            // A missing table should be reported before the archive is listed.
            OrderStore::new(client, &table).ping().await.map_err(Error::from)?;
            let Work { batches, snapshot, notes } = Work::list(archive, &filter, what.snapshot, BATCH_BYTES).await?;
            print_notes(&notes);
            (Plan { snapshot, rate: what.rate, ..Plan::new(run.id(), Target::Table(table), filter) }, batches)
        }
        SinkChoice::Files => {
            // An import creates a new table, so the name may be new.
            let table = what.into.clone().unwrap_or_else(|| format!("ftgo-order-history-{}", run.id()));
            let import = Import { table, out: arguments.out.as_ref().map(ToString::to_string) };
            out(archive, &run, import.out.as_deref(), settings).check_empty().await?;
            let choice = what.snapshot.find(archive, &filter).await?;
            let planned = files::plan(archive, &run, import, filter, choice, what.memory(), jobs()).await?;
            print_notes(&planned.notes);
            (planned.plan, planned.batches)
        }
    };
    let (plan, batches) = run.begin(plan, batches).await?;
    Ok((run, plan, batches))
}

fn print_notes(notes: &[String]) {
    for note in notes {
        eprintln!("note: {note}");
    }
}

fn resume_command(from: &Location, run: &str, memory: u32) -> String {
    let memory = if memory == DEFAULT_MEMORY { String::new() } else { format!(" --memory {memory}") };
    format!("rebuild run --from {} --resume {run}{memory}", shell_word(&from.to_string()))
}

pub(super) fn code(report: &Report) -> u8 {
    if !report.summary.damaged.is_empty() {
        DAMAGED
    } else if !report.is_clean() {
        QUARANTINED
    } else {
        CLEAN
    }
}
