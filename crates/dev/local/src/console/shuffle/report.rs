//! The state of a shuffle, as the console shows it.

use std::sync::Mutex;

use serde::Serialize;
use tokio::sync::watch;

use super::lock;
use super::piece::PieceValue;

/// The current state of a shuffle.
#[derive(Debug, Clone, Serialize)]
pub(in crate::console) struct Shuffle {
    pub(super) id: String,
    pub(super) seed: u64,
    pub(super) running: bool,
    /// Whether both items are equal; set at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) equal: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    /// The events, in the sequence in which they happen.
    pub(super) story: Vec<StoryEvent>,
    pub(super) lanes: [Lane; 2],
}

/// An event of the story.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StoryEvent {
    pub(super) event_type: &'static str,
    pub(super) aggregate: &'static str,
    /// The pieces that it writes.
    pub(super) pieces: Vec<&'static str>,
}

/// One of the two orders.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Lane {
    pub(super) name: &'static str,
    pub(super) order_id: String,
    /// In the sequence in which they are sent.
    pub(super) messages: Vec<LaneMessage>,
    /// The digest of the item's content: equal items have equal digests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<String>,
    pub(super) pieces: Vec<PieceValue>,
}

/// A message with an event of the story.
#[derive(Debug, Clone, Serialize)]
pub(super) struct LaneMessage {
    /// The event's index in the story.
    pub(super) event: usize,
    /// 1, or 2 for the duplicate.
    pub(super) copy: u8,
    pub(super) state: MessageState,
    /// How often a function was killed while it processed this message.
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) kills: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcomes: Option<Vec<PieceOutcome>>,
    /// The number of finished invocations with this message.
    #[serde(skip)]
    pub(super) tries: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde passes a reference.
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The progress of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MessageState {
    Waiting,
    Sent,
    /// The function was killed while it processed the message. The queue delivers the message again.
    Killed,
    Done,
}

/// The effect of a message on one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct PieceOutcome {
    pub(super) piece: &'static str,
    pub(super) outcome: Outcome,
}

/// The effect of a message on a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    Written,
    /// The piece has the value of a later event and was not changed.
    Late,
    /// The piece already had this event.
    #[serde(rename = "no news")]
    NoNews,
}

impl LaneMessage {
    pub(super) fn new(event: usize, copy: u8) -> Self {
        Self { event, copy, state: MessageState::Waiting, kills: 0, outcomes: None, tries: 0 }
    }

    /// Keeps the outcomes of the first try with an effect: a function may have written everything before it was killed.
    pub(super) fn keep_outcomes(&mut self, outcomes: Vec<PieceOutcome>, is_done: bool) {
        if self.outcomes.is_none() && (is_done || has_written(&outcomes)) {
            self.outcomes = Some(outcomes);
        }
    }
}

/// Whether a message changed the item.
pub(super) fn has_written(outcomes: &[PieceOutcome]) -> bool {
    outcomes.iter().any(|outcome| outcome.outcome == Outcome::Written)
}

/// The shared state of a shuffle.
#[derive(Debug)]
pub(super) struct Report {
    shuffle: Mutex<Shuffle>,
    /// The number of changes so far.
    changes: watch::Sender<u64>,
}

impl Report {
    pub(super) fn new(shuffle: Shuffle) -> Self {
        Self { shuffle: Mutex::new(shuffle), changes: watch::Sender::new(0) }
    }

    /// The current state. Only finished messages have outcomes.
    pub(super) fn shuffle(&self) -> Shuffle {
        let mut shuffle = lock(&self.shuffle).clone();
        for message in shuffle.lanes.iter_mut().flat_map(|lane| &mut lane.messages) {
            message.outcomes = message.outcomes.take().filter(|_| message.state == MessageState::Done);
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

    /// Waits until a condition holds.
    pub(super) async fn wait_for(&self, mut holds: impl FnMut(&Shuffle) -> bool) {
        let mut changes = self.changes.subscribe();
        // This fails only if this value was dropped.
        let _ = changes.wait_for(|_| holds(&lock(&self.shuffle))).await;
    }
}
