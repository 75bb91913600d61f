//! Keeps the last published messages, so that they can be shown.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// The number of messages that are kept for each topic.
const MAX_KEPT: usize = 20;

/// A published message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedMessage {
    /// The host's clock when the message was published.
    pub at: SystemTime,
    /// The message as it was published, without its attributes.
    pub message: String,
}

/// The last messages of each topic, by its ARN.
#[derive(Debug, Default)]
pub(super) struct RecentMessages(Mutex<HashMap<String, TopicMessages>>);

#[derive(Debug, Default)]
struct TopicMessages {
    published: u64,
    /// The newest first.
    last: VecDeque<PublishedMessage>,
}

impl RecentMessages {
    pub(super) fn add(&self, topic: &str, message: String) {
        let mut messages = self.messages();
        let messages = messages.entry(topic.to_owned()).or_default();
        messages.published += 1;
        messages.last.truncate(MAX_KEPT - 1);
        messages.last.push_front(PublishedMessage { at: SystemTime::now(), message });
    }

    pub(super) fn published(&self, topic: &str) -> u64 {
        self.messages().get(topic).map_or(0, |messages| messages.published)
    }

    pub(super) fn last(&self, topic: &str) -> Vec<PublishedMessage> {
        self.messages().get(topic).map(|messages| messages.last.iter().cloned().collect()).unwrap_or_default()
    }

    fn messages(&self) -> MutexGuard<'_, HashMap<String, TopicMessages>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the topic and the messages of a `Publish` or `PublishBatch` request, from its form parameters.
pub(super) fn messages(parameters: &[(String, String)]) -> Option<(String, Vec<String>)> {
    let topic = parameters.iter().find(|(name, _)| name == "TopicArn")?.1.clone();
    let is_message = |name: &str| {
        let of_batch = name.strip_prefix("PublishBatchRequestEntries.member.").and_then(|rest| rest.split_once('.'));
        of_batch.map_or(name, |(_, rest)| rest) == "Message"
    };
    let messages = parameters.iter().filter(|(name, _)| is_message(name)).map(|(_, message)| message.clone());
    Some((topic, messages.collect()))
}
