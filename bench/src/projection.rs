//! The projection of events: each contender in turn, several rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use order_events::EventType;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Result;
use crate::contender::{Connection, Contender, FLOOR, FLOOR_OF_TEN};
use crate::dynamodb::{DynamoDb, MeterCounts, Units};
use crate::fleet::{ContenderFunctions, Effort, Floor};
use crate::logs::{self, Logged};
use crate::messages::{FIRST_FIVE, Messages};
use crate::statistics::Rounds;

/// The default batch size of a queue's event source mapping.
pub const BATCH: usize = 10;

/// The number of groups of orders through the meter, and for the count of log output.
const METERED_GROUPS: usize = 5;
/// The bare loops, and their numbers of concurrent requests.
const FLOORS: [(&str, usize); 2] = [(FLOOR, 1), (FLOOR_OF_TEN, BATCH)];
/// The number of batches of the bare loop in a round for each event type.
const FLOOR_BATCHES: usize = 60;

/// The cost of projecting an event for one contender.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Projection {
    /// The contender's name.
    pub name: String,
    /// Its components, with versions.
    pub made_of: String,
    /// In batches of ten.
    pub tens: InBatches,
    /// In batches of one; the bare loop has no batches.
    pub ones: Option<InBatches>,
    /// Against the engine, in batches of ten.
    pub engine: Pace,
    /// In bytes, for the process with the most. The bare loop has none, because it holds all its updates in memory.
    pub peak_memory: Option<u64>,
    /// The custom metrics that are published without failures: ours for every event type, a peer's for those it handles.
    pub live_metrics: usize,
}

/// The cost of projecting an event in batches of one size.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct InBatches {
    /// The number of messages in a batch.
    pub size: usize,
    /// Against the stub.
    pub stub: Pace,
    /// The waiting time of a batch with a DynamoDB that takes five milliseconds for a response, in milliseconds.
    pub waiting_millis: Rounds,
    /// What went to DynamoDB for each event.
    pub per_event: PerEvent,
    /// The log output for each event.
    pub logged: Logged,
}

impl Projection {
    /// The cost of an event, for each batch size.
    pub fn in_batches(&self) -> impl Iterator<Item = &InBatches> {
        self.ones.iter().chain([&self.tens])
    }

    fn in_batches_mut(&mut self) -> impl Iterator<Item = &mut InBatches> {
        self.ones.iter_mut().chain([&mut self.tens])
    }
}

/// The speed, for each round.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Pace {
    /// Microseconds of CPU for each event, or request.
    pub cpu_micros: Rounds,
    /// The number per second.
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
    /// The meter's tally divided by the number of events or requests.
    #[must_use]
    pub fn of(tally: &MeterCounts, count: u32) -> Self {
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

/// A running contender.
enum Worker {
    Lambdas(ContenderFunctions, Contender),
    Floor(Box<Floor>),
}

impl Worker {
    async fn handle(&mut self, batches: Batches) -> Result<Effort> {
        match self {
            Self::Lambdas(fleet, _) => fleet.handle(batches).await,
            Self::Floor(floor) => floor.handle(&batches).await,
        }
    }

    /// The number of batches of ten in a round for each event type.
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

/// The settings of the benchmark.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The contenders.
    pub contenders: &'a [Contender],
    /// The folder of our binaries.
    pub binaries: &'a Path,
    /// The number of rounds.
    pub rounds: usize,
}

/// A batch of one takes about half as long as a batch of ten.
const ONES: usize = 2;
/// The number of groups of batches of ten, and of one, in a round on the distant stub.
const DISTANT_GROUPS: (usize, usize) = (2, 5);

impl Bench<'_> {
    /// Runs all measurements.
    pub async fn project(&self, dynamodb: &mut DynamoDb, messages: &mut Messages) -> Result<Vec<Projection>> {
        let endpoints = dynamodb.endpoints.clone();
        eprintln!("projection, on the stub");
        let (tens, ones) = self.on_stub(&endpoints.stub, messages).await?;
        eprintln!("projection, on the engine");
        let (engine, peaks) = self.on_engine(&endpoints.engine, messages).await?;
        eprintln!("projection, on a distant stub");
        let waiting = self.waiting(&endpoints.distant_stub, messages).await?;

        let floors = FLOORS.map(|(name, at_once)| {
            (name, format!("aws-sdk-dynamodb, one conditional UpdateItem per event, {at_once} at a time"))
        });
        let lambdas = self.contenders.iter().map(|contender| (contender.name, contender.made_of.clone()));
        let mut projections = Vec::new();
        for (place, (name, made_of)) in lambdas.chain(floors).enumerate() {
            let waiting = waiting.get(place).cloned().unwrap_or_default();
            projections.push(Projection {
                name: name.to_owned(),
                made_of,
                tens: InBatches {
                    size: BATCH,
                    stub: tens[place].clone(),
                    waiting_millis: waiting.0,
                    ..Default::default()
                },
                ones: ones.get(place).map(|pace| InBatches {
                    size: 1,
                    stub: pace.clone(),
                    waiting_millis: waiting.1,
                    ..Default::default()
                }),
                engine: engine[place].clone(),
                peak_memory: peaks[place],
                live_metrics: 0,
            });
        }
        eprintln!("projection, on the meter");
        self.meter(&mut projections, dynamodb, messages).await?;
        eprintln!("projection, what is printed");
        self.read_logs(&mut projections, &Connection::plain(&endpoints.engine), messages).await?;
        Ok(projections)
    }

    async fn lambdas(&self, endpoint: &str) -> Result<Vec<Worker>> {
        let mut workers = Vec::new();
        for contender in self.contenders {
            let fleet = ContenderFunctions::start(contender, &FIRST_FIVE, &Connection::plain(endpoint)).await?;
            workers.push(Worker::Lambdas(fleet, contender.clone()));
        }
        Ok(workers)
    }

    /// The functions of each contender, then the bare loops.
    async fn all_workers(&self, endpoint: &str) -> Result<Vec<Worker>> {
        let mut workers = self.lambdas(endpoint).await?;
        for (_, at_once) in FLOORS {
            let floor = Floor::start(self.binaries, at_once, &Connection::plain(endpoint))?;
            workers.push(Worker::Floor(Box::new(floor)));
        }
        Ok(workers)
    }

    /// The pace of each in batches of ten, and of the functions in batches of one.
    async fn on_stub(&self, endpoint: &str, messages: &mut Messages) -> Result<(Vec<Pace>, Vec<Pace>)> {
        let mut workers = self.all_workers(endpoint).await?;
        warm_up(&mut workers, messages).await?;
        let mut tens = vec![Pace::default(); workers.len()];
        let mut ones = vec![Pace::default(); self.contenders.len()];
        for round in 1..=self.rounds {
            eprintln!("  round {round} of {}", self.rounds);
            for (place, worker) in workers.iter_mut().enumerate() {
                let groups = worker.groups();
                tens[place].add(&worker.handle(messages.batches(&FIRST_FIVE, BATCH, groups)?).await?);
                if let Some(ones) = ones.get_mut(place) {
                    ones.add(&worker.handle(messages.batches(&FIRST_FIVE, 1, groups * ONES)?).await?);
                }
            }
        }
        Ok((tens, ones))
    }

    /// The pace of each, and its memory.
    async fn on_engine(&self, endpoint: &str, messages: &mut Messages) -> Result<(Vec<Pace>, Vec<Option<u64>>)> {
        let mut workers = self.all_workers(endpoint).await?;
        warm_up(&mut workers, messages).await?;
        let mut paces = vec![Pace::default(); workers.len()];
        for round in 1..=self.rounds {
            eprintln!("  round {round} of {}", self.rounds);
            for (worker, pace) in workers.iter_mut().zip(&mut paces) {
                pace.add(&worker.handle(messages.batches(&FIRST_FIVE, BATCH, worker.groups())?).await?);
            }
        }
        let peaks = workers.iter().map(Worker::peak_memory).collect::<Result<_>>()?;
        Ok((paces, peaks))
    }

    /// The waiting time of each contender's functions in a batch of ten and of one, in milliseconds.
    async fn waiting(&self, endpoint: &str, messages: &mut Messages) -> Result<Vec<(Rounds, Rounds)>> {
        let mut workers = self.lambdas(endpoint).await?;
        warm_up(&mut workers, messages).await?;
        let mut waiting = vec![(Rounds::default(), Rounds::default()); workers.len()];
        for _ in 0..self.rounds {
            for (worker, (of_ten, of_one)) in workers.iter_mut().zip(&mut waiting) {
                let tens = worker.handle(messages.batches(&FIRST_FIVE, BATCH, DISTANT_GROUPS.0)?).await?;
                let ones = worker.handle(messages.batches(&FIRST_FIVE, 1, DISTANT_GROUPS.1)?).await?;
                of_ten.0.push(tens.waiting_millis_of(BATCH));
                of_one.0.push(ones.waiting_millis_of(1));
            }
        }
        Ok(waiting)
    }

    /// Adds the DynamoDB requests of each.
    async fn meter(
        &self,
        projections: &mut [Projection],
        dynamodb: &mut DynamoDb,
        messages: &mut Messages,
    ) -> Result<()> {
        let mut workers = self.all_workers(&dynamodb.endpoints.meter.clone()).await?;
        for (worker, projection) in workers.iter_mut().zip(projections) {
            for batches in projection.in_batches_mut() {
                dynamodb.metered().await?;
                let effort = worker.handle(messages.batches(&FIRST_FIVE, batches.size, METERED_GROUPS)?).await?;
                let tally = dynamodb.metered().await?;
                if tally.refused > 0 {
                    return Err(format!("{} requests for fresh events were refused", tally.refused).into());
                }
                batches.per_event = PerEvent::of(&tally, effort.count);
            }
        }
        Ok(())
    }

    /// Adds the log output of each, and the number of metrics in it.
    async fn read_logs(
        &self,
        projections: &mut [Projection],
        connection: &Connection,
        messages: &mut Messages,
    ) -> Result<()> {
        for (contender, projection) in self.contenders.iter().zip(&mut *projections) {
            let mut metrics = BTreeSet::new();
            for batches in projection.in_batches_mut() {
                let size = batches.size;
                let one_group = messages.batches(&FIRST_FIVE, size, 1)?;
                let more_groups = messages.batches(&FIRST_FIVE, size, 1 + METERED_GROUPS)?;
                let without = printed(contender, connection, &FIRST_FIVE, one_group).await?;
                let with = printed(contender, connection, &FIRST_FIVE, more_groups).await?;
                let count = u32::try_from(size * FIRST_FIVE.len() * METERED_GROUPS)?;
                batches.logged = Logged::between(&without, &with, count);
                metrics.extend(logs::metrics(&with));
            }
            projection.live_metrics = metrics.len();
        }
        // Only our handler supports all event types.
        let batches = messages.batches(EventType::ALL, BATCH, 1)?;
        let lines = printed(&self.contenders[0], connection, EventType::ALL, batches).await?;
        projections[0].live_metrics = logs::metrics(&lines).len();
        Ok(())
    }
}

/// The output of new functions of a contender for these batches.
async fn printed(
    contender: &Contender,
    connection: &Connection,
    events: &[EventType],
    batches: Batches,
) -> Result<Vec<String>> {
    let fleet = ContenderFunctions::start(contender, events, connection).await?;
    fleet.handle(batches).await?;
    fleet.stop().await
}

async fn warm_up(workers: &mut [Worker], messages: &mut Messages) -> Result<()> {
    for worker in workers {
        worker.handle(messages.batches(&FIRST_FIVE, BATCH, worker.warm_up())?).await?;
    }
    Ok(())
}
