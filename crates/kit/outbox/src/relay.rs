//! From the table's stream to the publisher.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;

use crate::error::with_causes;
use crate::forward::Forwarder;
use crate::metric::Metric;
use crate::stream::{self, BatchItemFailure, BatchResponse, StreamBatch};
use crate::{BATCH_SIZE, Publisher};

/// No batch is started later than this before the deadline. A batch is two requests, and usually takes far less. If its requests are
/// retried it can take longer: then Lambda ends the invocation and retries all of its records, and events that were published are
/// published twice.
pub(crate) const MARGIN: Duration = Duration::from_secs(10);

/// Publishes the new rows in a batch of the table's stream, and deletes them: ten rows at once, with two requests.
pub struct Relay<P> {
    forwarder: Forwarder<P>,
    clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
}

impl<P: Publisher> Relay<P> {
    /// A relay for the stream of this table.
    pub fn new(client: Client, table: impl Into<String>, publisher: P) -> Self {
        Self { forwarder: Forwarder { client, table: table.into(), publisher }, clock: Box::new(SystemTime::now) }
    }

    /// Replaces the system clock, for tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Publishes the new rows of this batch in the order of the stream, and deletes those that were published. Return the
    /// [`response`](Relayed::response) of the result to Lambda.
    ///
    /// `deadline` is the time at which Lambda ends the invocation. The first ten rows are always tried. Less than ten seconds before the
    /// deadline no other rows are started, and Lambda retries the rest.
    pub async fn handle(&self, batch: &StreamBatch, deadline: SystemTime) -> Relayed {
        let mut relayed = Relayed::default();
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        let mut keys = HashSet::new();
        for (place, record) in batch.records.iter().enumerate() {
            match stream::new_row(record) {
                // One request may not delete a row twice.
                Ok(Some(row)) if keys.insert((row.aggregate(), row.version)) => {
                    rows.push(row);
                    places.push(place);
                }
                Ok(_) => relayed.skipped += 1,
                Err(error) => {
                    let reason = error.code();
                    let row = stream::row_name(record);
                    let sequence_number = stream::sequence_number(record);
                    tracing::error!(
                        row,
                        sequence_number,
                        reason,
                        error = with_causes(&error),
                        "cannot read an event from the stream record; if its row is in the table, the sweeper publishes or reports it"
                    );
                    relayed.poison += 1;
                }
            }
        }
        for (number, rows) in rows.chunks(BATCH_SIZE).enumerate() {
            let first = number * BATCH_SIZE;
            let is_late = number > 0 && (self.clock)() + MARGIN > deadline;
            let first_failed = if is_late {
                Some(first)
            } else {
                let forwarded = self.forwarder.forward(rows).await;
                relayed.published += forwarded.published;
                relayed.poison += forwarded.poison;
                relayed.undeleted += forwarded.undeleted;
                relayed.failed += forwarded.failed;
                forwarded.first_failed.map(|place| first + place)
            };
            if let Some(row) = first_failed {
                relayed.retry_from = Some(stream::sequence_number(&batch.records[places[row]]).to_owned());
                break;
            }
        }
        relayed
    }
}

/// The result of a relay for one batch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "its response must be returned to Lambda"]
#[non_exhaustive]
pub struct Relayed {
    /// Rows that were published.
    pub published: usize,
    /// Records that do not contain a new row, and further records of the same row.
    pub skipped: usize,
    /// Rows that can never be published, and records that contain no readable row. Each has a log line with its reason. They are not
    /// reported to Lambda, so they do not delay other rows. The row stays in the table, and every run of the sweeper reports it.
    pub poison: usize,
    /// Rows that were not published because the publisher failed.
    pub failed: usize,
    /// Rows that were published, but not deleted. The sweeper publishes them once more.
    pub undeleted: usize,
    /// The sequence number of the first record to retry. Lambda retries all records after it too.
    pub retry_from: Option<String>,
}

impl Relayed {
    /// The response for Lambda.
    #[must_use]
    pub fn response(&self) -> BatchResponse {
        let failure = |sequence_number: &String| BatchItemFailure { sequence_number: sequence_number.clone() };
        BatchResponse { failures: self.retry_from.iter().map(failure).collect() }
    }

    /// The metrics of the batch: `Published`, `PoisonRows`, `PublishFailures`, `UndeletedRows`. Raise an alarm for
    /// `PoisonRows`.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        vec![
            Metric::count("Published", self.published),
            Metric::count("PoisonRows", self.poison),
            Metric::count("PublishFailures", self.failed),
            Metric::count("UndeletedRows", self.undeleted),
        ]
    }
}
