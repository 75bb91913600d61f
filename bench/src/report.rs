//! `docs/benchmarks`: a document and its pictures, made of results and nothing else.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Result;
use crate::cold_start::ColdStart;
use crate::contender::{BUNDLED_NODE, NODE, OURS};
use crate::costs::{Bill, Prices};
use crate::growth::Point;
use crate::limits::{Limit, in_megabytes, limits};
use crate::projection::{Pace, PerEvent, Projection};
use crate::results::Results;
use crate::statistics::{Rounds, Spread};
use crate::svg::{Bar, Chart, Line, bars, lines, number};

/// Writes it all into `docs/benchmarks`, and the headline into the README, below this root.
pub fn write(results: &Results, root: &Path) -> Result<()> {
    let (directory, readme) = (root.join("docs/benchmarks"), root.join("README.md"));
    fs::create_dir_all(&directory)?;
    fs::write(directory.join("results.json"), serde_json::to_string_pretty(results)? + "\n")?;
    for (name, picture) in pictures(results) {
        fs::write(directory.join(name), picture)?;
    }
    let prices = Prices::read()?;
    fs::write(&readme, between_marks(&fs::read_to_string(&readme)?, &headline(results, &prices))?)?;
    let sections = [
        head(results),
        ratios(results),
        absolutes(results),
        queries(results),
        cold_starts(results),
        growth(results),
        costs(results, &prices),
        promises(&limits(results)),
    ];
    Ok(fs::write(directory.join("README.md"), sections.join("\n"))?)
}

const BEGIN: &str = "<!-- Made by `make bench`. -->\n";
const END: &str = "<!-- Until here. -->\n";

/// The document with what stands between the marks made new.
fn between_marks(document: &str, new: &str) -> Result<String> {
    let (before, rest) = document.split_once(BEGIN).ok_or("the README has no mark where the headline begins")?;
    let (_, after) = rest.split_once(END).ok_or("the README has no mark where the headline ends")?;
    Ok([before, BEGIN, new, END, after].concat())
}

fn headline(results: &Results, prices: &Prices) -> String {
    let mut table = "| | CPU per event | cold start to the first answer, TLS | peak memory | a million events: Lambda | with DynamoDB, topic and queue |
|---|---|---|---|---|---|
"
    .to_owned();
    for cold in &results.cold_starts {
        let Some(projection) = results.projection(&cold.name) else { continue };
        let bill = prices.events(projection);
        let _ = writeln!(
            table,
            "| {} | {} µs | {} ms | {} MB | ${:.2} | ${:.2} |",
            cold.name,
            number(projection.stub.cpu_micros.median()),
            number(best_start(results, cold).to_answer.wall.median()),
            number(memory(projection)),
            bill.lambda_time + bill.lambda_requests,
            bill.sum(),
        );
    }
    table
}

/// The quicker start, where there are two: AWS advises to bundle Node.
fn best_start<'a>(results: &'a Results, cold: &'a ColdStart) -> &'a ColdStart {
    let bundled = results.cold_start(BUNDLED_NODE).filter(|_| cold.name == NODE);
    bundled.unwrap_or(cold)
}

fn head(results: &Results) -> String {
    let Results { date, machine, rounds, .. } = results;
    let mut made_of = String::new();
    for projection in &results.projections {
        let _ = writeln!(made_of, "- **{}**: {}", projection.name, projection.made_of);
    }
    format!(
        "<!-- Made by `make bench` from results.json. Changes here are lost. -->
# Benchmarks

Our Lambdas beside the same job as a team would do it in Python or Node. `make bench` measures it all again, in some
minutes, and writes this page; it wants Linux, and leaves a peer out if its language is missing.

Measured {date} on {machine}; {rounds} rounds, in which each contender has its
turn. A number is the median of the rounds, with the least and the most behind it; a ratio is taken within each round.

{made_of}
The job: the first five events of typical orders with three line items (created, ticket created, charged, authorized, ticket
accepted), fresh, in batches of ten, a function for each type. Every event is projected by one conditional `UpdateItem` under an
idempotency record. The peers use Powertools' batch and idempotency utilities as documented, with one client whose connections are
kept; they log nothing, and ours logs a line for each event and its metrics. Python runs in AWS's own runtime client, Node in
a small loop of ours. The bare loop has the same client and allocator, but no record, no batch, no Lambda: it sends updates that were rendered before, one after the other as a loop does;
with ten under way it is at its cheapest.

The *stub* answers at once and does nothing, so that the client's own cost shows; the *engine* is the embedded DynamoDB of our
tests. Both run in a process of their own. CPU is that of the contender's process alone. Requests and units are counted by a meter
before the engine, from its `ConsumedCapacity`; for every age of an item they are held against its bytes by DynamoDB's rules.
What was tried and dropped is in [tried.md](tried.md).
"
    )
}

fn ratios(results: &Results) -> String {
    let mut table = "## Ratios
How many times as much as ours.

| | CPU per event, stub | CPU per event, engine | events/s, stub | peak memory | to first `next` | to first answer |
|---|---|---|---|---|---|---|
"
    .to_owned();
    let (Some(ours), started) = (results.projection(OURS), results.cold_start(OURS)) else { return table };
    for theirs in &results.projections {
        let cold = results.cold_start(&theirs.name).zip(started);
        let to_next = cold.map(|(theirs, ours)| theirs.to_next.wall.times(&ours.to_next.wall));
        let to_answer = cold.map(|(theirs, ours)| theirs.to_answer.wall.times(&ours.to_answer.wall));
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} |",
            theirs.name,
            spread(theirs.stub.cpu_micros.times(&ours.stub.cpu_micros)),
            spread(theirs.engine.cpu_micros.times(&ours.engine.cpu_micros)),
            spread(theirs.stub.per_second.times(&ours.stub.per_second)),
            number(memory(theirs) / memory(ours)),
            to_next.map_or_else(|| "–".to_owned(), spread),
            to_answer.map_or_else(|| "–".to_owned(), spread),
        );
    }
    table + "\n![CPU per event](cpu-per-event.svg)\n\n![Cold start](cold-start.svg)\n"
}

fn absolutes(results: &Results) -> String {
    let mut table = "## Per event
| | CPU, stub (µs) | CPU, engine (µs) | events/s, stub | events/s, engine | peak memory (MB) |
|---|---|---|---|---|---|
"
    .to_owned();
    for projection in &results.projections {
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} |",
            projection.name,
            paces(&projection.stub, &projection.engine, |pace| &pace.cpu_micros),
            paces(&projection.stub, &projection.engine, |pace| &pace.per_second),
            number(memory(projection)),
        );
    }
    table += "
| | requests | of which | write units: orders | records | index | read units |
|---|---|---|---|---|---|---|
";
    for projection in &results.projections {
        let _ = writeln!(table, "| {} | {} |", projection.name, dynamodb(&projection.per_event));
    }
    table
}

fn dynamodb(each: &PerEvent) -> String {
    let by_operation: Vec<_> =
        each.requests.iter().map(|(operation, requests)| format!("{} {operation}", number(*requests))).collect();
    [
        number(each.all_requests()),
        by_operation.join(", "),
        number(each.written.orders),
        number(each.written.records),
        number(each.written.index),
        number(each.read.sum()),
    ]
    .join(" | ")
}

fn queries(results: &Results) -> String {
    let mut table = "## The query Lambda
| | CPU, stub (µs) | CPU, engine (µs) | requests/s, stub | requests/s, engine | DynamoDB requests | read units | peak memory (MB) |
|---|---|---|---|---|---|---|---|
"
    .to_owned();
    for answered in &results.answered {
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} |",
            answered.question,
            paces(&answered.stub, &answered.engine, |pace| &pace.cpu_micros),
            paces(&answered.stub, &answered.engine, |pace| &pace.per_second),
            number(answered.per_request.all_requests()),
            number(answered.per_request.read.sum()),
            number(mib(answered.peak_memory)),
        );
    }
    table
}

fn cold_starts(results: &Results) -> String {
    let mut table = "## Cold start
From the start of the process, over TLS with a root of its own; the first answer is that of an `OrderCreated`, for `query-api` that of a
page. Node is as npm installs it, and bundled into one file by esbuild. In milliseconds.

| | to first `next` | of CPU | to first answer | of CPU | memory then (MB) | binary (MB) |
|---|---|---|---|---|---|---|
"
    .to_owned();
    for cold in &results.cold_starts {
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} |",
            cold.name,
            spread(cold.to_next.wall.spread()),
            spread(cold.to_next.cpu.spread()),
            spread(cold.to_answer.wall.spread()),
            spread(cold.to_answer.cpu.spread()),
            number(mib(cold.peak_memory)),
            cold.binary_bytes.map_or_else(|| "–".to_owned(), |bytes| number(in_megabytes(bytes, 1e6))),
        );
    }
    table
}

fn growth(results: &Results) -> String {
    let growth = &results.growth;
    let mut section = "## Growth
**As an item ages.** An order that is revised again and again gets a timeline entry with every event and a revision with every other
one, so it pays another write unit for each kilobyte that they fill; one whose courier moves stays as it is. What is sent does not grow:
one update, one record. Write units are those of the item and its record.

![An item ages](item-ages.svg)

![CPU as an item ages](item-ages-cpu.svg)

| events | bytes, revised | write units | CPU (µs) | bytes, courier moving | write units | CPU (µs) |
|---|---|---|---|---|---|---|
"
    .to_owned();
    let bytes = |point: &Point| {
        number(point.item_bytes.and_then(|bytes| u32::try_from(bytes).ok()).map_or(f64::NAN, f64::from))
    };
    let units = |point: &Point| number(point.each.written.orders + point.each.written.records);
    let shown = [1, 2, 3, 4, 5, 10, 20, 30, 40];
    for (revised, moving) in growth.revised.iter().zip(&growth.moving).filter(|(point, _)| shown.contains(&point.size))
    {
        let cells =
            [revised, moving].map(|point| [bytes(point), units(point), spread(point.cpu_micros.spread())].join(" | "));
        let _ = writeln!(section, "| {} | {} |", revised.size, cells.join(" | "));
    }
    section += "
**As a history grows.** A page is one query for 21 orders from the index's newest end, however many lie behind. A consumer with ten
orders gets half a page, for less.

![A history grows](history-grows.svg)

| orders of the consumer | CPU per page (µs) | requests | read units |
|---|---|---|---|
";
    for point in &growth.history {
        let (requests, units) = (number(point.each.all_requests()), number(point.each.read.sum()));
        let _ = writeln!(
            section,
            "| {} | {} | {requests} | {units} |",
            number(point.size.into()),
            spread(point.cpu_micros.spread())
        );
    }
    section += "
**As a batch grows.** What an invocation costs is shared by its events, and so is the request that completes up to 25 records.

![A batch grows](batch-grows.svg)

| messages in a batch | CPU per event (µs) | requests per event | write units per event |
|---|---|---|---|
";
    for point in &growth.batch {
        let (requests, units) = (number(point.each.all_requests()), units(point));
        let _ = writeln!(
            section,
            "| {} | {} | {requests} | {units} |",
            number(point.size.into()),
            spread(point.cpu_micros.spread())
        );
    }
    section
}

fn costs(results: &Results, prices: &Prices) -> String {
    let Prices { region, as_of, lambda_architecture, handler_memory_mb, query_memory_mb, .. } = prices;
    let mut section = format!(
        "## Costs
Dollars at the list prices of {region}, as of {as_of}, without any free tier: [prices.json](../../bench/prices.json). Lambda on \
{lambda_architecture} with {handler_memory_mb} MB for a handler and {query_memory_mb} MB for the query Lambda, as in the template. \
Time is what a batch of ten waits for a DynamoDB that takes 5 ms for an answer, as measured, and its CPU on the share of a core that comes \
with the memory. Powertools' pattern has the same writes: it pays for waiting and computing. Storage, logs (ours writes a line per event, the peers none), metrics, traces and transfer are not in it; CPU is that of the machine above.

| a million events | DynamoDB | Lambda, time | Lambda, requests | topic and queue | sum |
|---|---|---|---|---|---|
"
    );
    // The bare loop is not a way to do the job.
    for projection in results.projections.iter().filter(|projection| results.cold_start(&projection.name).is_some()) {
        section += &row(&projection.name, &prices.events(projection));
    }
    section += "
| a million queries | DynamoDB | Lambda, time | Lambda, requests | HTTP API | sum |
|---|---|---|---|---|---|
";
    for answered in &results.answered {
        section += &row(&answered.question, &prices.queries(answered));
    }
    section
}

fn row(name: &str, bill: &Bill) -> String {
    let Bill { dynamodb, lambda_time, lambda_requests, around } = bill;
    let sum = bill.sum();
    format!("| {name} | {dynamodb:.2} | {lambda_time:.2} | {lambda_requests:.2} | {around:.2} | {sum:.2} |\n")
}

fn promises(limits: &[Limit]) -> String {
    let mut table = "## Limits
`make bench` fails if one of them is missed.

| | at most | measured | |
|---|---|---|---|
"
    .to_owned();
    for limit in limits {
        let (most, measured, unit) = (number(limit.limit), number(limit.measured), limit.unit);
        let verdict = if limit.is_kept() { "ok" } else { "**missed**" };
        let _ = writeln!(table, "| {} | {most}{unit} | {measured}{unit} | {verdict} |", limit.what);
    }
    table
}

fn pictures(results: &Results) -> Vec<(&'static str, String)> {
    let bar = |label: &str, rounds: &Rounds| {
        let Spread { median, min, max } = rounds.spread();
        Bar { label: label.to_owned(), value: median, spread: (min, max) }
    };
    let cpu: Vec<Bar> = results.projections.iter().map(|who| bar(&who.name, &who.stub.cpu_micros)).collect();
    let cold: Vec<Bar> = results.cold_starts.iter().map(|who| bar(&who.name, &who.to_answer.wall)).collect();
    let growth = &results.growth;
    let units = |point: &Point| point.each.written.orders + point.each.written.records;
    let thousands = |point: &Point| point.cpu_micros.median() / 1e3;
    let ages = Chart {
        title: "As an item ages: write units per event, and bytes of the item".to_owned(),
        x: "events so far",
        by_factors: false,
        lines: vec![
            line("write units, revised", &growth.revised, units),
            line("write units, courier moving", &growth.moving, units),
            line("kilobytes, revised", &growth.revised, kilobytes),
            line("kilobytes, courier moving", &growth.moving, kilobytes),
        ],
    };
    let ages_cpu = Chart {
        title: "As an item ages: microseconds of CPU per event".to_owned(),
        x: "events so far",
        by_factors: false,
        lines: vec![
            line("revised", &growth.revised, |point| point.cpu_micros.median()),
            line("courier moving", &growth.moving, |point| point.cpu_micros.median()),
        ],
    };
    let history = Chart {
        title: "As a consumer's history grows: a page of 20".to_owned(),
        x: "orders of the consumer",
        by_factors: true,
        lines: vec![
            line("requests", &growth.history, |point| point.each.all_requests()),
            line("read units", &growth.history, |point| point.each.read.sum()),
            line("ms of CPU", &growth.history, thousands),
        ],
    };
    let batch = Chart {
        title: "As a batch grows: an event".to_owned(),
        x: "messages in a batch",
        by_factors: true,
        lines: vec![
            line("requests", &growth.batch, |point| point.each.all_requests()),
            line("write units", &growth.batch, units),
            line("ms of CPU", &growth.batch, thousands),
        ],
    };
    vec![
        ("cpu-per-event.svg", bars("CPU per event, idempotency record included", "µs", &cpu)),
        (
            "cold-start.svg",
            bars("Cold start: from the start of the process to its first answer, over TLS", "ms", &cold),
        ),
        ("item-ages.svg", lines(&ages)),
        ("item-ages-cpu.svg", lines(&ages_cpu)),
        ("history-grows.svg", lines(&history)),
        ("batch-grows.svg", lines(&batch)),
    ]
}

fn line(label: &str, points: &[Point], y: impl Fn(&Point) -> f64) -> Line {
    Line { label: label.to_owned(), points: points.iter().map(|point| (f64::from(point.size), y(point))).collect() }
}

fn kilobytes(point: &Point) -> f64 {
    point.item_bytes.and_then(|bytes| u32::try_from(bytes).ok()).map_or(0.0, f64::from) / 1024.0
}

fn paces(stub: &Pace, engine: &Pace, of: impl Fn(&Pace) -> &Rounds) -> String {
    format!("{} | {}", spread(of(stub).spread()), spread(of(engine).spread()))
}

fn spread(spread: Spread) -> String {
    let Spread { median, min, max } = spread;
    format!("**{}** ({}–{})", number(median), number(min), number(max))
}

fn memory(projection: &Projection) -> f64 {
    projection.peak_memory.map_or(f64::NAN, mib)
}

fn mib(bytes: u64) -> f64 {
    in_megabytes(bytes, 1024.0 * 1024.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that cannot go on should stop there.
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_made_new() {
        let document = |inside: &str| ["before\n", BEGIN, inside, END, "after\n"].concat();
        assert_eq!(between_marks(&document("old\n"), "new\n").unwrap(), document("new\n"));
        assert!(between_marks("no marks", "new").is_err());
    }
}
