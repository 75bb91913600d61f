//! The section on a rebuild.

use std::fmt::Write as _;

use super::spread;
use crate::limits::in_megabytes;
use crate::rebuild::{MEMORY_MB, Rebuild, RebuildOfSize};
use crate::results::Results;
use crate::svg::number;

/// The section on a rebuild.
#[must_use]
pub fn rebuild(results: &Results) -> String {
    let Some(rebuild) = &results.rebuild else { return String::new() };
    let Rebuild { lean, stages, python, view_bytes, growth, into_engine } = rebuild;
    let mut section = "## A rebuild
Files of the archive are folded into views: the ten events of typical orders with three line items, about 500 bytes each, in gzip files of 20,000.
Each stage includes those above it. The *floor* is a lower bound: it parses the same messages, already decompressed, with derived code that borrows where
possible, checks nothing and stores nothing. One thread.

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
        let _ = writeln!(
            section,
            "\nPython is {}, with the same facets, watermarks and sets in dictionaries.",
            peer.made_of
        );
    }
    let [per_order, units] = [into_engine.per_order.all_requests(), into_engine.per_order.written.sum()].map(number);
    let _ = write!(
        section,
        "
A view takes {} bytes of memory. `rebuild run` into a fresh table of the engine takes {per_order} requests and {units} write units for an order, and {} µs \
of CPU for an event, including the engine's. The same {} events through the queues of `make run` take {} µs: {} times as much.

**As the archive grows.** `rebuild run --sink files --memory {MEMORY_MB}`, the whole program: every order is in the files once, even if the views \
do not fit into memory. Times are of one run each.

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
    for RebuildOfSize { events, cpu_micros, per_second, peak_memory } in growth {
        let memory = in_megabytes(*peak_memory, 1024.0 * 1024.0);
        let cells = [f64::from(*events), *cpu_micros, *per_second, memory].map(number).join(" | ");
        let _ = writeln!(section, "| {cells} |");
    }
    section
}
