//! `make bench`: measures, writes `docs/benchmarks`, and fails if a limit is missed.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use bench::cold_start::{self, ColdStart};
use bench::contender::Contender;
use bench::costs::Prices;
use bench::dynamodb::{self, DynamoDb};
use bench::growth::{self, Growth};
use bench::limits::{Limit, limits, rebuild as rebuild_limits};
use bench::messages::Messages;
use bench::projection::Bench;
use bench::results::{Results, machine};
use bench::{Result, locks, payments, query, rebuild, report, visibility};
use order_events::{EventType, Timestamp};

/// The default number of rounds. Fewer give no useful spread.
const ROUNDS: usize = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let done = match std::env::args().nth(1).as_deref() {
        Some(dynamodb::COMMAND) => dynamodb::serve().await.map(|()| true),
        Some("report") => write_report_again(),
        Some("visibility") => measure_visibility().await,
        Some("commands") => measure_commands().await,
        Some("rebuild") => measure_rebuild().await,
        Some("starts") => compare_cold_starts().await,
        _ => run().await,
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether all limits were kept.
async fn run() -> Result<bool> {
    let began = Instant::now();
    let results = measure(&root().join("target/release"), rounds()?).await?;
    eprintln!("measured in {:.0?}", began.elapsed());
    write_report(&results)
}

/// Writes the document from the last run's results, for example after a change of prices.
fn write_report_again() -> Result<bool> {
    write_report(&serde_json::from_str(&std::fs::read_to_string(root().join("docs/benchmarks/results.json"))?)?)
}

/// Measures only the time until an order is visible, with the functions of the given directory or of the release build; writes nothing.
async fn measure_visibility() -> Result<bool> {
    let found = visibility::measure(&binaries(), &mut Messages::starting_at(now()?)?, rounds()?).await?;
    for (how, times) in [("polled", found.polled), ("waited", found.waited)] {
        println!("{how}: p50 {:.1} ms, p99 {:.1} ms", times.percentile(50), times.percentile(99));
    }
    Ok(true)
}

/// Measures only locks and payments, with the binaries of the given directory or of the release build; writes nothing.
async fn measure_commands() -> Result<bool> {
    let (binaries, rounds, mut dynamodb) = (binaries(), rounds()?, DynamoDb::start().await?);
    let locks = locks::lock_all(&binaries, &mut dynamodb, rounds).await?;
    let payments = payments::pay(&binaries, &mut dynamodb, rounds).await?;
    println!("{}", report::commands(&Results { rounds, locks, payments, ..Results::default() }));
    Ok(true)
}

/// Measures only a rebuild, with the binaries of the given directory or of the release build; writes nothing.
async fn measure_rebuild() -> Result<bool> {
    let mut dynamodb = DynamoDb::start().await?;
    let rebuild = Some(rebuild::rebuild_all(&binaries(), &mut dynamodb, rounds()?).await?);
    let results = Results { rebuild, ..Results::default() };
    println!("{}", report::rebuild(&results));
    let limits = rebuild_limits(&results);
    for limit in &limits {
        println!("{limit}");
    }
    Ok(limits.iter().all(Limit::is_kept))
}

/// Measures only cold starts of the query functions of the given directories, in turn; writes nothing.
async fn compare_cold_starts() -> Result<bool> {
    let directories: Vec<_> = std::env::args_os().skip(2).map(PathBuf::from).collect();
    let cold_starts = cold_start::compare(&directories, &DynamoDb::start().await?, rounds()?).await?;
    for cold_start in &cold_starts {
        let ColdStart { name, to_next, to_answer, peak_memory, binary_bytes } = cold_start;
        let moments = [
            ("first next", &to_next.wall, &cold_starts[0].to_next.wall),
            ("CPU", &to_next.cpu, &cold_starts[0].to_next.cpu),
            ("first response", &to_answer.wall, &cold_starts[0].to_answer.wall),
            ("CPU", &to_answer.cpu, &cold_starts[0].to_answer.cpu),
        ];
        let moments = moments.map(|(what, rounds, first)| {
            format!("{what} {:.2} ms ({:.3} ×)", rounds.median(), rounds.median() / first.median())
        });
        println!("{name}: {}, {peak_memory} bytes at most, binary {binary_bytes:?} bytes", moments.join(", "));
    }
    Ok(true)
}

/// The directory on the command line, or that of the release build.
fn binaries() -> PathBuf {
    std::env::args_os().nth(2).map_or_else(|| root().join("target/release"), PathBuf::from)
}

fn rounds() -> Result<usize> {
    Ok(std::env::var("BENCH_ROUNDS").map_or(Ok(ROUNDS), |rounds| rounds.parse())?)
}

/// Milliseconds since 1970.
fn now() -> Result<u64> {
    Ok(u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?)
}

fn write_report(results: &Results) -> Result<bool> {
    report::write(results, &root())?;
    let limits = limits(results, &Prices::read()?);
    for limit in &limits {
        println!("{limit}");
    }
    Ok(limits.iter().all(Limit::is_kept))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

async fn measure(binaries: &Path, rounds: usize) -> Result<Results> {
    let now = now()?;
    let mut messages = Messages::starting_at(now)?;
    let contenders = Contender::all(binaries)?;
    let ours = &contenders[0];
    let mut dynamodb = DynamoDb::start().await?;

    let bench = Bench { contenders: &contenders, binaries, rounds };
    let projections = bench.project(&mut dynamodb, &mut messages).await?;

    eprintln!("ageing items");
    let revisions = [EventType::OrderRevisionProposed, EventType::OrderRevised];
    let revised = growth::age(ours, &mut dynamodb, &mut messages, &revisions).await?;
    let moving = growth::age(ours, &mut dynamodb, &mut messages, &[EventType::DeliveryLocationUpdated]).await?;
    let batch = growth::batches(ours, &mut dynamodb, &mut messages, rounds).await?;

    let like = query::typical_order(ours, &dynamodb, &mut messages).await?;
    growth::fill_histories(&dynamodb, &like).await?;
    let history = growth::measure_pages(binaries, &mut dynamodb, rounds, "").await?;
    let small_pages = growth::measure_pages(binaries, &mut dynamodb, rounds, "&pageSize=5").await?;
    let consumer = growth::consumer_of(1_000);
    let order_id = query::order_of(&consumer, 500);
    let answered = query::measure_queries(binaries, &mut dynamodb, (&consumer, &order_id), rounds).await?;

    let locks = locks::lock_all(binaries, &mut dynamodb, rounds).await?;
    let payments = payments::pay(binaries, &mut dynamodb, rounds).await?;

    let rebuild = Some(rebuild::rebuild_all(binaries, &mut dynamodb, rounds).await?);

    // The remaining measurements use new tables.
    let visibility = visibility::measure(binaries, &mut messages, rounds).await?;
    let cold_starts = cold_start::start_all(&contenders, binaries, &dynamodb, &mut messages, rounds).await?;

    let date = i64::try_from(now).ok().and_then(Timestamp::from_millis).ok_or("the clock is wrong")?.to_string();
    let growth = Growth { revised, moving, history, small_pages, batch };
    Ok(Results {
        date,
        machine: machine()?,
        rounds,
        projections,
        answered,
        cold_starts,
        growth,
        visibility,
        locks,
        payments,
        rebuild,
    })
}
