//! The common part of relay and sweeper: publish, then delete.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{DeleteRequest, WriteRequest};

use crate::error::with_causes;
use crate::pause::pause_before;
use crate::{Error, EventRow, Publisher};

/// How often deletions that DynamoDB returned as unprocessed are sent in all.
const ROUNDS: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(25);

pub(crate) struct Forwarder<P> {
    pub(crate) client: Client,
    pub(crate) table: String,
    pub(crate) publisher: P,
}

/// The result for some rows.
#[derive(Default)]
pub(crate) struct Forwarded {
    /// Rows that were published.
    pub(crate) published: usize,
    /// Rows that can never be published.
    pub(crate) poison: usize,
    /// Rows that were not published because the publisher failed.
    pub(crate) failed: usize,
    /// Rows that were published, but not deleted.
    pub(crate) undeleted: usize,
    /// The index of the first row that failed.
    pub(crate) first_failed: Option<usize>,
}

impl<P: Publisher> Forwarder<P> {
    /// Publishes the messages of at most [`BATCH_SIZE`](crate::BATCH_SIZE) rows with different keys, and deletes those rows that are
    /// published.
    ///
    /// In this order, a crash in between publishes an event twice. In the other order it would lose the event.
    pub(crate) async fn forward(&self, rows: &[EventRow]) -> Forwarded {
        let mut results = self.publisher.publish(rows).await.into_iter();
        let mut forwarded = Forwarded::default();
        let mut published = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            let result =
                results.next().unwrap_or_else(|| Err(Error::TopicUnavailable("no result for this row".into())));
            match result {
                Ok(()) => published.push(row),
                Err(error) if error.is_poison() => {
                    log_poison(row, &error);
                    forwarded.poison += 1;
                }
                Err(error) => {
                    // One line for all of them: they usually have the same cause.
                    if forwarded.failed == 0 {
                        let reason = error.code();
                        tracing::warn!(
                            event_id = row.event_id,
                            reason,
                            error = with_causes(&error),
                            "publishing failed; events will be retried"
                        );
                    }
                    forwarded.failed += 1;
                    forwarded.first_failed.get_or_insert(place);
                }
            }
        }
        forwarded.published = published.len();
        if let Err(error) = self.delete(&published).await {
            forwarded.undeleted = match error {
                Error::Undeleted { remaining } => remaining,
                _ => published.len(),
            };
            let reason = error.code();
            tracing::warn!(
                rows = forwarded.undeleted,
                reason,
                error = with_causes(&error),
                "cannot delete published rows; they will be published again"
            );
        }
        forwarded
    }

    /// Deletes published rows. A `BatchWriteItem` takes no condition: [`EventRow::version`] says why none is needed. A row that is gone
    /// already is no error.
    async fn delete(&self, rows: &[&EventRow]) -> Result<(), Error> {
        let request = |row: &&EventRow| {
            let delete = DeleteRequest::builder().set_key(Some(row.key())).build()?;
            Ok(WriteRequest::builder().delete_request(delete).build())
        };
        let mut pending = rows.iter().map(request).collect::<Result<Vec<_>, Error>>()?;
        for round in 0..ROUNDS {
            if pending.is_empty() {
                return Ok(());
            }
            if round > 0 {
                tokio::time::sleep(pause_before(round, FIRST_PAUSE)).await;
            }
            let response = self.client.batch_write_item().request_items(&self.table, pending).send().await?;
            pending = response.unprocessed_items.into_iter().flat_map(HashMap::into_values).flatten().collect();
        }
        match pending.len() {
            0 => Ok(()),
            remaining => Err(Error::Undeleted { remaining }),
        }
    }
}

/// Logs what an operator needs to find the row. The row stays in the table until somebody corrects or deletes it.
pub(crate) fn log_poison(row: &EventRow, error: &Error) {
    let reason = error.code();
    let aggregate = row.aggregate();
    tracing::error!(
        aggregate,
        version = row.version,
        event_id = row.event_id,
        event_type = row.event_type,
        reason,
        error = with_causes(error),
        "poison row: its event is not published until the row is corrected"
    );
}
