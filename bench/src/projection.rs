//! The projection of events: each contender in turn, several rounds.

use std::collections::BTreeMap;
use std::path::Path;

use order_events::EventType;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Result;
use crate::contender::{Connection, Contender, FLOOR, FLOOR_OF_TEN};
use crate::dynamodb::{DynamoDb, Tally, Units};
use crate::fleet::{Effort, Fleet, Floor};
use crate::messages::{FIRST_FIVE, Messages};
use crate::statistics::Rounds;

/// How many messages SQS hands to a function at once, unless told otherwise.
pub const BATCH: usize = 10;

/// How many groups of ten orders go through the meter.
const METERED_GROUPS: usize = 5;
/// The bare loop, and how many requests it has under way.
const FLOORS: [(&str, usize); 2] = [(FLOOR, 1), (FLOOR_OF_TEN, BATCH)];
/// How many batches the bare loop gets in a round for each event type.
const FLOOR_BATCHES: usize = 60;

/// What projecting an event took a contender.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Projection {
    /// Who.
    pub name: String,
    /// What it is made of.
    pub made_of: String,
    /// Against the stub.
    pub stub: Pace,
    /// Against the engine.
    pub engine: Pace,
    /// In bytes: of the process that had the most. The bare loop holds all its updates, so that it is not compared.
    pub peak_memory: Option<u64>,
    /// What went to DynamoDB for each event.
    pub per_event: PerEvent,
    /// How long a batch waits for a DynamoDB that takes five milliseconds for an answer, in milliseconds of no CPU.
    pub waiting_millis: f64,
}

/// How fast, round by round.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Pace {
    /// Microseconds of CPU for each event, or request.
    pub cpu_micros: Rounds,
    /// How many in a second.
    pub per_second: Rounds,
}

/// What went to DynamoDB, for each event or request.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PerEvent {
    /// Requests by operation.
    pub requests: BTreeMap<String, f64>,
    /// Write units.
    pub written: Units,
    /// Read units.
    pub read: Units,
}

impl Pace {
    /// Adds a round.
    pub fn add(&mut self, effort: &Effort) {
        self.cpu_micros.0.push(effort.cpu_micros_each());
        self.per_second.0.push(effort.per_second());
    }
}

impl PerEvent {
    /// What the meter saw of so many.
    #[must_use]
    pub fn of(tally: &Tally, count: u32) -> Self {
        let count = f64::from(count);
        let share = |units: Units| Units {
            orders: units.orders / count,
            index: units.index / count,
            records: units.records / count,
        };
        Self {
            requests: tally.requests.iter().map(|(name, number)| (name.clone(), f64::from(*number) / count)).collect(),
            written: share(tally.written),
            read: share(tally.read),
        }
    }

    /// All requests.
    #[must_use]
    pub fn all_requests(&self) -> f64 {
        self.requests.values().sum()
    }
}

type Batches = Vec<(EventType, Value)>;

/// A contender at work.
enum Worker {
    Lambdas(Fleet, Contender),
    Floor(Box<Floor>),
}

impl Worker {
    async fn handle(&mut self, batches: Batches) -> Result<Effort> {
        match self {
            Self::Lambdas(fleet, _) => fleet.handle(batches).await,
            Self::Floor(floor) => floor.handle(&batches).await,
        }
    }

    fn groups(&self) -> usize {
        match self {
            Self::Lambdas(_, contender) => contender.batches,
            Self::Floor(_) => FLOOR_BATCHES,
        }
    }

    fn warm_up(&self) -> usize {
        match self {
            Self::Lambdas(_, contender) => contender.warm_up,
            Self::Floor(_) => FLOOR_BATCHES,
        }
    }

    fn peak_memory(&self) -> Result<Option<u64>> {
        match self {
            Self::Lambdas(fleet, _) => fleet.peak_memory().map(Some),
            Self::Floor(_) => Ok(None),
        }
    }
}

/// Where the benchmark runs and with whom.
#[derive(Debug)]
pub struct Bench<'a> {
    /// Who competes.
    pub contenders: &'a [Contender],
    /// Where our binaries are.
    pub binaries: &'a Path,
    /// How often each has its turn.
    pub rounds: usize,
}

impl Bench<'_> {
    /// Runs it all.
    pub async fn project(&self, dynamodb: &mut DynamoDb, messages: &mut Messages) -> Result<Vec<Projection>> {
        let endpoints = dynamodb.endpoints.clone();
        eprintln!("projection, on the stub");
        let (stub, _) = self.rounds(&endpoints.stub, messages).await?;
        eprintln!("projection, on the engine");
        let (engine, peaks) = self.rounds(&endpoints.engine, messages).await?;
        eprintln!("projection, on the meter and on a distant stub");
        let metered = self.metered(dynamodb, messages).await?;
        let waiting = self.waiting(&endpoints.distant_stub, messages).await?;

        let floors = FLOORS.map(|(name, at_once)| {
            (name, format!("aws-sdk-dynamodb, one conditional UpdateItem per event, {at_once} at a time"))
        });
        let lambdas = self.contenders.iter().map(|contender| (contender.name, contender.made_of.clone()));
        let mut projections = Vec::new();
        for (place, (name, made_of)) in lambdas.chain(floors).enumerate() {
            projections.push(Projection {
                name: name.to_owned(),
                made_of,
                stub: stub[place].clone(),
                engine: engine[place].clone(),
                peak_memory: peaks[place],
                per_event: metered[place].clone(),
                waiting_millis: waiting[place],
            });
        }
        Ok(projections)
    }

    async fn workers(&self, endpoint: &str) -> Result<Vec<Worker>> {
        let connection = Connection::plain(endpoint);
        let mut workers = Vec::new();
        for contender in self.contenders {
            let fleet = Fleet::start(contender, &FIRST_FIVE, &connection).await?;
            workers.push(Worker::Lambdas(fleet, contender.clone()));
        }
        for (_, at_once) in FLOORS {
            workers.push(Worker::Floor(Box::new(Floor::start(self.binaries, at_once, &connection)?)));
        }
        Ok(workers)
    }

    /// The pace of each, and its memory.
    async fn rounds(&self, endpoint: &str, messages: &mut Messages) -> Result<(Vec<Pace>, Vec<Option<u64>>)> {
        let mut workers = self.workers(endpoint).await?;
        for worker in &mut workers {
            worker.handle(messages.batches(&FIRST_FIVE, BATCH, worker.warm_up())?).await?;
        }
        let mut paces = vec![Pace::default(); workers.len()];
        for round in 1..=self.rounds {
            eprintln!("  round {round} of {}", self.rounds);
            for (worker, pace) in workers.iter_mut().zip(&mut paces) {
                let batches = messages.batches(&FIRST_FIVE, BATCH, worker.groups())?;
                pace.add(&worker.handle(batches).await?);
            }
        }
        let peaks = workers.iter().map(Worker::peak_memory).collect::<Result<_>>()?;
        Ok((paces, peaks))
    }

    async fn metered(&self, dynamodb: &mut DynamoDb, messages: &mut Messages) -> Result<Vec<PerEvent>> {
        let mut workers = self.workers(&dynamodb.endpoints.meter.clone()).await?;
        let mut metered = Vec::new();
        for worker in &mut workers {
            dynamodb.metered().await?;
            let effort = worker.handle(messages.batches(&FIRST_FIVE, BATCH, METERED_GROUPS)?).await?;
            let tally = dynamodb.metered().await?;
            if tally.refused > 0 {
                return Err(format!("{} requests for fresh events were refused", tally.refused).into());
            }
            metered.push(PerEvent::of(&tally, effort.count));
        }
        Ok(metered)
    }

    async fn waiting(&self, endpoint: &str, messages: &mut Messages) -> Result<Vec<f64>> {
        let mut waiting = Vec::new();
        for worker in &mut self.workers(endpoint).await? {
            worker.handle(messages.batches(&FIRST_FIVE, BATCH, 2)?).await?;
            let effort = worker.handle(messages.batches(&FIRST_FIVE, BATCH, 2)?).await?;
            let batches = f64::from(effort.count) / f64::from(u32::try_from(BATCH)?);
            waiting.push((effort.wall.saturating_sub(effort.cpu)).as_secs_f64() * 1e3 / batches);
        }
        Ok(waiting)
    }
}
