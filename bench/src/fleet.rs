//! The functions of one contender, one for each event type, as they are deployed; or the bare loop in their place.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use lambda_host::lambda::Function;
use order_events::EventType;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::contender::{Connection, Contender};
use crate::{Result, process};

/// What some work took.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Effort {
    /// How many events, or requests.
    pub count: u32,
    /// On the clock.
    pub wall: Duration,
    /// On the processor, in the contender's processes alone.
    pub cpu: Duration,
}

impl Effort {
    /// Microseconds of CPU for each.
    #[must_use]
    pub fn cpu_micros_each(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / f64::from(self.count)
    }

    /// How many in a second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        f64::from(self.count) / self.wall.as_secs_f64()
    }
}

/// Running functions.
#[derive(Debug)]
pub struct Fleet {
    name: &'static str,
    functions: Vec<(EventType, Function)>,
}

impl Fleet {
    /// Starts a function for each of these event types.
    pub async fn start(contender: &Contender, events: &[EventType], connection: &Connection) -> Result<Self> {
        let mut functions = Vec::new();
        for event_type in events {
            functions.push((*event_type, contender.start(event_type.name(), connection).await?));
        }
        for (_, function) in &functions {
            function.asks_for_work().await;
        }
        Ok(Self { name: contender.name, functions })
    }

    /// Hands each batch to its function, one after the other.
    pub async fn handle(&self, batches: Vec<(EventType, Value)>) -> Result<Effort> {
        let mut count = 0;
        let (began, cpu) = (Instant::now(), self.cpu()?);
        for (event_type, batch) in batches {
            count += batch["Records"].as_array().map_or(0, Vec::len);
            let answer =
                self.function(event_type)?.invoke(batch).await.map_err(|error| format!("{}: {error}", self.name))?;
            if answer["batchItemFailures"].as_array().is_some_and(|failures| !failures.is_empty()) {
                return Err(format!("{} did not project all of a batch of {event_type}: {answer}", self.name).into());
            }
        }
        let wall = began.elapsed();
        Ok(Effort { count: u32::try_from(count)?, wall, cpu: self.cpu()?.saturating_sub(cpu) })
    }

    /// The most memory that one of the functions has had.
    pub fn peak_memory(&self) -> Result<u64> {
        let peaks = self.process_ids().map(process::peak_memory).collect::<Result<Vec<_>>>()?;
        Ok(peaks.into_iter().max().unwrap_or_default())
    }

    fn cpu(&self) -> Result<Duration> {
        self.process_ids().map(process::cpu).sum()
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

/// The bare loop: see `bench/floor`.
#[derive(Debug)]
pub struct Floor {
    process: Child,
    tasks: ChildStdin,
    reports: Lines<BufReader<ChildStdout>>,
}

impl Floor {
    /// Starts it, to have so many requests under way at once.
    pub fn start(binaries: &Path, at_once: usize, connection: &Connection) -> Result<Self> {
        let mut process = Command::new(binaries.join("floor"))
            .arg(at_once.to_string())
            .envs(connection.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let tasks = process.stdin.take().ok_or("the bare loop has no standard input")?;
        let stdout = process.stdout.take().ok_or("the bare loop has no standard output")?;
        Ok(Self { process, tasks, reports: BufReader::new(stdout).lines() })
    }

    /// Sends the updates of these batches. Reading and rendering them is not counted.
    pub async fn handle(&mut self, batches: &[(EventType, Value)]) -> Result<Effort> {
        let records = batches.iter().flat_map(|(_, batch)| batch["Records"].as_array().into_iter().flatten());
        let messages: Vec<&Value> = records.map(|record| &record["body"]).collect();
        self.tell(&serde_json::to_string(&messages)?).await?;
        let (began, cpu) = (Instant::now(), process::cpu(self.process_id()?)?);
        self.tell("go").await?;
        let wall = began.elapsed();
        let cpu = process::cpu(self.process_id()?)?.saturating_sub(cpu);
        Ok(Effort { count: u32::try_from(messages.len())?, wall, cpu })
    }

    async fn tell(&mut self, line: &str) -> Result<()> {
        self.tasks.write_all(format!("{line}\n").as_bytes()).await?;
        self.reports.next_line().await?.ok_or("the bare loop has ended")?;
        Ok(())
    }

    fn process_id(&self) -> Result<u32> {
        Ok(self.process.id().ok_or("the bare loop has ended")?)
    }
}
