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
    /// A message that is being looked at would not be moved, so that only one look or move is under way at a time.
    turn: Mutex<()>,
}

/// What is shown of a dead letter.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeadLetter {
    message_id: String,
    sent_at: String,
    /// How often its function got it before it was a dead letter. The engine counts anew when it moves a message, and then counts
    /// those who look at it.
    receive_count: u32,
    body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// What a function last logged of a message that failed.
struct LoggedFailure {
    reason: Option<String>,
    detail: String,
}

impl DeadLetters {
    pub(super) fn new(queues: Queues) -> Self {
        Self { queues, turn: Mutex::default() }
    }

    /// The dead letters of a queue, the oldest first, with the reasons that its function logged.
    pub(super) async fn of(&self, queue: &WatchedQueue, function: &Function) -> Result<Vec<DeadLetter>, Problem> {
        let _turn = self.turn.lock().await;
        let messages = queue.dead_letters.look(MOST_SHOWN).await?;
        let failures = if messages.is_empty() { HashMap::new() } else { logged_failures(&function.log_lines().await?) };
        let letter = |message: Message| {
            let failure = failures.get(&message.id);
            DeadLetter {
                sent_at: rfc3339(SystemTime::UNIX_EPOCH + Duration::from_millis(message.sent_at())),
                receive_count: queue.max_receive_count,
                reason: failure.and_then(|failure| failure.reason.clone()),
                detail: failure.map(|failure| failure.detail.clone()),
                message_id: message.id,
                body: message.body,
            }
        };
        Ok(messages.into_iter().map(letter).collect())
    }

    /// Moves the dead letters back to their queue, and gives how many.
    pub(super) async fn redrive(&self, queue: &WatchedQueue) -> Result<u64, Problem> {
        let _turn = self.turn.lock().await;
        Ok(self.queues.redrive(&queue.dead_letters).await?)
    }
}

/// What was last logged of each message that failed, by its id: `make dlq` finds it in the same way.
fn logged_failures(log: &[String]) -> HashMap<String, LoggedFailure> {
    let failures = log.iter().filter_map(|line| {
        let line: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| Some(line.get(name)?.as_str()?.to_owned());
        Some((text("message_id")?, LoggedFailure { reason: text("reason"), detail: text("error")? }))
    });
    failures.collect()
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
        let failures = logged_failures(&log.map(str::to_owned));
        assert_eq!(failures.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!((failures["a"].reason.as_deref(), &*failures["a"].detail), (Some("malformed"), "no id"));
    }
}
