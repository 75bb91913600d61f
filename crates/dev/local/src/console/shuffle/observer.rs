//! Looks on at the functions while they project the events of a shuffle, and kills one of them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use lambda_host::lambda::{Answer, InvokeError};
use lambda_host::processes::{Observation, Observer};
use order_events::{Event, EventId};
use projection::{Piece, State};
use serde_json::Value;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

use super::comparison::{Content, Item, Names};
use super::item::{Items, outcomes, state};
use super::lock;
use super::piece::{holdings, name};
use super::report::{Delivery, DeliveryState, Outcome, PieceOutcome, Report, has_written};
use crate::console::problem::Problem;

/// The place of the lane whose events are shuffled.
pub(super) const SHUFFLED: usize = 1;

/// One of the two orders, and what happens to it.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) order_id: String,
    pub(super) events: Vec<Event>,
    /// What each event writes.
    pub(super) pieces: Vec<Vec<Piece>>,
    /// The events' places in the story, by their ids.
    pub(super) places: HashMap<String, usize>,
    pub(super) names: Names,
    /// Held while an invocation has a message of this lane: only so is it known what it did to the item. The invocation that waits for it
    /// could as well have come later.
    pub(super) turn: Arc<AsyncMutex<()>>,
    /// The places of the events that were seen to change the item.
    pub(super) applied: Mutex<HashSet<usize>>,
    /// The places of the deliveries that were sent, by the ids of their messages. Held while one is sent.
    pub(super) sent: AsyncMutex<HashMap<String, usize>>,
}

/// Looks on at the functions of one shuffle.
#[derive(Debug)]
pub(super) struct ShuffleObserver {
    pub(super) report: Arc<Report>,
    pub(super) items: Items,
    pub(super) lanes: [Lane; 2],
    /// How long after it got its message a process is killed, at each try. It is tried until one has not answered before.
    pub(super) kill_after: Mutex<VecDeque<Duration>>,
}

/// A delivery in an invocation.
#[derive(Debug, Clone)]
struct Seen {
    lane: usize,
    /// Its place among the lane's deliveries.
    delivery: usize,
    /// Its place in the story.
    event: usize,
    /// The id of the message in the queue.
    message_id: String,
    /// Whether its event had been projected before: its idempotency record says so, or it was seen.
    was_projected: bool,
}

/// An invocation that has messages of a shuffle.
struct ObservedInvocation {
    observer: Arc<ShuffleObserver>,
    seen: Vec<Seen>,
    /// The states of the orders before it.
    before: HashMap<usize, State>,
    kill_after: Option<Duration>,
    _turns: Vec<OwnedMutexGuard<()>>,
}

#[async_trait]
impl Observer for ShuffleObserver {
    async fn begin(self: Arc<Self>, event: &Value) -> Option<Box<dyn Observation>> {
        match self.look_before(event).await {
            Ok(invocation) => invocation.map(|invocation| Box::new(invocation) as Box<dyn Observation>),
            Err(problem) => {
                self.fail(problem);
                None
            }
        }
    }
}

impl ShuffleObserver {
    /// Notes what is there before the invocation, if it has messages of this shuffle.
    async fn look_before(self: &Arc<Self>, event: &Value) -> Result<Option<ObservedInvocation>, Problem> {
        let records = event["Records"].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut seen = Vec::new();
        for record in records {
            seen.extend(self.find(record).await);
        }
        if seen.is_empty() {
            return Ok(None);
        }
        let (mut turns, mut before) = (Vec::new(), HashMap::new());
        // In one order, so that no two wait for each other.
        for (place, lane) in self.lanes.iter().enumerate() {
            if seen.iter().any(|seen| seen.lane == place) {
                turns.push(Arc::clone(&lane.turn).lock_owned().await);
                before.insert(place, state(&self.items.order(&lane.order_id).await?));
            }
        }
        for seen in &mut seen {
            let lane = &self.lanes[seen.lane];
            let was_seen = lock(&lane.applied).contains(&seen.event);
            let id = lane.events[seen.event].id.to_string();
            seen.was_projected = was_seen || self.items.is_completed(&id).await?;
        }
        // Nobody else's message may die with it, nor the very first one: something must be there that it disturbs.
        let may_be_killed = seen.len() == records.len()
            && seen.iter().all(|seen| seen.lane == SHUFFLED && seen.delivery > 0 && !seen.was_projected);
        let kill_after = may_be_killed.then(|| lock(&self.kill_after).pop_front()).flatten();
        Ok(Some(ObservedInvocation { observer: Arc::clone(self), seen, before, kill_after, _turns: turns }))
    }

    /// Which delivery a message is, if it is one of this shuffle.
    async fn find(&self, record: &Value) -> Option<Seen> {
        let notification: Value = serde_json::from_str(record["body"].as_str()?).ok()?;
        let message: Value = serde_json::from_str(notification["Message"].as_str()?).ok()?;
        let id = message["headers"]["ID"].as_str()?.parse::<EventId>().ok()?.to_string();
        let (lane, event) =
            self.lanes.iter().enumerate().find_map(|(lane, known)| Some((lane, *known.places.get(&id)?)))?;
        let sent = self.lanes[lane].sent.lock().await;
        let delivery = *sent.get(notification["MessageId"].as_str()?)?;
        let message_id = record["messageId"].as_str()?.to_owned();
        Some(Seen { lane, delivery, event, message_id, was_projected: false })
    }

    /// Shows a lane as its item is.
    pub(super) fn show(&self, lane: usize, item: &Item) {
        let Lane { names, places, .. } = &self.lanes[lane];
        let digest = (!item.is_empty()).then(|| Content::of(item, names).digest());
        let pieces = holdings(&state(item), places);
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

    async fn end(self: Box<Self>, answer: &Answer) {
        if let Err(problem) = self.look_after(answer).await {
            self.observer.fail(problem);
        }
    }
}

impl ObservedInvocation {
    /// Notes what the invocation did, and what became of its messages.
    async fn look_after(&self, answer: &Answer) -> Result<(), Problem> {
        let died = matches!(answer, Err(InvokeError::Exited { .. }));
        if died && self.kill_after.is_some() {
            // One is enough.
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
                let is_done = answer.as_ref().is_ok_and(|answer| !has_failed(answer, &seen.message_id));
                if has_written(&outcomes) {
                    lock(&self.observer.lanes[lane].applied).insert(seen.event);
                }
                self.observer.report.change(|shuffle| {
                    note(&mut shuffle.lanes[lane].deliveries[seen.delivery], outcomes, died, is_done);
                });
            }
        }
        Ok(())
    }

    /// Of two messages of one event in one batch, the second one changes nothing.
    fn outcomes(&self, seen: &Seen, is_first: bool, before: &State, after: &State) -> Vec<PieceOutcome> {
        let pieces = &self.observer.lanes[seen.lane].pieces[seen.event];
        if is_first {
            return outcomes(pieces, seen.was_projected, before, after);
        }
        let no_news = |piece| PieceOutcome { piece, outcome: Outcome::NoNews };
        pieces.iter().filter_map(name).map(no_news).collect()
    }
}

fn note(delivery: &mut Delivery, outcomes: Vec<PieceOutcome>, died: bool, is_done: bool) {
    delivery.tries += 1;
    if is_done {
        delivery.state = DeliveryState::Done;
    }
    if died {
        delivery.state = DeliveryState::Killed;
        delivery.kills += 1;
    }
    delivery.note(outcomes, is_done);
}

/// Whether a function gives a message back.
fn has_failed(answer: &Value, message_id: &str) -> bool {
    let failed = answer["batchItemFailures"].as_array();
    failed.is_some_and(|failed| failed.iter().any(|item| item["itemIdentifier"] == message_id))
}
