//! `docs/benchmarks`: a document and its pictures, generated from the results.

mod commands;
mod costs;
mod growth;
mod pictures;
mod projection;
mod rebuild;

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Result;
use crate::cold_start::ColdStart;
use crate::contender::{BUNDLED_NODE, NODE};
use crate::costs::Prices;
use crate::limits::{in_megabytes, limits};
use crate::projection::{Pace, PerEvent, Projection};
use crate::results::Results;
use crate::statistics::{Rounds, Spread};
use crate::svg::number;

pub use self::rebuild::rebuild;

/// Writes the document into `docs/benchmarks`, and the headline into the README, below this root.
pub fn write(results: &Results, root: &Path) -> Result<()> {
    let (directory, readme) = (root.join("docs/benchmarks"), root.join("README.md"));
    fs::create_dir_all(&directory)?;
    fs::write(directory.join("results.json"), serde_json::to_string_pretty(results)? + "\n")?;
    for (name, picture) in pictures::pictures(results) {
        fs::write(directory.join(name), picture)?;
    }
    let prices = Prices::read()?;
    fs::write(&readme, between_marks(&fs::read_to_string(&readme)?, &headline(results, &prices))?)?;
    let sections = [
        head(results),
        projection::ratios(results),
        projection::absolutes(results),
        projection::queries(results),
        projection::cold_starts(results),
        growth::growth(results),
        growth::sight(&results.sight),
        commands::locks(results),
        commands::payments(results),
        rebuild(results),
        costs::costs(results, &prices),
        costs::promises(&limits(results, &prices)),
    ];
    let sections: Vec<_> = sections.into_iter().filter(|section| !section.is_empty()).collect();
    Ok(fs::write(directory.join("README.md"), sections.join("\n"))?)
}

/// The sections on locks and payments alone.
#[must_use]
pub fn commands(results: &Results) -> String {
    [commands::locks(results), commands::payments(results)].join("\n")
}

const BEGIN: &str = "<!-- Made by `make bench`. -->\n";
const END: &str = "<!-- Until here. -->\n";

/// Replaces the text between the marks.
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

/// The faster start, if there are two: AWS recommends bundling for Node.
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

Our Lambdas compared with the same job in Python and Node. `make bench` repeats all measurements in some
minutes, and writes this page. It needs Linux, and skips a peer if its language is not installed.

Measured {date} on {machine}; {rounds} rounds, in which the contenders take
turns. A number is the median of the rounds, followed by the minimum and the maximum; a ratio is computed within each round.

{made_of}
The job: the first five events of typical orders with three line items (created, ticket created, charged, authorized, ticket
accepted), no duplicates, in batches of ten, one function for each type. Every event is projected by one conditional `UpdateItem` with an
idempotency record. The peers use Powertools' batch, idempotency and logger utilities as documented, with one client that keeps its
connections open. All log a line for each batch and one for each failure; ours also publishes metrics. Python runs in AWS's own runtime client,
Node in a small loop of ours. The bare loop has the same client and allocator, but no record, no batch and no Lambda: it only sends updates that were rendered before, one after
the other; with ten concurrent requests it uses the least CPU.

The *stub* answers at once and does nothing, which shows the client's own cost; the *engine* is the embedded DynamoDB of our
tests. Both run in their own process. CPU is that of the contender's process only. A meter in front of the engine counts requests and units
from `ConsumedCapacity`; for items of every age, the units are checked against the item's bytes with DynamoDB's rules.
Experiments that were not kept are in [tried.md](tried.md).
"
    )
}

/// The contenders that do the whole job: all except the bare loop.
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
    fn only_the_text_between_the_marks_is_replaced() {
        let document = |inside: &str| ["before\n", BEGIN, inside, END, "after\n"].concat();
        assert_eq!(between_marks(&document("old\n"), "new\n").unwrap(), document("new\n"));
        assert!(between_marks("no marks", "new").is_err());
    }
}
