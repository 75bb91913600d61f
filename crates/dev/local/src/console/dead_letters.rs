//! Dead letters: their content, the reason, and how to move them back to their queue.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use lambda_host::queues::{Message, Queues};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::Mutex;

use super::functions::{Function, rfc3339};
use super::problem::Problem;
use super::watched::WatchedQueue;

/// The largest number of dead letters that are shown.
const MAX_SHOWN: usize = 100;

/// The dead letters of all queues.
pub(super) struct DeadLetters {
    queues: Queues,
    /// Only one read or move runs at a time, because a message that is being read cannot be moved.
    turn: Mutex<()>,
}

/// The shown values of a dead letter.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DeadLetter {
    message_id: String,
    sent_at: String,
    /// How often its function received it before it became a dead letter. The engine's own count starts again at the move, and
    /// also counts reads by the console.
    receive_count: u32,
    body: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

/// The last failure that a function logged for a message.
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
        let messages = queue.dead_letters.peek(MAX_SHOWN).await?;
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

    /// Moves the dead letters back to their queue, and returns how many.
    pub(super) async fn redrive(&self, queue: &WatchedQueue) -> Result<u64, Problem> {
        let _turn = self.turn.lock().await;
        Ok(self.queues.redrive(&queue.dead_letters).await?)
    }
}

/// The last logged failure of each message, by the message's id. `make dlq` finds it in the same way.
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
    fn the_last_logged_failure_of_a_message_is_used() {
        let log = [
            r#"{"message_id":"a","reason":"throttled","error":"too many requests"}"#,
            "panicked at 'not JSON'",
            r#"{"message_id":"a","reason":"malformed","error":"no id"}"#,
            r#"{"message_id":"b","outcome":"written"}"#,
        ];
        let failures = logged_failures(&log.map(str::to_owned));
        assert_eq!(failures.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!((failures["a"].reason.as_deref(), &*failures["a"].detail), (Some("malformed"), "no id"));
    }
}
