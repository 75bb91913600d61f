//! A batch of messages into one object.

use std::io;
use std::time::{Duration, SystemTime};

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use lambda_boot::{Clock, Line, is_logged, with_causes};
use lambda_runtime::Diagnostic;
use tokio::time::{Instant, timeout_at};
use tracing::Level;

use crate::{Config, Error, Store, file};

/// Reserved at the end of the invocation's time, to answer.
const TO_ANSWER: Duration = Duration::from_millis(500);

/// Keeps messages for good.
pub struct Archiver {
    store: Store,
    metrics_namespace: String,
    clock: Clock,
}

/// Why a batch was not archived. All its messages go back to their queue, and in the end to the dead-letter queue.
#[derive(Debug, thiserror::Error)]
pub enum NotArchived {
    /// The object could not be stored. It may be there nevertheless, if only the answer was lost.
    #[error(transparent)]
    Store(#[from] Error),
    /// The messages could not be compressed.
    #[error("the messages could not be compressed")]
    Compress(#[from] io::Error),
    /// There is an object of the same name with other messages.
    #[error("there is another object {key}: try again, when its name will be another")]
    NameTaken {
        /// Its key.
        key: String,
    },
    /// The function's time was up before it was done.
    #[error("the function's time is almost up: allow it more time, or give it smaller batches")]
    OutOfTime,
}

impl NotArchived {
    /// A short name of the reason that stays the same over versions, for logs and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Compress(_) => "archive_compress",
            Self::NameTaken { .. } => "archive_name_taken",
            Self::OutOfTime => "out_of_time",
        }
    }

    /// Whether the same batch may succeed later with nothing changed by hand.
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
        let error_message = format!("the batch is not archived ({}): {}", error.code(), with_causes(&error));
        Self { error_type: "NotArchived".to_owned(), error_message }
    }
}

impl Archiver {
    /// An archiver that puts objects into `store`, which is at `config`'s location.
    #[must_use]
    pub fn new(config: &Config, store: Store, clock: Clock) -> Self {
        Self { store, metrics_namespace: config.metrics_namespace.clone(), clock }
    }

    /// Stores the messages of a batch in a new object, and only then answers that all were processed.
    ///
    /// They are in one object, so that they succeed or fail together: a failure is the function's error, with which the queue keeps them all and
    /// alarms see it. If the object was stored and the queue did not get the answer, the messages come again, and are then in two objects.
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
        let archived = timeout_at(self.end(deadline), self.archive(batch)).await;
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
        // The messages need not be in memory twice.
        drop(batch);
        // Nothing is ever written over. What has the same content is this batch, put by an attempt whose answer was lost.
        if self.store.put_if_absent(&key, content).await? {
            Ok(Stored { key, bytes })
        } else {
            Err(NotArchived::NameTaken { key })
        }
    }

    /// When to stop: at the deadline Lambda would end the process.
    fn end(&self, deadline: SystemTime) -> Instant {
        let left = deadline.duration_since(self.clock.now()).unwrap_or_default();
        Instant::now() + left - TO_ANSWER.min(left / 4)
    }
}

/// An object that was stored.
struct Stored {
    key: String,
    bytes: usize,
}
