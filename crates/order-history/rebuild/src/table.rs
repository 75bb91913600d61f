//! Merges views into a table.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt, stream};
use order_view::VIEW;
use projection::dynamodb::{Error as TableError, Table};
use projection::{Contradiction, State};
use tokio::time::{Instant, sleep};

use crate::error::Error;
use crate::fold::Views;
use crate::pace::Pace;
use crate::run::Stored;

/// Merges views into a table.
#[derive(Debug)]
pub struct TableSink {
    table: Table,
    pace: Pace,
}

/// The number of concurrent writes. One needs a few milliseconds, so this allows about 10,000 per second.
const CONCURRENT_WRITES: usize = 64;
/// A write that is throttled or not answered is retried for this long. Then the run stops, and can be resumed.
const RETRY_TIME: Duration = Duration::from_mins(5);
/// The longest pause before a retry.
const MAX_PAUSE: Duration = Duration::from_secs(2);

impl TableSink {
    /// The table `name`, with at most `rate` write units per second if a rate is given.
    #[must_use]
    pub fn new(client: aws_sdk_dynamodb::Client, name: &str, rate: Option<u32>) -> Self {
        Self { table: Table::new(client, name, &VIEW), pace: Pace::new(CONCURRENT_WRITES, rate) }
    }

    /// The pace of the writes.
    #[must_use]
    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// Merges the views. If this returns `Ok`, each view is in the table, or is reported as not stored.
    pub async fn store(
        &self,
        views: Views,
        stored: &mut Stored,
        mut contradicted: impl FnMut(&str, Vec<Contradiction>),
    ) -> Result<(), Error> {
        let merges = stream::iter(views).map(|(order_id, view)| async move {
            let merged = self.merge(&order_id, view).await?;
            Ok::<_, Error>((order_id, merged))
        });
        let mut merges = merges.buffer_unordered(CONCURRENT_WRITES);
        while let Some((order_id, MergeResult { not_stored, requests, milliunits, contradictions })) =
            merges.try_next().await?
        {
            match not_stored {
                None => stored.views += 1,
                Some(NotStored::TooLarge) => _ = stored.too_large.insert(order_id.clone()),
                Some(NotStored::Corrupt) => _ = stored.corrupt.insert(order_id.clone()),
            }
            stored.requests += requests;
            stored.milliunits += milliunits;
            contradicted(&order_id, contradictions);
        }
        Ok(())
    }

    async fn merge(&self, order_id: &str, view: State) -> Result<MergeResult, Error> {
        let (begun, mut requests) = (Instant::now(), 0);
        let mut pause = Duration::from_millis(25);
        loop {
            let permit = self.pace.permit().await;
            let error = match self.table.merge(order_id, view.clone()).await {
                Ok(merged) => {
                    permit.used(merged.write_units);
                    requests += merged.requests as u64;
                    let (milliunits, contradictions) = (milliunits(merged.write_units), merged.contradictions);
                    return Ok(MergeResult { not_stored: None, requests, milliunits, contradictions });
                }
                Err(error) => error,
            };
            drop(permit);
            requests += 1;
            match &error {
                TableError::ItemTooLarge(_) => return Ok(MergeResult::not_stored(NotStored::TooLarge, requests)),
                TableError::Corrupt(_) | TableError::WrongType(_) => {
                    return Ok(MergeResult::not_stored(NotStored::Corrupt, requests));
                }
                TableError::Throttled(_) => self.pace.slow_down(),
                TableError::Unavailable(_) | TableError::Inconsistent => {}
                // A missing table, a refusal, or an error of a later version of `projection`.
                _ => return Err(error.into()),
            }
            if begun.elapsed() > RETRY_TIME {
                return Err(error.into());
            }
            sleep(pause.mul_f64(jitter(order_id, requests))).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
    }
}

/// The result of merging the view of one order.
struct MergeResult {
    not_stored: Option<NotStored>,
    requests: u64,
    milliunits: u64,
    contradictions: Vec<Contradiction>,
}

/// Why an order was not stored.
enum NotStored {
    TooLarge,
    Corrupt,
}

impl MergeResult {
    fn not_stored(reason: NotStored, requests: u64) -> Self {
        Self { not_stored: Some(reason), requests, milliunits: 0, contradictions: Vec::new() }
    }
}

/// From 0.5 to 1, different for each order and attempt, so that writes that failed together are not retried together.
fn jitter(order_id: &str, attempt: u64) -> f64 {
    let mut hasher = DefaultHasher::new();
    (order_id, attempt).hash(&mut hasher);
    0.5 + f64::from(hasher.finish().to_le_bytes()[0]) / f64::from(u8::MAX) / 2.0
}

/// `DynamoDB` counts half units, so thousandths are exact.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn milliunits(units: f64) -> u64 {
    (units * 1_000.0).round() as u64
}
