//! What was published last, for who looks on from outside.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// How many messages of a topic are kept.
const KEPT: usize = 20;

/// A message that was published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    /// When.
    pub at: SystemTime,
    /// What.
    pub message: String,
}

/// The last messages of each topic, by its ARN.
#[derive(Debug, Default)]
pub(super) struct Journal(Mutex<HashMap<String, Pages>>);

#[derive(Debug, Default)]
struct Pages {
    published: u64,
    /// The newest first.
    last: VecDeque<Published>,
}

impl Journal {
    pub(super) fn note(&self, topic: &str, message: String) {
        let mut pages = self.pages();
        let pages = pages.entry(topic.to_owned()).or_default();
        pages.published += 1;
        pages.last.truncate(KEPT - 1);
        pages.last.push_front(Published { at: SystemTime::now(), message });
    }

    pub(super) fn published(&self, topic: &str) -> u64 {
        self.pages().get(topic).map_or(0, |pages| pages.published)
    }

    pub(super) fn last(&self, topic: &str) -> Vec<Published> {
        self.pages().get(topic).map(|pages| pages.last.iter().cloned().collect()).unwrap_or_default()
    }

    fn pages(&self) -> MutexGuard<'_, HashMap<String, Pages>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The topic and the messages of a request to publish one or a batch, by its form parameters.
pub(super) fn messages(parameters: &[(String, String)]) -> Option<(String, Vec<String>)> {
    let topic = parameters.iter().find(|(name, _)| name == "TopicArn")?.1.clone();
    let is_message = |name: &str| {
        let of_batch = name.strip_prefix("PublishBatchRequestEntries.member.").and_then(|rest| rest.split_once('.'));
        of_batch.map_or(name, |(_, rest)| rest) == "Message"
    };
    let messages = parameters.iter().filter(|(name, _)| is_message(name)).map(|(_, message)| message.clone());
    Some((topic, messages.collect()))
}
