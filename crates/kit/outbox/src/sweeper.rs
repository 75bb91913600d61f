//! Publishes events that the stream has missed, from the table itself.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::scan::ScanOutput;
use aws_sdk_dynamodb::types::AttributeValue;
use futures_util::future::join_all;

use crate::error::with_causes;
use crate::forward::Forwarder;
use crate::metric::Metric;
use crate::relay::MARGIN;
use crate::row::{self, AT, Item, PK, SK, millis};
use crate::{BATCH_SIZE, Error, EventRow, Publisher};

/// Longer than a healthy relay takes, including its retries.
const OLDER_THAN: Duration = Duration::from_mins(5);

/// The number of batches in flight at once. After an outage the table has many rows.
const BATCHES_AT_ONCE: usize = 4;

/// The relay publishes young rows. With `NOT`, all others are found whatever their time is: old, unreadable, or so far in the future that the
/// writer's clock must have been ahead.
const OLD_ENOUGH: &str = "NOT (#at > :latest AND #at <= :soon)";

/// Publishes rows that have been in the table for some minutes, and deletes them: those whose stream records were lost, have expired (after
/// [24 hours](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html)) or were given up by Lambda.
pub struct Sweeper<P> {
    forwarder: Forwarder<P>,
    older_than: Duration,
    page_size: Option<i32>,
    clock: Box<dyn Fn() -> SystemTime + Send + Sync>,
    /// Where the next run begins, if the last one had no time for the whole table.
    resume_after: Mutex<Option<Item>>,
}

impl<P: Publisher> Sweeper<P> {
    /// A sweeper of this table.
    pub fn new(client: Client, table: impl Into<String>, publisher: P) -> Self {
        Self {
            forwarder: Forwarder { client, table: table.into(), publisher },
            older_than: OLDER_THAN,
            page_size: None,
            clock: Box::new(SystemTime::now),
            resume_after: Mutex::default(),
        }
    }

    /// How old a row must be. 5 minutes by default: longer than the relay takes, or rows are published twice. A row whose time is further
    /// in the future than this counts as old enough: its writer's clock was wrong.
    #[must_use]
    pub fn older_than(mut self, age: Duration) -> Self {
        self.older_than = age;
        self
    }

    /// How many rows are read at once. By default as many as fit a page of
    /// [1 MB](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html#Scan.Pagination).
    #[must_use]
    pub fn page_size(mut self, rows: i32) -> Self {
        self.page_size = Some(rows);
        self
    }

    /// Replaces the system clock, for tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Publishes all rows that are old enough, page by page and the oldest of a page first, and deletes those that were published.
    ///
    /// It ends when the whole table is read; or ten seconds before `deadline`, when Lambda ends the invocation; or when the publisher takes
    /// none of up to forty rows, or none of those that are published can be deleted; or when the table cannot be read. The first forty rows are
    /// always tried.
    ///
    /// After a run that had no time for the whole table, the next run of this value begins at the page after the last one and ends at the end of
    /// the table, so that pages full of rows that cannot be published do not keep the others from being read.
    pub async fn sweep(&self, deadline: SystemTime) -> Swept {
        let now = (self.clock)();
        let is_late = || (self.clock)() + MARGIN > deadline;
        let mut swept = Swept::default();
        let mut start = self.resume_after().take();
        let mut is_first = true;
        loop {
            if !is_first && is_late() {
                *self.resume_after() = start;
                swept.end = End::Deadline;
                return swept;
            }
            let page = match self.scan(now, start).await {
                Ok(page) => page,
                Err(error) => {
                    swept.end = End::Unreadable(error);
                    return swept;
                }
            };
            swept.rows += usize::try_from(page.scanned_count()).unwrap_or_default();
            let rows = swept.read(page.items(), now, self.older_than);
            for round in rows.chunks(BATCH_SIZE * BATCHES_AT_ONCE) {
                if !is_first && is_late() {
                    *self.resume_after() = page.last_evaluated_key;
                    swept.end = End::Deadline;
                    return swept;
                }
                is_first = false;
                let batches = join_all(round.chunks(BATCH_SIZE).map(|batch| self.forwarder.forward(batch))).await;
                let published: usize = batches.iter().map(|batch| batch.published).sum();
                let failed: usize = batches.iter().map(|batch| batch.failed).sum();
                swept.published += published;
                swept.failed += failed;
                let undeleted: usize = batches.iter().map(|batch| batch.undeleted).sum();
                swept.poison += batches.iter().map(|batch| batch.poison).sum::<usize>();
                swept.undeleted += undeleted;
                if failed > 0 && published == 0 {
                    swept.end = End::PublisherFails;
                    return swept;
                }
                // Without this, each run would publish the whole backlog once more.
                if published > 0 && undeleted == published {
                    swept.end = End::DeletionFails;
                    return swept;
                }
            }
            is_first = false;
            start = page.last_evaluated_key;
            if start.is_none() {
                return swept;
            }
        }
    }

    fn resume_after(&self) -> MutexGuard<'_, Option<Item>> {
        // It is only taken and set, so a panic cannot leave it half changed.
        self.resume_after.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page of rows that are old enough. It is read consistently, so that a row is not published again that the relay has deleted a
    /// moment ago.
    async fn scan(&self, now: SystemTime, start: Option<Item>) -> Result<ScanOutput, Error> {
        let latest = now.checked_sub(self.older_than).map_or(0, millis);
        let soon = now.checked_add(self.older_than).map_or(u64::MAX, millis);
        let request = self
            .forwarder
            .client
            .scan()
            .table_name(&self.forwarder.table)
            .filter_expression(OLD_ENOUGH)
            .expression_attribute_names("#at", AT)
            .expression_attribute_values(":latest", AttributeValue::N(latest.to_string()))
            .expression_attribute_values(":soon", AttributeValue::N(soon.to_string()))
            .consistent_read(true)
            .set_limit(self.page_size)
            .set_exclusive_start_key(start);
        Ok(request.send().await?)
    }
}

/// The result of a run of the sweeper.
#[derive(Debug, Default)]
#[non_exhaustive]
#[must_use = "its end may be an error that is not logged"]
pub struct Swept {
    /// Rows that were published.
    pub published: usize,
    /// Rows that can never be published. Each has a log line with its reason. They stay in the table.
    pub poison: usize,
    /// Rows that were not published because the publisher failed.
    pub failed: usize,
    /// Rows that were published, but not deleted, at most: if a request fails, all its rows are counted. The next run publishes those that are
    /// left once more.
    pub undeleted: usize,
    /// Rows of any age that were read from the table.
    pub rows: usize,
    /// The age of the oldest row that was old enough to be swept, whether or not it is published now. While a poison row is in the table,
    /// it grows from run to run. A row whose time is in the future counts as just old enough, and one whose time cannot be read is not counted.
    pub oldest: Option<Duration>,
    /// Why the run ended.
    pub end: End,
}

/// Why a run of the sweeper ended. It is exhaustive: the caller decides which of them is a failure.
#[derive(Debug, Default)]
pub enum End {
    /// The whole table was read.
    #[default]
    Done,
    /// The invocation's deadline was near.
    Deadline,
    /// Of up to forty rows none was published, and the publisher failed for at least one. The log has the reason.
    PublisherFails,
    /// Of up to forty rows some were published, and none of these could be deleted. The log has the reason.
    DeletionFails,
    /// The table could not be read.
    Unreadable(Error),
}

impl Swept {
    /// The metrics of the run: `SweptRows`, `PoisonRows`, `PublishFailures`, `UndeletedRows`, `BacklogRows`, and
    /// `BacklogAge` in seconds. Raise an alarm for `PoisonRows` and for a `BacklogAge` of some runs.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        vec![
            Metric::count("SweptRows", self.published),
            Metric::count("PoisonRows", self.poison),
            Metric::count("PublishFailures", self.failed),
            Metric::count("UndeletedRows", self.undeleted),
            Metric::count("BacklogRows", self.rows),
            Metric::seconds("BacklogAge", self.oldest.unwrap_or_default().as_secs()),
        ]
    }

    /// The rows of a page, the oldest first. Items that are not rows are logged and counted.
    fn read(&mut self, items: &[Item], now: SystemTime, older_than: Duration) -> Vec<EventRow> {
        let mut rows = Vec::with_capacity(items.len());
        for item in items {
            if let Some(at) = row::time_of(item) {
                let age = now.duration_since(at).unwrap_or(older_than);
                self.oldest = self.oldest.max(Some(age));
            }
            match EventRow::from_item(item) {
                Ok(row) => rows.push(row),
                Err(error) => {
                    let reason = error.code();
                    let row = row_name(item);
                    tracing::error!(
                        row,
                        reason,
                        error = with_causes(&error),
                        "poison row: no event can be read from it until it is corrected"
                    );
                    self.poison += 1;
                }
            }
        }
        rows.sort_by_cached_key(|row| (row.at, row.aggregate(), row.version));
        rows
    }
}

/// The key of a row, for a log line.
fn row_name(item: &HashMap<String, AttributeValue>) -> String {
    let pk = item.get(PK).and_then(|pk| pk.as_s().ok());
    let sk = item.get(SK).and_then(|sk| sk.as_n().ok());
    format!("{} {}", pk.map_or("?", String::as_str), sk.map_or("?", String::as_str))
}
