//! The functions of one contender, one for each event type as in a deployment; or the bare loop instead.

use std::ops::AddAssign;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use lambda_host::lambda::Function;
use order_events::EventType;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::contender::{Connection, Contender, succeeded};
use crate::{Result, process};

/// The measured effort of some work.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Effort {
    /// The number of events or requests.
    pub count: u32,
    /// Wall-clock time.
    pub wall: Duration,
    /// CPU time of the contender's processes only.
    pub cpu: Duration,
    /// The time in which the contender only waits for responses.
    pub waiting: Duration,
}

impl Effort {
    /// Microseconds of CPU for each event or request.
    #[must_use]
    pub fn cpu_micros_each(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / f64::from(self.count)
    }

    /// Milliseconds of waiting for each batch of this size.
    #[must_use]
    pub fn waiting_millis_of(&self, batch: usize) -> f64 {
        let batch = u32::try_from(batch).map_or(f64::NAN, f64::from);
        self.waiting.as_secs_f64() * 1e3 * batch / f64::from(self.count)
    }

    /// The number per second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        f64::from(self.count) / self.wall.as_secs_f64()
    }
}

impl AddAssign for Effort {
    fn add_assign(&mut self, more: Self) {
        self.count += more.count;
        self.wall += more.wall;
        self.cpu += more.cpu;
        self.waiting += more.waiting;
    }
}

/// Measures some processes.
#[derive(Debug)]
pub struct Stopwatch {
    process_ids: Vec<u32>,
    began: Instant,
    cpu: Duration,
    busy: Duration,
}

impl Stopwatch {
    /// Starts measuring.
    pub fn start(process_ids: Vec<u32>) -> Result<Self> {
        let (cpu, busy) = used(&process_ids)?;
        Ok(Self { process_ids, began: Instant::now(), cpu, busy })
    }

    /// The effort since the start, for this many events or requests.
    pub fn stop(self, count: usize) -> Result<Effort> {
        let wall = self.began.elapsed();
        let (cpu, busy) = used(&self.process_ids)?;
        let waiting = wall.saturating_sub(busy.saturating_sub(self.busy));
        Ok(Effort { count: u32::try_from(count)?, wall, cpu: cpu.saturating_sub(self.cpu), waiting })
    }
}

fn used(process_ids: &[u32]) -> Result<(Duration, Duration)> {
    let cpu = process_ids.iter().copied().map(process::cpu).sum::<Result<_>>()?;
    let busy = process_ids.iter().copied().map(process::busy).sum::<Result<_>>()?;
    Ok((cpu, busy))
}

/// Running functions.
#[derive(Debug)]
pub struct ContenderFunctions {
    name: &'static str,
    functions: Vec<(EventType, Function)>,
}

impl ContenderFunctions {
    /// Starts a function for each of these event types.
    pub async fn start(contender: &Contender, events: &[EventType], connection: &Connection) -> Result<Self> {
        let mut functions = Vec::new();
        for event_type in events {
            functions.push((*event_type, contender.start(event_type.name(), connection).await?));
        }
        for (_, function) in &functions {
            function.wait_until_initialized().await;
        }
        Ok(Self { name: contender.name, functions })
    }

    /// Invokes each batch's function, one after the other.
    pub async fn handle(&self, batches: Vec<(EventType, Value)>) -> Result<Effort> {
        let mut count = 0;
        let watch = Stopwatch::start(self.process_ids().collect())?;
        for (event_type, batch) in batches {
            count += batch["Records"].as_array().map_or(0, Vec::len);
            let response =
                self.function(event_type)?.invoke(batch).await.map_err(|error| format!("{}: {error}", self.name))?;
            if !succeeded(&response) {
                return Err(format!("{} did not project all of a batch of {event_type}: {response}", self.name).into());
            }
        }
        watch.stop(count)
    }

    /// Ends the functions, and returns their output.
    pub async fn stop(self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        for (_, function) in self.functions {
            lines.extend(function.stop().await?);
        }
        Ok(lines)
    }

    /// The peak memory of the function with the most, in bytes.
    pub fn peak_memory(&self) -> Result<u64> {
        let peaks = self.process_ids().map(process::peak_memory).collect::<Result<Vec<_>>>()?;
        Ok(peaks.into_iter().max().unwrap_or_default())
    }

    fn process_ids(&self) -> impl Iterator<Item = u32> {
        self.functions.iter().filter_map(|(_, function)| function.process_id())
    }

    fn function(&self, event_type: EventType) -> Result<&Function> {
        let function = self.functions.iter().find(|(of, _)| *of == event_type);
        let (_, function) = function.ok_or_else(|| format!("no function for {event_type}"))?;
        Ok(function)
    }
}

/// A program that gets a task as a line on standard input, and prints a line when it is done.
#[derive(Debug)]
pub struct Program {
    process: Child,
    tasks: ChildStdin,
    reports: Lines<BufReader<ChildStdout>>,
}

impl Program {
    /// Starts the program. It ends when this value is dropped.
    pub fn start(command: &mut Command) -> Result<Self> {
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let tasks = process.stdin.take().ok_or("the program has no standard input")?;
        let stdout = process.stdout.take().ok_or("the program has no standard output")?;
        Ok(Self { process, tasks, reports: BufReader::new(stdout).lines() })
    }

    /// Sends a task, and waits until it is done.
    pub async fn run_task(&mut self, line: &str) -> Result<()> {
        self.tasks.write_all(format!("{line}\n").as_bytes()).await?;
        self.reports.next_line().await?.ok_or("the program has ended")?;
        Ok(())
    }

    /// Its process.
    pub fn process_id(&self) -> Result<u32> {
        Ok(self.process.id().ok_or("the program has ended")?)
    }
}

/// The bare loop: see `bench/floor`.
#[derive(Debug)]
pub struct Floor(Program);

impl Floor {
    /// Starts it with this many concurrent requests.
    pub fn start(binaries: &Path, at_once: usize, connection: &Connection) -> Result<Self> {
        let mut command = Command::new(binaries.join("floor"));
        Program::start(command.arg(at_once.to_string()).envs(connection.environment())).map(Self)
    }

    /// Sends the updates of these batches. Parsing and rendering them is not measured.
    pub async fn handle(&mut self, batches: &[(EventType, Value)]) -> Result<Effort> {
        let records = batches.iter().flat_map(|(_, batch)| batch["Records"].as_array().into_iter().flatten());
        let messages: Vec<&Value> = records.map(|record| &record["body"]).collect();
        self.0.run_task(&serde_json::to_string(&messages)?).await?;
        let watch = Stopwatch::start(vec![self.0.process_id()?])?;
        self.0.run_task("go").await?;
        watch.stop(messages.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_computed_for_a_batch_with_any_cpu_time() {
        let millis = Duration::from_millis;
        // Node's helper threads can make the CPU time larger than the wall-clock time.
        let effort = Effort { count: 20, wall: millis(100), cpu: millis(250), waiting: millis(40) };
        assert_eq!(format!("{} {}", effort.waiting_millis_of(10), effort.waiting_millis_of(1)), "20 2");
    }
}
