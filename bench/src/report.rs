//! `docs/benchmarks`: a document and its pictures, made of results and nothing else.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use order_events::EventType;

use crate::Result;
use crate::cold_start::ColdStart;
use crate::contender::{BUNDLED_NODE, NODE, OURS};
use crate::costs::{Bill, Prices, Tracing};
use crate::growth::Point;
use crate::limits::{Limit, in_megabytes, limits};
use crate::locks::{Alone, CONTENDERS, WORK_MILLIS};
use crate::projection::{BATCH, Pace, PerEvent, Projection};
use crate::rebuild::{Grown, MEMORY_MB, Rebuild};
use crate::results::Results;
use crate::sight::Sight;
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
        sight(&results.sight),
        locks(results),
        payments(results),
        rebuild(results),
        costs(results, &prices),
        promises(&limits(results, &prices)),
    ];
    let sections: Vec<_> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    Ok(fs::write(directory.join("README.md"), sections.join("\n"))?)
}

/// The sections on locks and payments alone.
#[must_use]
pub fn commands(results: &Results) -> String {
    [locks(results), payments(results)].join("\n")
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
    let mut table = "| | CPU per event | cold start to the first answer, TLS | peak memory | a million events: Lambda | all in, batches of ten | batches of one |
|---|---|---|---|---|---|---|
"
    .to_owned();
    for cold in &results.cold_starts {
        let Some(projection) = results.projection(&cold.name) else { continue };
        let Some(ones) = &projection.ones else { continue };
        let bill = prices.events(&projection.tens);
        let _ = writeln!(
            table,
            "| {} | {} µs | {} ms | {} MB | ${:.2} | ${:.2} | ${:.2} |",
            cold.name,
            number(projection.tens.stub.cpu_micros.median()),
            number(best_start(results, cold).to_answer.wall.median()),
            number(memory(projection)),
            bill.lambda_time + bill.lambda_requests,
            bill.sum(),
            prices.events(ones).sum(),
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
idempotency record. The peers use Powertools' batch, idempotency and logger utilities as documented, with one client whose connections
are kept. All log a line for each batch and one for each failure; ours also publishes metrics. Python runs in AWS's own runtime client,
Node in a small loop of ours. The bare loop has the same client and allocator, but no record, no batch, no Lambda: it sends updates that were rendered before, one after the other as a loop does;
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
        let (on_stub, our_stub) = (&theirs.tens.stub, &ours.tens.stub);
        let cold = results.cold_start(&theirs.name).zip(started);
        let to_next = cold.map(|(theirs, ours)| theirs.to_next.wall.times(&ours.to_next.wall));
        let to_answer = cold.map(|(theirs, ours)| theirs.to_answer.wall.times(&ours.to_answer.wall));
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} |",
            theirs.name,
            spread(on_stub.cpu_micros.times(&our_stub.cpu_micros)),
            spread(theirs.engine.cpu_micros.times(&ours.engine.cpu_micros)),
            spread(on_stub.per_second.times(&our_stub.per_second)),
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
            paces(&projection.tens.stub, &projection.engine, |pace| &pace.cpu_micros),
            paces(&projection.tens.stub, &projection.engine, |pace| &pace.per_second),
            number(memory(projection)),
        );
    }
    table += "
| | requests | of which | write units: orders | records | index | read units |
|---|---|---|---|---|---|---|
";
    for projection in &results.projections {
        let _ = writeln!(table, "| {} | {} |", projection.name, dynamodb(&projection.tens.per_event));
    }
    table += "
What the cost sheet is made of besides, by how many messages a batch has. Waiting is the time in which a function has nothing to do, for a
batch, on a DynamoDB that takes 5 ms for an answer. Bytes are what the function prints.

| | messages in a batch | CPU, stub (µs) | waiting for a batch (ms) | requests | lines logged | bytes logged |
|---|---|---|---|---|---|---|
";
    for projection in lambdas(results) {
        for batches in projection.in_batches() {
            let _ = writeln!(
                table,
                "| {} | {} | {} | {} | {} | {} | {} |",
                projection.name,
                batches.size,
                spread(batches.stub.cpu_micros.spread()),
                spread(batches.waiting_millis.spread()),
                number(batches.per_event.all_requests()),
                number(batches.logged.lines),
                number(batches.logged.bytes),
            );
        }
    }
    table
}

/// The contenders that are a way to do the job, which the bare loop is not.
fn lambdas(results: &Results) -> impl Iterator<Item = &Projection> {
    results.projections.iter().filter(|projection| projection.ones.is_some())
}

fn dynamodb(each: &PerEvent) -> String {
    [
        number(each.all_requests()),
        by_operation(each),
        number(each.written.orders),
        number(each.written.records),
        number(each.written.index),
        number(each.read.sum()),
    ]
    .join(" | ")
}

fn by_operation(each: &PerEvent) -> String {
    let requests = each.requests.iter().map(|(operation, requests)| format!("{} {operation}", number(*requests)));
    requests.collect::<Vec<_>>().join(", ")
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
page, for `payment-api` that of a charge. Node is as npm installs it, and bundled into one file by esbuild. In milliseconds.

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

fn sight(sight: &Sight) -> String {
    let Sight { polled, waited } = sight;
    let row = |name: &str, times: &Rounds| {
        let [half, most] = [50, 99].map(|percent| number(times.percentile(percent)));
        format!("| {name} | {half} | {most} |\n")
    };
    format!(
        "## From send to sight
Milliseconds from the moment a client sends an `OrderCreated` to the queue (`SendMessage`) to the moment its answer shows the order, over
HTTP, with the release build's functions in the local system of `make run`: queue, mapping, handler, DynamoDB engine, query Lambda and
the client share this machine. {} orders each, one at a time, the functions warm, no batching window. On AWS, SNS, SQS, its pollers and the
network add their own latency, and a batching window adds up to its length.

| | half of them within | 99 % within |
|---|---|---|
{}{}",
        number(u32::try_from(polled.0.len()).map_or(f64::NAN, f64::from)),
        row("`GET /orders/{id}` again and again, 1 ms after each answer, without a token", polled),
        row("one `GET /orders/{id}` with a `Consistency-Token` and `Prefer: wait=5`", waited),
    )
}

fn locks(results: &Results) -> String {
    let Some(ours) = results.locks.first() else { return String::new() };
    let mut made_of = String::new();
    for locking in &results.locks {
        let _ = writeln!(made_of, "- **{}**: {}", locking.name, locking.made_of);
    }
    let mut section = format!(
        "## Locks
A lock is taken, one item is written, and the lock is released. `dynamodb-locks` does it in three ways, the peer in one:

{made_of}
A transaction has a price: DynamoDB takes two write units where a write alone takes one. In return it is refused if the lock was lost
meanwhile. The peer reads the lock before it writes it, and its writes are accepted whether it still has the lock or not.

**Alone**, again and again.

| | CPU, stub (µs) | times as much | CPU, engine (µs) | requests | of which | write units | read units |
|---|---|---|---|---|---|---|---|
"
    );
    for locking in &results.locks {
        let Alone { stub, engine, per_grant } = &locking.alone;
        let _ = writeln!(
            section,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            locking.name,
            spread(stub.cpu_micros.spread()),
            spread(stub.cpu_micros.times(&ours.alone.stub.cpu_micros)),
            spread(engine.cpu_micros.spread()),
            number(per_grant.all_requests()),
            by_operation(per_grant),
            number(per_grant.written.sum()),
            number(per_grant.read.sum()),
        );
    }
    let _ = write!(
        section,
        "
**{CONTENDERS} contenders**, a process each, want the same lock at the same moment, work for {WORK_MILLIS} ms under it and commit, on the engine. \
Both libraries are set to ask again about 20 ms after a refusal, ours with jitter. Per grant, of all processes together. A write that is refused \
counts as a write unit, as DynamoDB has it: we ask by writing, which is one request if the lock is free; the peer asks by reading. \
The clock has in it that the processes share the cores of this machine.

| | CPU (µs) | times as much | clock (ms) | times as much | requests | write units | read units |
|---|---|---|---|---|---|---|---|
"
    );
    for locking in &results.locks {
        let (contended, base) = (&locking.contended, &ours.contended);
        let _ = writeln!(
            section,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            locking.name,
            spread(contended.pace.cpu_micros.spread()),
            spread(contended.pace.cpu_micros.times(&base.pace.cpu_micros)),
            spread(contended.wall_millis().spread()),
            spread(contended.wall_millis().times(&base.wall_millis())),
            spread(contended.requests.spread()),
            spread(contended.written.spread()),
            spread(contended.read.spread()),
        );
    }
    section
}

fn payments(results: &Results) -> String {
    if results.payments.is_empty() {
        return String::new();
    }
    let mut section = "## Payments
What a payment takes, step by step: `payment-api` in saga mode behind the events that API Gateway makes of requests, then the charge handler
and the relay in batches of ten. Fresh intents, each command with its idempotency key, whose record is part of the command's transaction.
Per request, message or event. The handler also calls the gateway once, which answers at once here; the topic does too.

| | CPU, stub (µs) | CPU, engine (µs) | requests/s, stub | requests/s, engine | peak memory (MB) |
|---|---|---|---|---|---|
"
    .to_owned();
    for step in &results.payments {
        let _ = writeln!(
            section,
            "| {} | {} | {} | {} |",
            step.question,
            paces(&step.stub, &step.engine, |pace| &pace.cpu_micros),
            paces(&step.stub, &step.engine, |pace| &pace.per_second),
            number(mib(step.peak_memory)),
        );
    }
    section += "
| | requests | of which | write units: intents, guards, events, locks | records | index | read units |
|---|---|---|---|---|---|---|
";
    for step in &results.payments {
        let _ = writeln!(section, "| {} | {} |", step.question, dynamodb(&step.per_request));
    }
    section
}

/// The section on a rebuild.
#[must_use]
pub fn rebuild(results: &Results) -> String {
    let Some(rebuild) = &results.rebuild else { return String::new() };
    let Rebuild { lean, stages, python, view_bytes, growth, into_engine } = rebuild;
    let mut section = "## A rebuild
Files of the archive become views: the ten events of typical orders with three line items, some 500 bytes each, in gzip files of 20,000.
Each stage includes those above it. The floor reads the same messages, already decompressed, by derived code that borrows all that it
can, checks nothing and keeps nothing. One thread.

| | CPU per event (µs) | times the floor | events/s of CPU |
|---|---|---|---|
"
    .to_owned();
    let rows = [("floor: a lean parse", lean)].into_iter();
    let rows = rows.chain(stages.iter().map(|stage| (stage.name.as_str(), &stage.pace)));
    let rows = rows.chain(python.iter().map(|peer| ("fold, in Python", &peer.pace)));
    for (name, pace) in rows {
        let cpu = pace.cpu_micros.spread();
        let times = spread(pace.cpu_micros.times(&lean.cpu_micros));
        let _ = writeln!(section, "| {name} | {} | {times} | {} |", spread(cpu), number(1e6 / cpu.median));
    }
    if let Some(peer) = python {
        let _ = writeln!(section, "\nPython is {}, with the same facets, watermarks and sets in dictionaries.", peer.made_of);
    }
    let [per_order, units] = [into_engine.per_order.all_requests(), into_engine.per_order.written.sum()].map(number);
    let _ = write!(
        section,
        "
A view takes {} bytes of memory. `rebuild run` into a fresh table of the engine takes {per_order} requests and {units} write units for an order, and {} µs \
of CPU for an event, the engine's included. The same {} events through the queues of `make run` take {} µs: {} times as much.

**As the archive grows.** `rebuild run --sink files --memory {MEMORY_MB}`, the whole program: every order stands once in the files, whatever \
fits into memory. Times are of one run each.

![An archive grows](archive-grows.svg)

| events | CPU per event (µs) | events/s | peak memory (MB) |
|---|---|---|---|
",
        number(*view_bytes),
        spread(into_engine.rebuild_cpu_micros.spread()),
        number(into_engine.events.into()),
        spread(into_engine.queues_cpu_micros.spread()),
        spread(into_engine.queues_cpu_micros.times(&into_engine.rebuild_cpu_micros)),
    );
    for Grown { events, cpu_micros, per_second, peak_memory } in growth {
        let memory = in_megabytes(*peak_memory, 1024.0 * 1024.0);
        let cells = [f64::from(*events), *cpu_micros, *per_second, memory].map(number).join(" | ");
        let _ = writeln!(section, "| {cells} |");
    }
    section
}

fn costs(results: &Results, prices: &Prices) -> String {
    let Prices { region, as_of, lambda_architecture, handler_memory_mb, query_memory_mb, tracing, .. } = prices;
    let [one, ten] = [1.0, 10.0].map(|size| prices.traces(size, Tracing::Active));
    let mut section = format!(
        "## Costs
Dollars at the list prices of {region}, as of {as_of}, without any free tier: [prices.json](../../bench/prices.json). Lambda on \
{lambda_architecture} with {handler_memory_mb} MB for a handler and {query_memory_mb} MB for the query Lambda, as in the template.

- *Lambda, time* is what a batch waits for a DynamoDB that takes 5 ms for an answer, and its CPU on the share of a core that comes with the \
memory. Who has requests under way at once, as ours and Node have, computes in a part of that wait if the core is slow; that is not taken off.
- *Logs* are the bytes that the function printed in this run, and CloudWatch's 26 for each log event, taken in at ${logs_gb:.2} per GB. Since May \
2025 the price of Lambda's logs falls with the amount, above the first 10 TB of a month. All contenders have the template's logging \
configuration, in which Lambda itself logs nothing below WARN. A failure logs a line more.
- *Traces* are those of the template's default, {tracing:?}: none. With `Active`, X-Ray records 5 % of the invocations, ${one:.2} for a million \
events in batches of one and ${ten:.3} in batches of ten, and the first one of every second, which is at most ${first:.2} a month for each function.
- *Metrics* are the custom metrics that the function published in this run, in which nothing failed, at ${metric:.2} each and month, however many \
events there are; so they are not in the sum. Ours are those of all {types} event types; a count that is zero is not published, and one that is \
not, such as of failures, costs for its hours. The peers publish none: with Powertools' metrics utility, the same ones would cost the same.

Powertools' pattern has the same writes: it pays for waiting, computing and logging. Storage, transfer, alarms and the HTTP API's access log \
are not in it; CPU is that of the machine above.

| a million events | messages in a batch | DynamoDB | Lambda, time | Lambda, requests | topic and queue | logs | traces | sum | metrics, a month |
|---|---|---|---|---|---|---|---|---|---|
",
        logs_gb = prices.logs_gb,
        first = prices.first_traces(),
        metric = prices.metric_month,
        types = EventType::ALL.len(),
    );
    for size in [1, BATCH] {
        for projection in lambdas(results) {
            let Some(batches) = projection.in_batches().find(|batches| batches.size == size) else { continue };
            let metrics = prices.metrics(projection.live_metrics);
            let cells = cells(&prices.events(batches));
            let _ = writeln!(
                section,
                "| {} | {size} | {cells} | {metrics:.2} ({}) |",
                projection.name, projection.live_metrics
            );
        }
    }
    section += "
| a million queries | DynamoDB | Lambda, time | Lambda, requests | HTTP API | logs | traces | sum |
|---|---|---|---|---|---|---|---|
";
    for answered in &results.answered {
        let _ = writeln!(section, "| {} | {} |", answered.question, cells(&prices.queries(answered)));
    }
    section
}

fn cells(bill: &Bill) -> String {
    let Bill { dynamodb, lambda_time, lambda_requests, around, logs, traces } = bill;
    [dynamodb, lambda_time, lambda_requests, around, logs, traces, &bill.sum()]
        .map(|part| format!("{part:.2}"))
        .join(" | ")
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
    let cpu: Vec<Bar> = results.projections.iter().map(|who| bar(&who.name, &who.tens.stub.cpu_micros)).collect();
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
    let grown = results.rebuild.as_ref().map(|rebuild| &rebuild.growth[..]).unwrap_or_default();
    let grown_line = |label: &str, value: fn(&Grown) -> f64| Line {
        label: label.to_owned(),
        points: grown.iter().map(|grown| (f64::from(grown.events), value(grown))).collect(),
    };
    let archive = Chart {
        title: "As the archive grows: a rebuild into files".to_owned(),
        x: "events in the archive",
        by_factors: true,
        lines: vec![
            grown_line("10 ns of CPU per event", |grown| grown.cpu_micros * 1e2),
            grown_line("MB of memory at the most", |grown| in_megabytes(grown.peak_memory, 1024.0 * 1024.0)),
        ],
    };
    let mut pictures = vec![
        ("cpu-per-event.svg", bars("CPU per event, idempotency record included", "µs", &cpu)),
        (
            "cold-start.svg",
            bars("Cold start: from the start of the process to its first answer, over TLS", "ms", &cold),
        ),
        ("item-ages.svg", lines(&ages)),
        ("item-ages-cpu.svg", lines(&ages_cpu)),
        ("history-grows.svg", lines(&history)),
        ("batch-grows.svg", lines(&batch)),
    ];
    if !grown.is_empty() {
        pictures.push(("archive-grows.svg", lines(&archive)));
    }
    pictures
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
