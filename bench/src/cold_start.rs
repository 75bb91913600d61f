//! Cold starts: from the start of the process to the first `next`, and to the first response, over TLS.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contender::{Connection, Contender, succeeded};
use crate::dynamodb::DynamoDb;
use crate::messages::{FIRST_FIVE, Messages};
use crate::query::RunningFunction;
use crate::statistics::Rounds;
use crate::{Result, payments, peers, process, query};

/// The measured cold starts of one contender.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ColdStart {
    /// The contender's name.
    pub name: String,
    /// To the first `next`, in milliseconds.
    pub to_next: StartTime,
    /// To the first response, in milliseconds.
    pub to_answer: StartTime,
    /// The peak memory until the first response, in bytes.
    pub peak_memory: u64,
    /// The size of the binary in bytes, if there is one.
    pub binary_bytes: Option<u64>,
}

/// A time since the start of the process, in milliseconds, for each round.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct StartTime {
    /// Wall-clock time.
    pub wall: Rounds,
    /// CPU time.
    pub cpu: Rounds,
}

impl StartTime {
    fn add(&mut self, wall: Duration, cpu: Duration) {
        self.wall.0.push(wall.as_secs_f64() * 1e3);
        self.cpu.0.push(cpu.as_secs_f64() * 1e3);
    }
}

/// The number of starts in one round: a start is short, so other activity on the machine has more influence.
const STARTS: usize = 3;

/// Starts all contenders in turn, in rounds. The stub's last reads must be a page, and an intent that can be charged.
pub async fn start_all(
    contenders: &[Contender],
    binaries: &Path,
    dynamodb: &DynamoDb,
    messages: &mut Messages,
    rounds: usize,
) -> Result<Vec<ColdStart>> {
    let endpoints = &dynamodb.endpoints;
    let connection =
        Connection { endpoint: endpoints.tls.clone(), root: Some(endpoints.root.clone()), more: Vec::new() };
    let ours = [query::query_api(binaries), payments::payment_api(binaries)];
    let others = peers::bundled_node()?.into_iter().chain(ours);
    let lambdas: Vec<Contender> = contenders.iter().cloned().chain(others).collect();
    let mut cold_starts = vec![ColdStart::default(); lambdas.len()];
    let rounds = rounds * STARTS;
    for round in 0..=rounds {
        eprintln!("cold starts, round {round} of {rounds}");
        for (lambda, cold_start) in lambdas.iter().zip(&mut cold_starts) {
            let event = match lambda.name {
                payments::PAYMENT_API => payments::any_charge(),
                query::QUERY_API => query::page("1", ""),
                _ => {
                    let orders = messages.fresh_orders(1);
                    messages.batch(FIRST_FIVE[0], &orders)?
                }
            };
            let started = start(lambda, event, &connection).await?;
            // The first start has a cold page cache, and writes compiled Python files.
            if round > 0 {
                cold_start.add(lambda, &started)?;
            }
        }
    }
    Ok(cold_starts)
}

/// Starts the query functions of several directories in turn, so that builds can be compared. Each has the name of its directory.
pub async fn compare(directories: &[PathBuf], dynamodb: &DynamoDb, rounds: usize) -> Result<Vec<ColdStart>> {
    let (endpoints, page) = (&dynamodb.endpoints, query::page("1", ""));
    let lambdas: Vec<_> = directories.iter().map(|directory| query::query_api(directory)).collect();
    // From here on the stub answers with a page.
    let first = lambdas.first().ok_or("name one directory or more")?;
    RunningFunction::start(first, &endpoints.meter).await?.send_repeatedly(&page, 1).await?;
    let connection =
        Connection { endpoint: endpoints.tls.clone(), root: Some(endpoints.root.clone()), more: Vec::new() };
    let mut cold_starts = vec![ColdStart::default(); lambdas.len()];
    for round in 0..=rounds * STARTS {
        for (lambda, cold_start) in lambdas.iter().zip(&mut cold_starts) {
            let started = start(lambda, page.clone(), &connection).await?;
            if round > 0 {
                cold_start.add(lambda, &started)?;
            }
        }
    }
    for (cold_start, directory) in cold_starts.iter_mut().zip(directories) {
        cold_start.name = directory.display().to_string();
    }
    Ok(cold_starts)
}

struct Started {
    to_next: (Duration, Duration),
    to_answer: (Duration, Duration),
    peak_memory: u64,
}

impl ColdStart {
    fn add(&mut self, lambda: &Contender, started: &Started) -> Result<()> {
        lambda.name.clone_into(&mut self.name);
        self.to_next.add(started.to_next.0, started.to_next.1);
        self.to_answer.add(started.to_answer.0, started.to_answer.1);
        self.peak_memory = self.peak_memory.max(started.peak_memory);
        let size = std::fs::metadata(&lambda.bootstrap)?.len();
        // The size of a script does not show what the interpreter loads.
        self.binary_bytes = (size > 100_000).then_some(size);
        Ok(())
    }
}

async fn start(lambda: &Contender, event: Value, connection: &Connection) -> Result<Started> {
    let began = Instant::now();
    let function = lambda.start(FIRST_FIVE[0].name(), connection).await?;
    function.wait_until_initialized().await;
    let process_id = function.process_id().ok_or("a process has ended before its first `next`")?;
    let to_next = (began.elapsed(), process::cpu(process_id)?);
    let response = function.invoke(event).await.map_err(|error| format!("{}: {error}", lambda.name))?;
    let to_answer = (began.elapsed(), process::cpu(process_id)?);
    if !succeeded(&response) {
        return Err(format!("{}: the first response is {response}", lambda.name).into());
    }
    Ok(Started { to_next, to_answer, peak_memory: process::peak_memory(process_id)? })
}
