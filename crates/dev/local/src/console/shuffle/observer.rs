//! Observes the functions while they project the events of a shuffle, and kills one of them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use lambda_host::lambda::{InvokeError, InvokeResult};
use lambda_host::processes::{Observation, Observer};
use order_events::{Event, EventId};
use projection::{Piece, State};
use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::comparison::{Content, Item, Names};
use super::item::{Items, outcomes, state};
use super::lock;
use super::piece::{name, piece_values};
use super::report::{LaneMessage, MessageState, Outcome, PieceOutcome, Report, has_written};
use crate::console::problem::Problem;

/// The index of the shuffled lane.
pub(super) const SHUFFLED: usize = 1;

/// One of the two orders, with its events.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) order_id: String,
    pub(super) events: Vec<Event>,
    /// The pieces that each event writes.
    pub(super) pieces: Vec<Vec<Piece>>,
    /// The events' indexes in the story, by their ids.
    pub(super) positions: HashMap<String, usize>,
    pub(super) names: Names,
    /// Held while an invocation has a message of this lane, so that its effect on the item is known. Other invocations wait, as if
    /// their messages had arrived later.
    pub(super) turn: Arc<AsyncMutex<()>>,
    /// The indexes of the events that changed the item.
    pub(super) applied: Mutex<HashSet<usize>>,
    /// The indexes of the sent messages, by their ids. Held while a message is sent.
    pub(super) sent: AsyncMutex<HashMap<String, usize>>,
}

/// Observes the functions of one shuffle.
#[derive(Debug)]
pub(super) struct ShuffleObserver {
    pub(super) report: Arc<Report>,
    pub(super) items: Items,
    pub(super) lanes: [Lane; 2],
    /// For each try to kill a process: how long after the process got its message. There are no more tries after a
    /// process was killed before it answered.
    pub(super) kill_after: Mutex<VecDeque<Duration>>,
}

/// A message of the shuffle in an invocation.
#[derive(Debug, Clone)]
struct ObservedMessage {
    lane: usize,
    /// Its index in the lane's messages.
    message: usize,
    /// Its index in the story.
    event: usize,
    /// The id of the message in the queue.
    message_id: String,
    /// Whether its event was projected before: its idempotency record is completed, or the observer saw its effect.
    was_projected: bool,
}

/// An invocation with messages of a shuffle.
struct ObservedInvocation {
    observer: Arc<ShuffleObserver>,
    seen: Vec<ObservedMessage>,
    /// The states of the orders before it.
    before: HashMap<usize, State>,
    kill_after: Option<Duration>,
    _turns: Vec<OwnedMutexGuard<()>>,
}

#[async_trait]
impl Observer for ShuffleObserver {
    async fn begin(self: Arc<Self>, event: &Value) -> Option<Box<dyn Observation>> {
        match self.record_before(event).await {
            Ok(invocation) => invocation.map(|invocation| Box::new(invocation) as Box<dyn Observation>),
            Err(problem) => {
                self.fail(problem);
                None
            }
        }
    }
}

impl ShuffleObserver {
    /// Records the state before the invocation, if it has messages of this shuffle.
    async fn record_before(self: &Arc<Self>, event: &Value) -> Result<Option<ObservedInvocation>, Problem> {
        let records = event["Records"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut seen = Vec::new();
        for record in records {
            seen.extend(self.find(record).await);
        }
        if seen.is_empty() {
            return Ok(None);
        }
        let (mut turns, mut before) = (Vec::new(), HashMap::new());
        // Always in the same order, so that no two invocations wait for each other.
        for (index, lane) in self.lanes.iter().enumerate() {
            if seen.iter().any(|seen| seen.lane == index) {
                turns.push(Arc::clone(&lane.turn).lock_owned().await);
                before.insert(index, state(&self.items.order(&lane.order_id).await?));
            }
        }
        for seen in &mut seen {
            let lane = &self.lanes[seen.lane];
            let was_seen = lock(&lane.applied).contains(&seen.event);
            let id = lane.events[seen.event].id.to_string();
            seen.was_projected = was_seen || self.items.is_completed(&id).await?;
        }
        // Only invocations of the shuffled lane are killed, and not the first one, so that there is already an item.
        let may_be_killed = seen.len() == records.len()
            && seen.iter().all(|seen| seen.lane == SHUFFLED && seen.message > 0 && !seen.was_projected);
        let kill_after = may_be_killed.then(|| lock(&self.kill_after).pop_front()).flatten();
        Ok(Some(ObservedInvocation { observer: Arc::clone(self), seen, before, kill_after, _turns: turns }))
    }

    /// Finds the record's message, if it belongs to this shuffle.
    async fn find(&self, record: &Value) -> Option<ObservedMessage> {
        let notification: Value = serde_json::from_str(record["body"].as_str()?).ok()?;
        let message: Value = serde_json::from_str(notification["Message"].as_str()?).ok()?;
        let id = message["headers"]["ID"].as_str()?.parse::<EventId>().ok()?.to_string();
        let (lane, event) =
            self.lanes.iter().enumerate().find_map(|(lane, known)| Some((lane, *known.positions.get(&id)?)))?;
        let sent = self.lanes[lane].sent.lock().await;
        let index = *sent.get(notification["MessageId"].as_str()?)?;
        let message_id = record["messageId"].as_str()?.to_owned();
        Some(ObservedMessage { lane, message: index, event, message_id, was_projected: false })
    }

    /// Updates a lane's report from its item.
    pub(super) fn show(&self, lane: usize, item: &Item) {
        let Lane { names, positions, .. } = &self.lanes[lane];
        let digest = (!item.is_empty()).then(|| Content::of(item, names).digest());
        let pieces = piece_values(&state(item), positions);
        self.report.change(|shuffle| {
            shuffle.lanes[lane].digest = digest;
            shuffle.lanes[lane].pieces = pieces;
        });
    }

    pub(super) fn fail(&self, problem: Problem) {
        self.report.change(|shuffle| _ = shuffle.error.get_or_insert(problem.message));
    }
}

#[async_trait]
impl Observation for ObservedInvocation {
    fn kill_after(&self) -> Option<Duration> {
        self.kill_after
    }

    async fn end(self: Box<Self>, result: &InvokeResult) {
        if let Err(problem) = self.record_after(result).await {
            self.observer.fail(problem);
        }
    }
}

impl ObservedInvocation {
    /// Records the effect of the invocation, and the state of its messages.
    async fn record_after(&self, result: &InvokeResult) -> Result<(), Problem> {
        let was_killed = matches!(result, Err(InvokeError::Exited { .. }));
        if was_killed && self.kill_after.is_some() {
            // One kill is enough.
            lock(&self.observer.kill_after).clear();
        }
        for (&lane, before) in &self.before {
            let item = self.observer.items.order(&self.observer.lanes[lane].order_id).await?;
            let after = state(&item);
            self.observer.show(lane, &item);
            let mut projected = HashSet::new();
            for seen in self.seen.iter().filter(|seen| seen.lane == lane) {
                let is_first = projected.insert(seen.event);
                let outcomes = self.outcomes(seen, is_first, before, &after);
                let is_done = result.as_ref().is_ok_and(|response| !has_failed(response, &seen.message_id));
                if has_written(&outcomes) {
                    lock(&self.observer.lanes[lane].applied).insert(seen.event);
                }
                self.observer.report.change(|shuffle| {
                    update(&mut shuffle.lanes[lane].messages[seen.message], outcomes, was_killed, is_done);
                });
            }
        }
        Ok(())
    }

    /// If a batch has two messages of one event, the second one has no effect.
    fn outcomes(&self, seen: &ObservedMessage, is_first: bool, before: &State, after: &State) -> Vec<PieceOutcome> {
        let pieces = &self.observer.lanes[seen.lane].pieces[seen.event];
        if is_first {
            return outcomes(pieces, seen.was_projected, before, after);
        }
        let no_news = |piece| PieceOutcome { piece, outcome: Outcome::NoNews };
        pieces.iter().filter_map(name).map(no_news).collect()
    }
}

fn update(message: &mut LaneMessage, outcomes: Vec<PieceOutcome>, was_killed: bool, is_done: bool) {
    message.tries += 1;
    if is_done {
        message.state = MessageState::Done;
    }
    if was_killed {
        message.state = MessageState::Killed;
        message.kills += 1;
    }
    message.keep_outcomes(outcomes, is_done);
}

/// Whether the function's response reports a message as failed.
fn has_failed(response: &Value, message_id: &str) -> bool {
    let failed = response["batchItemFailures"].as_array();
    failed.is_some_and(|failed| failed.iter().any(|item| item["itemIdentifier"] == message_id))
}
