//! A rebuild: its cost for each stage, compared with a floor and the same fold in Python, and as the archive grows.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::archived::{BenchArchive, TEN_EVENTS};
use crate::contender::Connection;
use crate::dynamodb::DynamoDb;
use crate::fleet::{Program, Stopwatch};
use crate::projection::{Pace, PerEvent};
use crate::statistics::Rounds;
use crate::visibility::System;
use crate::{Result, peers, process};

/// The cost of a rebuild.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Rebuild {
    /// The floor: the same messages, parsed by derived code that borrows where possible and checks nothing.
    pub lean: Pace,
    /// Our stages, each with those before it.
    pub stages: Vec<Stage>,
    /// The same fold in Python, if it was measured.
    pub python: Option<Peer>,
    /// The bytes of memory for a view of ten events.
    pub view_bytes: f64,
    /// Rebuilds into files, by the number of events.
    pub growth: Vec<RebuildOfSize>,
    /// Into a table of the engine, and through the queues of the local system.
    pub into_engine: EngineRebuild,
}

/// A stage, with those before it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Stage {
    /// The name of the stage.
    pub name: String,
    /// Per event.
    pub pace: Pace,
}

/// A peer's fold.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Peer {
    /// Its components, with versions.
    pub made_of: String,
    /// Per event.
    pub pace: Pace,
}

/// A rebuild of an archive of some size.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RebuildOfSize {
    /// Events.
    pub events: u32,
    /// Microseconds of CPU per event.
    pub cpu_micros: f64,
    /// Events per second on the clock.
    pub per_second: f64,
    /// The peak resident memory, in bytes.
    pub peak_memory: u64,
}

/// The same events in a rebuild, and as live events.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct EngineRebuild {
    /// Events.
    pub events: u32,
    /// Microseconds of CPU per event of a rebuild: its process and the engine's.
    pub rebuild_cpu_micros: Rounds,
    /// Microseconds of CPU per event through the queues: the local system, in which the engine is, and its functions.
    pub queues_cpu_micros: Rounds,
    /// The DynamoDB requests of the rebuild, for each order.
    pub per_order: PerEvent,
}

/// The names of the stages in `fold-loop`, in sequence.
pub const STAGES: [&str; 4] = ["decode", "parse", "fold", "write"];
/// The stage that makes views.
pub const FOLD: &str = "fold";
/// The memory limit of a rebuild into files, in MB.
pub const MEMORY_MB: u32 = 512;

/// The orders in the archive for the stages: one file.
const ORDERS: usize = 2_000;
/// How often a file is processed in a round, so that a round takes some hundreds of milliseconds.
const TIMES: usize = 10;
/// Orders whose views are held in memory.
const ORDERS_IN_MEMORY: usize = 40_000;
/// Orders that go through the queues.
const ORDERS_IN_QUEUES: usize = 200;
/// The default of the largest archive, in events.
const MAX_EVENTS: usize = 10_000_000;

impl Rebuild {
    /// A stage, if it was measured.
    #[must_use]
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }
}

/// Runs all measurements.
pub async fn rebuild_all(binaries: &Path, dynamodb: &mut DynamoDb, rounds: usize) -> Result<Rebuild> {
    let mut found = stages(binaries, rounds).await?;
    found.view_bytes = view_bytes(binaries).await?;
    found.into_engine = into_engine(binaries, dynamodb, rounds).await?;
    let most = std::env::var("BENCH_EVENTS").map_or(Ok(MAX_EVENTS), |most| most.parse())?;
    for events in [10_000, 100_000, 1_000_000, 10_000_000].into_iter().filter(|events| *events <= most) {
        eprintln!("a rebuild of {events} events into files");
        found.growth.push(into_files(binaries, events)?);
    }
    Ok(found)
}

/// Each stage, the floor and the peer in turn, in rounds.
async fn stages(binaries: &Path, rounds: usize) -> Result<Rebuild> {
    let archived = BenchArchive::write("stages", 0..ORDERS)?;
    let file = &archived.files[0];
    let task = |stage: &str| json!({"stage": stage, "file": file}).to_string();
    let mut ours = Program::start(&mut tokio::process::Command::new(binaries.join("fold-loop")))?;
    let mut peer = match peers::python_fold()? {
        Some(peer) => {
            let mut command = tokio::process::Command::new(&peer.interpreter);
            let program = Program::start(command.arg(&peer.script))?;
            Some((program, Peer { made_of: peer.made_of, pace: Pace::default() }))
        }
        None => None,
    };
    let mut found = Rebuild {
        stages: STAGES.map(|name| Stage { name: name.to_owned(), pace: Pace::default() }).into(),
        ..Rebuild::default()
    };
    ours.run_task(&task("load")).await?;
    for stage in ["lean"].into_iter().chain(STAGES) {
        ours.run_task(&task(stage)).await?;
    }
    if let Some((program, _)) = &mut peer {
        program.run_task(&task(FOLD)).await?;
    }
    for round in 1..=rounds {
        eprintln!("stages of a rebuild, round {round} of {rounds}");
        measure(&mut ours, &task("lean"), TIMES, archived.events, &mut found.lean).await?;
        for Stage { name, pace } in &mut found.stages {
            measure(&mut ours, &task(name), TIMES, archived.events, pace).await?;
        }
        if let Some((program, peer)) = &mut peer {
            measure(program, &task(FOLD), 1, archived.events, &mut peer.pace).await?;
        }
    }
    found.python = peer.map(|(_, peer)| peer);
    Ok(found)
}

async fn measure(program: &mut Program, task: &str, times: usize, events: usize, pace: &mut Pace) -> Result<()> {
    let watch = Stopwatch::start(vec![program.process_id()?])?;
    for _ in 0..times {
        program.run_task(task).await?;
    }
    pace.add(&watch.stop(times * events)?);
    Ok(())
}

/// Computed from the resident memory before and after many views are made. A first fold warms up the memory.
async fn view_bytes(binaries: &Path) -> Result<f64> {
    eprintln!("the memory of views");
    let archived = BenchArchive::write("memory", 0..ORDERS_IN_MEMORY)?;
    let mut ours = Program::start(&mut tokio::process::Command::new(binaries.join("fold-loop")))?;
    let mut before = 0;
    for (place, file) in archived.files.iter().enumerate() {
        if place == 1 {
            before = process::memory(ours.process_id()?)?;
        }
        ours.run_task(&json!({"stage": "hold", "file": file}).to_string()).await?;
    }
    let more = process::memory(ours.process_id()?)?.saturating_sub(before);
    let views = archived.orders() - archived.orders() / archived.files.len();
    Ok(f64::from(u32::try_from(more)?) / f64::from(u32::try_from(views)?))
}

/// The same events as a rebuild into a fresh table of the engine, and through the queues of the local system.
async fn into_engine(binaries: &Path, dynamodb: &mut DynamoDb, rounds: usize) -> Result<EngineRebuild> {
    let system = System::start(binaries).await?;
    let mut found = EngineRebuild::default();
    for round in 0..=rounds {
        eprintln!("a rebuild and the queues, round {round} of {rounds}");
        let archived = BenchArchive::write("engine", round * ORDERS_IN_QUEUES..(round + 1) * ORDERS_IN_QUEUES)?;
        found.events = u32::try_from(archived.events)?;
        let events = f64::from(found.events);

        let lines = archived.first_lines()?;
        let before = system.cpu()?;
        system.project(&by_queue(&lines)?).await?;
        let queues = system.cpu()?.saturating_sub(before);

        let endpoint = if round == 0 { dynamodb.endpoints.meter.clone() } else { dynamodb.endpoints.engine.clone() };
        let table = format!("rebuilt-{round}");
        order_store::table::create_if_missing(&dynamodb.client(), &table).await?;
        dynamodb.metered().await?;
        let engine = process::cpu(dynamodb.process_id()?)?;
        let ended = run(Command::new(binaries.join("rebuild"))
            .args(["run", "--into", &table, "--snapshot", "none", "--from"])
            .arg(&archived.root)
            .envs(Connection::plain(&endpoint).environment()))?;
        let engine = process::cpu(dynamodb.process_id()?)?.saturating_sub(engine);
        // The first round is through the meter, and a warm-up for the queues.
        if round == 0 {
            found.per_order = PerEvent::of(&dynamodb.metered().await?, u32::try_from(archived.orders())?);
        } else {
            found.rebuild_cpu_micros.0.push((ended.cpu + engine).as_secs_f64() * 1e6 / events);
            found.queues_cpu_micros.0.push(queues.as_secs_f64() * 1e6 / events);
        }
    }
    Ok(found)
}

fn into_files(binaries: &Path, events: usize) -> Result<RebuildOfSize> {
    let archived = BenchArchive::write("files", 0..events / TEN_EVENTS.len())?;
    let began = Instant::now();
    let ended = run(Command::new(binaries.join("rebuild"))
        .args(["run", "--sink", "files", "--snapshot", "none", "--memory", &MEMORY_MB.to_string(), "--from"])
        .arg(&archived.root)
        .envs(Connection::plain("http://127.0.0.1:1").environment()))?;
    let events = u32::try_from(archived.events)?;
    Ok(RebuildOfSize {
        events,
        cpu_micros: ended.cpu.as_secs_f64() * 1e6 / f64::from(events),
        per_second: f64::from(events) / began.elapsed().as_secs_f64(),
        peak_memory: ended.peak_memory,
    })
}

/// The effort of a process that has ended.
struct ProcessCost {
    cpu: Duration,
    peak_memory: u64,
}

/// Runs a program to its end.
fn run(command: &mut Command) -> Result<ProcessCost> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let (peak_memory, cpu) = follow(&child)?;
    let output = child.stderr.take().map(std::io::read_to_string).transpose()?.unwrap_or_default();
    let status = child.wait()?;
    if status.success() {
        Ok(ProcessCost { cpu, peak_memory })
    } else {
        Err(format!("{command:?} ended with {status}: {output}").into())
    }
}

/// The polling interval: the last reading of the memory is at most this long before the end.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits for the end of a process, and returns its peak memory and its CPU time.
fn follow(child: &Child) -> Result<(u64, Duration)> {
    let mut peak = 0;
    loop {
        if let Some(cpu) = process::cpu_of_ended(child.id())? {
            return Ok((peak, cpu));
        }
        // It may end between the two readings, and then has no memory.
        peak = process::peak_memory(child.id()).unwrap_or(peak);
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The messages of the lines, by the queue they belong to.
fn by_queue(lines: &[String]) -> Result<Vec<(String, Vec<&str>)>> {
    let mut queues: Vec<(String, Vec<&str>)> = Vec::new();
    for line in lines {
        let message: Value = serde_json::from_str(line)?;
        let name = message["headers"]["event-type"].as_str().unwrap_or_default();
        let event_type: order_events::EventType = name.parse().map_err(|error| format!("event type {error}"))?;
        let queue = format!("ftgo-order-history-{event_type}");
        match queues.iter_mut().find(|(known, _)| *known == queue) {
            Some((_, messages)) => messages.push(line),
            None => queues.push((queue, vec![line])),
        }
    }
    Ok(queues)
}
