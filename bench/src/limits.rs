//! The limits of the product, and whether this run kept them.

use std::fmt;

use order_events::EventType;

use crate::contender::{BUNDLED_NODE, FLOOR_OF_TEN, NODE, OURS, PYTHON};
use crate::costs::Prices;
use crate::growth::Growth;
use crate::locks::{IN_PLACE, PYTHON_LOCKS, TRANSACTION};
use crate::payments::Step;
use crate::rebuild::{EngineRebuild, FOLD, MEMORY_MB};
use crate::results::Results;
use crate::statistics::Rounds;

/// A limit and the measured value.
#[derive(Debug, Clone)]
pub struct Limit {
    /// The measured quantity.
    pub what: String,
    /// The largest allowed value.
    pub limit: f64,
    /// The measured value; NaN if it could not be measured.
    pub measured: f64,
    /// The unit, with a leading space; empty for a count.
    pub unit: &'static str,
}

impl Limit {
    /// Whether the limit was kept. A value that could not be measured does not count as kept.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.measured <= self.limit
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_kept() { "ok" } else { "MISSED" };
        let Self { what, limit, measured, unit } = self;
        write!(f, "limit {what}: at most {limit:.4}{unit}, measured {measured:.4}{unit} {verdict}")
    }
}

/// All limits. A peer that was not measured has none.
///
/// Limits use values that do not depend on other activity of the machine: counts, bytes, and CPU instead of the clock, with room
/// for the remaining noise. The document shows the other values.
#[must_use]
pub fn limits(results: &Results, prices: &Prices) -> Vec<Limit> {
    let mut limits = Vec::new();
    limits.extend(cpu_per_event(results));
    limits.extend(dynamodb(results));
    limits.extend(costs(results, prices));
    limits.extend(cold_start(results));
    limits.extend(pages(results));
    limits.extend(locks(results));
    limits.extend(payments(results));
    limits.extend(rebuild(results));
    limits
}

fn limit(what: impl Into<String>, limit: f64, measured: f64, unit: &'static str) -> Limit {
    Limit { what: what.into(), limit, measured, unit }
}

/// On the stub only. On the engine, the number of wake-ups depends on how the process shares the cores with an engine that is busy
/// itself: in four runs of one build, the ratio to Node was between 0.13 and 0.19. Compared with the bare loop that has ten
/// concurrent requests, as ours has: a loop that waits for each response needs a wake-up for each, which costs 70 to 120 µs.
fn cpu_per_event(results: &Results) -> Vec<Limit> {
    let mut limits = Vec::new();
    let Some(ours) = results.projection(OURS) else { return limits };
    for (peer, most) in [(PYTHON, 1.0 / 10.0), (NODE, 1.0 / 6.0), (FLOOR_OF_TEN, 5.0)] {
        let Some(theirs) = results.projection(peer) else { continue };
        let times = ours.tens.stub.cpu_micros.times(&theirs.tens.stub.cpu_micros).median;
        limits.push(limit(format!("CPU per event against {peer}, on the stub"), most, times, " ×"));
    }
    limits
}

fn costs(results: &Results, prices: &Prices) -> Vec<Limit> {
    let mut limits = Vec::new();
    let Some(ours) = results.projection(OURS) else { return limits };
    limits.push(limit("bytes logged per event in batches of 10", 60.0, ours.tens.logged.bytes, ""));
    limits.push(limit(
        "custom metrics without failures, for each event type",
        2.0,
        live_metrics_each(ours.live_metrics),
        "",
    ));
    for peer in [PYTHON, NODE] {
        let Some(theirs) = results.projection(peer) else { continue };
        for (ours, theirs) in ours.in_batches().zip(theirs.in_batches()) {
            let what = format!("total cost of an event in batches of {} against {peer}", ours.size);
            let times = prices.events(ours).sum() / prices.events(theirs).sum();
            limits.push(limit(what, 1.0, times, " ×"));
        }
    }
    limits
}

fn live_metrics_each(live: usize) -> f64 {
    let numbers = u32::try_from(live).ok().zip(u32::try_from(EventType::ALL.len()).ok());
    numbers.map_or(f64::NAN, |(live, types)| f64::from(live) / f64::from(types))
}

fn dynamodb(results: &Results) -> Vec<Limit> {
    let Some(ours) = results.projection(OURS) else { return Vec::new() };
    let each = &ours.tens.per_event;
    vec![
        limit("requests per new event in batches of 10", 2.2, each.all_requests(), ""),
        limit(
            "write units per event of a typical order's first five, with the record, without the index",
            4.0,
            each.written.orders + each.written.records,
            "",
        ),
        limit("read units per event that arrives in order", 0.0, each.read.sum(), ""),
    ]
}

/// By CPU: on a busy machine, a process that runs for 4 ms waits for a core about as long as it runs, and one that runs for
/// 300 ms does not wait so much longer.
fn cold_start(results: &Results) -> Vec<Limit> {
    let Some(ours) = results.cold_start(OURS) else { return Vec::new() };
    let mut limits = Vec::new();
    for peer in [PYTHON, NODE, BUNDLED_NODE] {
        let Some(theirs) = results.cold_start(peer) else { continue };
        let next = ours.to_next.cpu.times(&theirs.to_next.cpu).median;
        let response = ours.to_answer.cpu.times(&theirs.to_answer.cpu).median;
        limits.push(limit(format!("CPU to the first `next` against {peer}"), 1.0 / 20.0, next, " ×"));
        limits.push(limit(format!("CPU to the first response over TLS against {peer}"), 1.0 / 20.0, response, " ×"));
    }
    let megabytes = ours.binary_bytes.map_or(f64::NAN, |bytes| in_megabytes(bytes, 1e6));
    let peak = results.projection(OURS).and_then(|ours| ours.peak_memory).unwrap_or_default().max(ours.peak_memory);
    limits.push(limit("CPU to the first response over TLS", 10.0, ours.to_answer.cpu.median(), " ms"));
    limits.push(limit("handler binary", 6.0, megabytes, " MB"));
    limits.push(limit("peak memory", 32.0, in_megabytes(peak, 1024.0 * 1024.0), " MB"));
    limits
}

/// How much more a page of a long history may cost. The read units beside it are exact; this is for our own code, which would
/// cost many times as much if it looked at more than a page. On a busy machine, two rounds of the same page differ by a tenth.
const NOISE: f64 = 1.25;

fn pages(results: &Results) -> Vec<Limit> {
    let Growth { history, small_pages, .. } = &results.growth;
    let requests = history.iter().map(|point| point.each.all_requests()).fold(0.0, f64::max);
    let mut limits = vec![limit("requests for a page of 20, for any size of the history", 1.0, requests, "")];
    // A history of ten does not fill a page of 20, so the smallest that does is compared; a page of five it fills.
    for (page, smallest, points) in
        [("a page of five", "10", &small_pages[..]), ("a page of 20", "100", history.get(1..).unwrap_or_default())]
    {
        let (Some(least), Some(most)) = (points.first(), points.last()) else { continue };
        let times = most.cpu_micros.times(&least.cpu_micros).median;
        let units = most.each.read.sum() / least.each.read.sum();
        limits.push(limit(format!("CPU of {page}, 100,000 orders against {smallest}"), NOISE, times, " ×"));
        limits.push(limit(format!("read units of {page}, 100,000 orders against {smallest}"), 1.0, units, " ×"));
    }
    limits
}

/// Only without contention: with others, the number of requests depends on which process has a core at the moment.
fn locks(results: &Results) -> Vec<Limit> {
    let mut limits = Vec::new();
    for name in [TRANSACTION, IN_PLACE] {
        let Some(ours) = results.locking(name) else { continue };
        let requests = ours.alone.per_grant.all_requests();
        limits.push(limit(format!("requests for a lock and the commit under it, {name}"), 2.0, requests, ""));
        let Some(theirs) = results.locking(PYTHON_LOCKS) else { continue };
        let times = ours.alone.stub.cpu_micros.times(&theirs.alone.stub.cpu_micros).median;
        limits.push(limit(
            format!("CPU of a lock and the commit under it, {name}, against {PYTHON_LOCKS}, on the stub"),
            1.0 / 5.0,
            times,
            " ×",
        ));
    }
    limits
}

fn payments(results: &Results) -> Vec<Limit> {
    let mut limits = Vec::new();
    // One read and one transaction; the handler takes its lock, reads, and settles; the relay publishes ten and deletes ten in one request each.
    for (step, most) in
        [(Step::Create, 2.0), (Step::ChangeAmount, 2.0), (Step::Charge, 2.0), (Step::Settle, 3.0), (Step::Relay, 1.1)]
    {
        let Some(measured) = results.payment(step) else { continue };
        limits.push(limit(format!("requests to {}", step.name()), most, measured.per_request.all_requests(), ""));
    }
    limits
}

/// The limits of a rebuild.
#[must_use]
pub fn rebuild(results: &Results) -> Vec<Limit> {
    let Some(rebuild) = &results.rebuild else { return Vec::new() };
    let folded = rebuild.stage(FOLD).map(|stage| &stage.pace.cpu_micros);
    let against = |other: &Rounds| folded.map_or(f64::NAN, |folded| folded.times(other).median);
    let mut limits = vec![limit(
        "CPU of the fold against the floor, a lean parse of the same messages",
        3.5,
        against(&rebuild.lean.cpu_micros),
        " ×",
    )];
    if let Some(peer) = &rebuild.python {
        let times = against(&peer.pace.cpu_micros);
        // Not less: the floor, which keeps nothing, is 1/24 of it (docs/benchmarks/tried.md).
        limits.push(limit("CPU of the fold against the same fold in Python", 1.0 / 6.0, times, " ×"));
    }
    let EngineRebuild { rebuild_cpu_micros, queues_cpu_micros, per_order, .. } = &rebuild.into_engine;
    let peak = rebuild.growth.iter().map(|grown| grown.peak_memory).max();
    let peak = peak.map_or(f64::NAN, |peak| in_megabytes(peak, 1024.0 * 1024.0));
    limits.extend([
        limit("bytes of memory for a view of ten events", 4_096.0, rebuild.view_bytes, ""),
        limit(
            "CPU per event of a rebuild into the engine against the queues of `make run`",
            1.0 / 10.0,
            rebuild_cpu_micros.times(queues_cpu_micros).median,
            " ×",
        ),
        limit("requests for an order in a rebuild into a fresh table", 1.1, per_order.all_requests(), ""),
        limit(format!("peak memory of a rebuild into files with --memory {MEMORY_MB}"), MEMORY_MB.into(), peak, " MB"),
    ]);
    limits
}

/// Bytes in millions, or in mebibytes, as `unit` says.
#[must_use]
pub fn in_megabytes(bytes: u64, unit: f64) -> f64 {
    // All sizes here are below four gigabytes.
    u32::try_from(bytes).map_or(f64::INFINITY, f64::from) / unit
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that cannot go on should stop there.
mod tests {
    use super::*;
    use crate::locks::{Locking, Uncontended};
    use crate::logs::Logged;
    use crate::projection::{InBatches, Pace, PerEvent, Projection};
    use crate::query::RequestCost;
    use crate::rebuild::{Peer, Rebuild, RebuildOfSize, Stage};

    /// A contender with these logged bytes and this CPU time on the engine.
    fn contender(name: &str, bytes: f64, engine_cpu: f64) -> Projection {
        let pace = |cpu_micros| Pace { cpu_micros: Rounds(vec![cpu_micros]), ..Pace::default() };
        let in_batches = |size| InBatches {
            size,
            stub: pace(1.0),
            waiting_millis: Rounds(vec![5.0]),
            logged: Logged { lines: 0.1, bytes },
            ..InBatches::default()
        };
        let (tens, ones) = (in_batches(10), Some(in_batches(1)));
        Projection { name: name.to_owned(), tens, ones, engine: pace(engine_cpu), ..Projection::default() }
    }

    fn missed(projections: Vec<Projection>) -> Vec<String> {
        let results = Results { projections, ..Results::default() };
        let limits = limits(&results, &Prices::read().unwrap());
        let costs = limits.into_iter().filter(|limit| !limit.is_kept() && !limit.what.starts_with("CPU of a page"));
        costs.map(|limit| limit.what).collect()
    }

    #[test]
    fn a_contender_that_logs_more_than_a_peer_costs_more() {
        let all_in = |size| format!("total cost of an event in batches of {size} against Python");
        let missed = missed(vec![contender(OURS, 61.0, 1.0), contender(PYTHON, 60.0, 1.0)]);
        for what in ["bytes logged per event in batches of 10".to_owned(), all_in(1), all_in(10)] {
            assert!(missed.contains(&what), "{what} is not in {missed:?}");
        }
    }

    #[test]
    fn the_cpu_time_on_the_engine_has_no_limit() {
        let quick = missed(vec![contender(OURS, 1.0, 1.0), contender(NODE, 1.0, 100.0)]);
        let slow = missed(vec![contender(OURS, 1.0, 100.0), contender(NODE, 1.0, 1.0)]);
        assert_eq!(quick, slow);
    }

    /// The missed limits, if one grant takes this many requests and microseconds, and the peer's takes 100.
    fn missed_by_lock(requests: f64, cpu: f64) -> Vec<String> {
        let locking = |name: &str, cpu| Locking {
            name: name.to_owned(),
            alone: Uncontended {
                stub: Pace { cpu_micros: Rounds(vec![cpu]), ..Pace::default() },
                per_grant: PerEvent { requests: [("UpdateItem".to_owned(), requests)].into(), ..PerEvent::default() },
                ..Uncontended::default()
            },
            ..Locking::default()
        };
        let results =
            Results { locks: vec![locking(TRANSACTION, cpu), locking(PYTHON_LOCKS, 100.0)], ..Results::default() };
        locks(&results).into_iter().filter(|limit| !limit.is_kept()).map(|limit| limit.what).collect()
    }

    #[test]
    fn a_lock_has_two_requests_and_a_fifth_of_the_peers_cpu() {
        assert_eq!(missed_by_lock(2.0, 20.0), Vec::<String>::new());
        assert_eq!(missed_by_lock(3.0, 20.0), [format!("requests for a lock and the commit under it, {TRANSACTION}")]);
        let cpu = format!("CPU of a lock and the commit under it, {TRANSACTION}, against {PYTHON_LOCKS}, on the stub");
        assert_eq!(missed_by_lock(2.0, 21.0), [cpu]);
    }

    #[test]
    fn each_step_of_a_payment_has_its_own_limit() {
        let took = |step: Step, requests| RequestCost {
            question: step.name().to_owned(),
            per_request: PerEvent { requests: [("GetItem".to_owned(), requests)].into(), ..PerEvent::default() },
            ..RequestCost::default()
        };
        let steps = vec![took(Step::Charge, 2.1), took(Step::Settle, 3.0), took(Step::Relay, 1.2)];
        let limits = payments(&Results { payments: steps, ..Results::default() });
        let kept: Vec<_> = limits.iter().map(Limit::is_kept).collect();
        assert_eq!(kept, [false, true, false], "{limits:?}");
    }

    /// The missed limits, if the fold of an event takes this many microseconds, the floor takes one and Python takes 24.
    fn missed_by_rebuild(fold: f64, change: impl FnOnce(&mut Rebuild)) -> Vec<String> {
        let pace = |cpu_micros| Pace { cpu_micros: Rounds(vec![cpu_micros]), ..Pace::default() };
        let requests = [("PutItem".to_owned(), 1.1)].into();
        let mut measured = Rebuild {
            lean: pace(1.0),
            stages: vec![Stage { name: FOLD.to_owned(), pace: pace(fold) }],
            python: Some(Peer { pace: pace(24.0), ..Peer::default() }),
            view_bytes: 4_096.0,
            growth: vec![RebuildOfSize { peak_memory: 512 << 20, ..RebuildOfSize::default() }],
            into_engine: EngineRebuild {
                rebuild_cpu_micros: Rounds(vec![50.0]),
                queues_cpu_micros: Rounds(vec![500.0]),
                per_order: PerEvent { requests, ..PerEvent::default() },
                ..EngineRebuild::default()
            },
        };
        change(&mut measured);
        let limits = rebuild(&Results { rebuild: Some(measured), ..Results::default() });
        limits.into_iter().filter(|limit| !limit.is_kept()).map(|limit| limit.what).collect()
    }

    #[test]
    fn a_rebuild_has_a_limit_for_each_measured_value() {
        assert_eq!(missed_by_rebuild(3.5, |_| {}), Vec::<String>::new());
        let lean = "CPU of the fold against the floor, a lean parse of the same messages";
        assert_eq!(missed_by_rebuild(3.6, |_| {}), [lean]);
        let python = "CPU of the fold against the same fold in Python";
        assert_eq!(missed_by_rebuild(5.1, |_| {}), [lean, python]);
        assert_eq!(missed_by_rebuild(5.1, |rebuild| rebuild.python = None), [lean]);
        let memory = "bytes of memory for a view of ten events";
        assert_eq!(missed_by_rebuild(1.0, |rebuild| rebuild.view_bytes = 4_097.0), [memory]);
        let queues = "CPU per event of a rebuild into the engine against the queues of `make run`";
        assert_eq!(missed_by_rebuild(1.0, |rebuild| rebuild.into_engine.rebuild_cpu_micros.0[0] = 51.0), [queues]);
        let peak = "peak memory of a rebuild into files with --memory 512";
        assert_eq!(missed_by_rebuild(1.0, |rebuild| rebuild.growth[0].peak_memory += 1), [peak]);
        assert_eq!(missed_by_rebuild(1.0, |rebuild| rebuild.growth.clear()), [peak], "the value was not measured");
    }

    #[test]
    fn a_limit_without_a_measured_value_is_not_kept() {
        assert!(limit("a", 1.0, 1.0, "").is_kept());
        assert!(!limit("a", 1.0, 1.001, "").is_kept());
        assert!(!limit("a", 1.0, f64::NAN, "").is_kept());
        let line = "limit handler binary: at most 6.0000 MB, measured 7.0000 MB MISSED";
        assert_eq!(limit("handler binary", 6.0, 7.0, " MB").to_string(), line);
    }
}
