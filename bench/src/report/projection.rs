//! The sections on projections, queries and cold starts.

use std::fmt::Write as _;

use super::{dynamodb, lambdas, memory, mib, paces, spread};
use crate::contender::OURS;
use crate::limits::in_megabytes;
use crate::results::Results;
use crate::svg::number;

pub(super) fn ratios(results: &Results) -> String {
    let mut table = "## Ratios
Each number is a multiple of ours.

| | CPU per event, stub | CPU per event, engine | events/s, stub | peak memory | to first `next` | to first response |
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

pub(super) fn absolutes(results: &Results) -> String {
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
More inputs of the [costs](#costs), by batch size. Waiting is the time in which a function is idle during a
batch, with a DynamoDB that takes 5 ms to respond. Bytes are the function's output.

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

pub(super) fn queries(results: &Results) -> String {
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

pub(super) fn cold_starts(results: &Results) -> String {
    let mut table = "## Cold start
Milliseconds from the start of the process, over TLS with its own root certificate. A function is ready when it sends its first `next`, the request
for an event in Lambda's Runtime API. The first response is that to an `OrderCreated`, for `query-api` to the request of a page, for `payment-api` to
that of a charge. Node is measured as npm installs it, and bundled into one file by esbuild.

| | to first `next` | CPU until then | to first response | CPU until then | peak memory (MB) | binary (MB) |
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
