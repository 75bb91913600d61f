//! Dead letters: what they are, why they are there, and back to their queue.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use lambda_host::queues::{Message, Queues};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Mutex;

use super::functions::{Function, rfc3339};
use super::problem::Problem;
use super::watched::WatchedQueue;

/// Nobody reads more than this at once.
const MOST_SHOWN: usize = 100;

/// The dead letters of all queues.
pub(super) struct DeadLetters {
    queues: Queues,
    /// How often the console itself has received each message, by its id. A message that is being looked at would not be moved, so
    /// that only one look or move is under way at a time.
    looks: Mutex<HashMap<String, u64>>,
}

/// What is shown of a dead letter.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeadLetter {
    message_id: String,
    sent_at: String,
    /// Before it was a dead letter and since, without the console's own looks. The engine counts anew when it moves a message.
    receive_count: u64,
    body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// What a function last said of a message that failed.
struct Said {
    reason: Option<String>,
    detail: String,
}

impl DeadLetters {
    pub(super) fn new(queues: Queues) -> Self {
        Self { queues, looks: Mutex::default() }
    }

    /// The dead letters of a queue, the oldest first, with the reasons that its function logged.
    pub(super) async fn of(&self, queue: &WatchedQueue, function: &Function) -> Result<Vec<DeadLetter>, Problem> {
        let mut looks = self.looks.lock().await;
        let messages = queue.dead_letters.look(MOST_SHOWN).await?;
        let said = if messages.is_empty() { HashMap::new() } else { reasons(&function.log_lines()) };
        let letter = |message: Message| {
            let looked = looks.entry(message.id.clone()).or_default();
            *looked += 1;
            let said = said.get(&message.id);
            DeadLetter {
                sent_at: rfc3339(SystemTime::UNIX_EPOCH + Duration::from_millis(message.sent_at())),
                receive_count: u64::from(queue.max_receive_count) + message.receive_count().saturating_sub(*looked),
                reason: said.and_then(|said| said.reason.clone()),
                detail: said.map(|said| said.detail.clone()),
                message_id: message.id,
                body: message.body,
            }
        };
        Ok(messages.into_iter().map(letter).collect())
    }

    /// Moves the dead letters back to their queue, and gives how many.
    pub(super) async fn redrive(&self, queue: &WatchedQueue) -> Result<u64, Problem> {
        let _looks = self.looks.lock().await;
        Ok(self.queues.redrive(&queue.dead_letters).await?)
    }
}

/// What was last said of each message, by its id: `make dlq` finds it in the same way.
fn reasons(log: &[String]) -> HashMap<String, Said> {
    let said = log.iter().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| Some(line.get(name)?.as_str()?.to_owned());
        Some((text("message_id")?, Said { reason: text("reason"), detail: text("error")? }))
    });
    said.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_on_a_message_counts() {
        let log = [
            r#"{"message_id":"a","reason":"throttled","error":"too much at once"}"#,
            "panicked at 'no JSON'",
            r#"{"message_id":"a","reason":"malformed","error":"no id"}"#,
            r#"{"message_id":"b","outcome":"written"}"#,
        ];
        let reasons = reasons(&log.map(str::to_owned));
        assert_eq!(reasons.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!((reasons["a"].reason.as_deref(), &*reasons["a"].detail), (Some("malformed"), "no id"));
    }
}
