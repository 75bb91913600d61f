//! Publishes the same events for two orders: once in sequence, once shuffled, with duplicates and with a killed function. Both orders end
//! with the same item ([ADR 1](../../../../docs/adr/0001-a-view-that-any-order-of-events-builds.md)).
//!
//! Nothing is simulated: the events go through the topic, the queues and the functions, a process is really killed, and the shown
//! values are read from the tables.

mod comparison;
mod item;
mod observer;
mod piece;
mod plan;
mod report;
mod run;
mod story;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use lambda_host::processes::Processes;
use order_events::EventType;
use tokio::task::JoinSet;
use uuid::Uuid;

use self::report::{Report, Shuffle};
use self::run::Run;
use super::Tables;
use super::problem::Problem;
use super::publisher::Publisher;

/// The number of shuffles that are kept.
const MAX_SHUFFLES: usize = 10;

/// The largest integer that JavaScript represents exactly.
const MAX_SEED: u64 = (1 << 53) - 1;

/// The settings of all shuffles.
#[derive(Clone)]
pub(super) struct Settings {
    /// The functions that project events.
    pub(super) handlers: HashMap<EventType, Processes>,
    pub(super) client: Client,
    pub(super) tables: Tables,
    pub(super) publisher: Publisher,
    /// The length of one step. It is slow enough for a person to follow.
    pub(super) pace: Duration,
    /// The time after which a failed message is retried.
    pub(super) visibility_timeout: Duration,
}

/// The last shuffles. A running one ends with this value.
pub(super) struct Shuffles {
    settings: Settings,
    /// The newest first.
    known: Mutex<VecDeque<Arc<Report>>>,
    running: Mutex<JoinSet<()>>,
}

impl Shuffles {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, known: Mutex::default(), running: Mutex::default() }
    }

    /// Starts a shuffle, and returns its id. Only one runs at a time.
    pub(super) fn start(&self, seed: Option<u64>) -> Result<String, Problem> {
        let id = Uuid::new_v4();
        let seed = seed.unwrap_or_else(|| id.as_u64_pair().1 & u64::from(u32::MAX));
        if seed > MAX_SEED {
            return Err(Problem::bad_request(format!("seed must be a whole number from 0 to {MAX_SEED}")));
        }
        let mut known = lock(&self.known);
        if known.front().is_some_and(|newest| newest.is_running()) {
            return Err(Problem::conflict("a shuffle is already running: wait until it ends"));
        }
        let run = Run::new(self.settings.clone(), id, seed)?;
        let id = run.report().shuffle().id;
        known.truncate(MAX_SHUFFLES - 1);
        known.push_front(Arc::clone(run.report()));
        let mut running = lock(&self.running);
        while running.try_join_next().is_some() {}
        running.spawn(run.run());
        Ok(id)
    }

    /// The current state of a shuffle.
    pub(super) fn find(&self, id: &str) -> Option<Shuffle> {
        lock(&self.known).iter().map(|report| report.shuffle()).find(|shuffle| shuffle.id == id)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
