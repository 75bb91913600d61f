//! Stores a batch of messages as one object.

use std::io;
use std::time::{Duration, SystemTime};

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_boot::{Clock, Line, is_logged, with_causes};
use lambda_runtime::Diagnostic;
use tokio::time::{Instant, timeout_at};
use tracing::Level;

use crate::{Config, Error, Store, file};

/// Reserved before the invocation's deadline, to answer.
const TIME_TO_ANSWER: Duration = Duration::from_millis(500);

/// Stores messages in the archive.
pub struct Archiver {
    store: Store,
    metrics_namespace: String,
    clock: Clock,
}

/// Why a batch was not archived. All its messages go back to their queue, and finally to the dead-letter queue.
#[derive(Debug, thiserror::Error)]
pub enum NotArchived {
    /// The object could not be stored. It may exist if only the response was lost.
    #[error(transparent)]
    Store(#[from] Error),
    /// The messages could not be compressed.
    #[error("the messages could not be compressed")]
    Compress(#[from] io::Error),
    /// An object with the same key contains other messages.
    #[error("another object has the key {key}: retry; the retry uses another key")]
    NameTaken {
        /// The key of the object.
        key: String,
    },
    /// There was not enough time left.
    #[error("too little time is left before the function's timeout: raise the timeout, or reduce the batch size")]
    OutOfTime,
}

impl NotArchived {
    /// A short, stable name of the reason, for logs and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Compress(_) => "archive_compress",
            Self::NameTaken { .. } => "archive_name_taken",
            Self::OutOfTime => "out_of_time",
        }
    }

    /// Whether the same batch may succeed later, without a correction by a person.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Store(error) => error.is_retryable(),
            Self::Compress(_) => false,
            Self::NameTaken { .. } | Self::OutOfTime => true,
        }
    }
}

impl From<NotArchived> for Diagnostic {
    fn from(error: NotArchived) -> Self {
        let error_message = format!("the batch was not archived ({}): {}", error.code(), with_causes(&error));
        Self { error_type: "NotArchived".to_owned(), error_message }
    }
}

impl Archiver {
    /// Creates an archiver that puts objects into `store`, which is at `config`'s location.
    #[must_use]
    pub fn new(config: &Config, store: Store, clock: Clock) -> Self {
        Self { store, metrics_namespace: config.metrics_namespace.clone(), clock }
    }

    /// Stores the messages of a batch in a new object, then acknowledges all of them.
    ///
    /// They are in one object, so they succeed or fail together. If they fail, the invocation fails: the queue keeps all of them, and
    /// alarms see it. If the object was stored but the response was lost, the messages are delivered again, and are then in two objects.
    pub async fn handle(
        &self,
        batch: SqsEvent,
        request_id: &str,
        deadline: SystemTime,
    ) -> Result<SqsBatchResponse, NotArchived> {
        let messages = batch.records.len();
        if messages == 0 {
            return Ok(SqsBatchResponse::default());
        }
        let line =
            Line::new(Level::INFO, self.clock.now()).in_namespace(&self.metrics_namespace, &[("Function", "archiver")]);
        let archived = timeout_at(self.stop_time(deadline), self.archive(batch)).await;
        match archived.unwrap_or(Err(NotArchived::OutOfTime)) {
            Ok(Stored { key, bytes }) => {
                let mut line = line.count("Archived", messages);
                if is_logged(Level::INFO) {
                    line = line
                        .with("message", "batch archived")
                        .with("request_id", request_id)
                        .with("object", key)
                        .with("bytes", bytes);
                }
                println!("{line}");
                Ok(SqsBatchResponse::default())
            }
            Err(error) => {
                println!("{}", line.count("Failed", messages));
                tracing::error!(
                    request_id,
                    messages,
                    reason = error.code(),
                    retryable = error.is_retryable(),
                    error = with_causes(&error),
                    "batch not archived"
                );
                Err(error)
            }
        }
    }

    async fn archive(&self, batch: SqsEvent) -> Result<Stored, NotArchived> {
        let first = batch.records.first().and_then(|message| message.message_id.as_deref());
        let key = file::name(self.clock.now(), first.unwrap_or_default());
        let content = file::content(batch.records.iter().map(|message| message.body.as_deref().unwrap_or_default()))?;
        let bytes = content.len();
        // Frees memory: `content` has all messages now.
        drop(batch);
        // An object is never overwritten. One with the same content is this batch, from an attempt whose response was lost.
        if self.store.put_if_absent(&key, content).await? {
            Ok(Stored { key, bytes })
        } else {
            Err(NotArchived::NameTaken { key })
        }
    }

    /// When to stop, before Lambda stops the function.
    fn stop_time(&self, deadline: SystemTime) -> Instant {
        let left = deadline.duration_since(self.clock.now()).unwrap_or_default();
        Instant::now() + left - TIME_TO_ANSWER.min(left / 4)
    }
}

/// A stored object.
struct Stored {
    key: String,
    bytes: usize,
}
