//! What is shown of a shuffle while it runs.

use std::sync::Mutex;

use serde::Serialize;
use tokio::sync::watch;

use super::lock;
use super::piece::Holding;

/// A shuffle as it stands.
#[derive(Debug, Clone, Serialize)]
pub(in crate::console) struct Shuffle {
    pub(super) id: String,
    pub(super) seed: u64,
    pub(super) running: bool,
    /// Whether both items are the same, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) equal: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// What happens, in the order in which it happens.
    pub(super) story: Vec<StoryEvent>,
    pub(super) lanes: [Lane; 2],
}

/// An event of the story.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoryEvent {
    pub(super) event_type: &'static str,
    pub(super) aggregate: &'static str,
    /// What it writes.
    pub(super) pieces: Vec<&'static str>,
}

/// One of the two orders.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lane {
    pub(super) name: &'static str,
    pub(super) order_id: String,
    /// In the order in which they are sent.
    pub(super) deliveries: Vec<Delivery>,
    /// Of the item's content: equal items have equal digests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    pub(super) pieces: Vec<Holding>,
}

/// An event on its way to an order.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Delivery {
    /// Its place in the story.
    pub(super) event: usize,
    /// 2 is the duplicate.
    pub(super) copy: u8,
    pub(super) state: DeliveryState,
    /// How often a function died with it.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) kills: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcomes: Option<Vec<PieceOutcome>>,
    /// How many invocations had it and have ended.
    #[serde(skip)]
    pub(super) tries: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // As serde wants it.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Where a delivery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DeliveryState {
    Waiting,
    Sent,
    /// The function died with it. It comes again.
    Killed,
    Done,
}

/// What a delivery did to a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct PieceOutcome {
    pub(super) piece: &'static str,
    pub(super) outcome: Outcome,
}

/// What a delivery did to a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    Written,
    /// The piece has a later event's value, and was left alone.
    Late,
    /// The piece had the event already.
    #[serde(rename = "no news")]
    NoNews,
}

impl Delivery {
    pub(super) fn new(event: usize, copy: u8) -> Self {
        Self { event, copy, state: DeliveryState::Waiting, kills: 0, outcomes: None, tries: 0 }
    }

    /// Takes in what a try did, unless an earlier one did it: a function may have written all before it was killed.
    pub(super) fn note(&mut self, outcomes: Vec<PieceOutcome>, is_done: bool) {
        if self.outcomes.is_none() && (is_done || has_written(&outcomes)) {
            self.outcomes = Some(outcomes);
        }
    }
}

/// Whether an event has changed its item.
pub(super) fn has_written(outcomes: &[PieceOutcome]) -> bool {
    outcomes.iter().any(|outcome| outcome.outcome == Outcome::Written)
}

/// A shuffle that may still run.
#[derive(Debug)]
pub(super) struct Report {
    shuffle: Mutex<Shuffle>,
    /// How often it has changed.
    changes: watch::Sender<u64>,
}

impl Report {
    pub(super) fn new(shuffle: Shuffle) -> Self {
        Self { shuffle: Mutex::new(shuffle), changes: watch::Sender::new(0) }
    }

    /// As it stands, with outcomes only of what is done.
    pub(super) fn shuffle(&self) -> Shuffle {
        let mut shuffle = lock(&self.shuffle).clone();
        for delivery in shuffle.lanes.iter_mut().flat_map(|lane| &mut lane.deliveries) {
            delivery.outcomes = delivery.outcomes.take().filter(|_| delivery.state == DeliveryState::Done);
        }
        shuffle
    }

    pub(super) fn is_running(&self) -> bool {
        lock(&self.shuffle).running
    }

    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Shuffle) -> T) -> T {
        let result = change(&mut lock(&self.shuffle));
        self.changes.send_modify(|changes| *changes += 1);
        result
    }

    /// Waits until something holds.
    pub(super) async fn wait_for(&self, mut holds: impl FnMut(&Shuffle) -> bool) {
        let mut changes = self.changes.subscribe();
        // The error would be that this value is gone.
        let _ = changes.wait_for(|_| holds(&lock(&self.shuffle))).await;
    }
}
