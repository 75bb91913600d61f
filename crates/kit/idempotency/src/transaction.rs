//! The record as a part of the caller's own transaction, and of the caller's own read.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::types::{AttributeValue, CancellationReason, TransactWriteItem};

use crate::record::{Record, Status};
use crate::store::{ATTEMPTS, Written};
use crate::{Claim, Error, Fingerprint, IdempotencyStore};

/// What a record, or its absence, says about the work for its key. It is exhaustive: the caller must decide in
/// each case whether to do the work.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the work may be done only if no record is in the way"]
pub enum Found {
    /// No record is in the way: the work may be done.
    New {
        /// Whether an earlier caller began the work, and its claim expired before the work was completed. A part of the work may
        /// have been done then, if it has parts.
        taken_over: bool,
    },
    /// The work has been done before.
    Completed {
        /// The stored result, a JSON text, if the work left one.
        data: Option<String>,
    },
    /// Another caller is doing the work.
    InProgress {
        /// When its claim may be taken over, as far as the record says.
        until: Option<SystemTime>,
    },
}

/// What a transaction's cancellation reason says about the record that was one of its items. It is exhaustive, as
/// [`Found`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a refused transaction has written nothing"]
pub enum Refusal {
    /// No record is known to be in the way: read and decide again.
    ///
    /// The transaction was refused because of another item, or another transaction was writing the record at this moment
    /// (`TransactionConflict`), or the server leaves old items out of its reasons, or the record that refused has expired
    /// since. Pause for a random time before a second try, and do not try forever.
    New,
    /// The work has been done before.
    Completed {
        /// The stored result, a JSON text, if the work left one.
        data: Option<String>,
    },
    /// Another caller is doing the work.
    InProgress {
        /// When its claim may be taken over, as far as the record says.
        until: Option<SystemTime>,
    },
}

/// Whether [`record`](IdempotencyStore::record) has recorded the result. It is exhaustive, as [`Found`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the result may not be recorded"]
pub enum Recorded {
    /// The result is recorded now.
    New,
    /// Nothing was recorded: the work has been done before.
    Completed {
        /// The stored result, a JSON text, if the work left one.
        data: Option<String>,
    },
    /// Nothing was recorded: another caller is doing the work.
    InProgress {
        /// When its claim may be taken over, as far as the record says.
        until: Option<SystemTime>,
    },
}

/// Where the record of a key is, for a caller that reads it together with its own items.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordKey {
    /// The table's name.
    pub table: String,
    /// The item's primary key.
    pub key: HashMap<String, AttributeValue>,
}

impl IdempotencyStore {
    /// Where the record of `key` is, for a `BatchGetItem` or `GetItem` of the caller. Read it with `ConsistentRead`, and give
    /// the item to [`read`](Self::read).
    #[must_use]
    pub fn record_key(&self, key: &str) -> RecordKey {
        RecordKey { table: self.settings.table.clone(), key: self.settings.schema.key(&self.id(key)) }
    }

    /// What the record says: `item` is what the caller has read, or `None` if there is no record.
    ///
    /// It does not claim: a later write with [`completed_with`](Self::completed_with) or
    /// [`claim_with`](crate::TimedStore::claim_with) is still refused if a record has appeared since. A record of another payload
    /// is [`Error::PayloadMismatch`].
    pub fn read(
        &self,
        item: Option<&HashMap<String, AttributeValue>>,
        fingerprint: &Fingerprint,
    ) -> Result<Found, Error> {
        match item {
            None => Ok(Found::New { taken_over: false }),
            Some(item) => self.found(Record::from_item(item, &self.settings.schema)?, fingerprint),
        }
    }

    /// Records, in the caller's transaction, that the work is done, with its result as a JSON text. The work and its record
    /// are then written together or not at all, and no claim is needed before.
    ///
    /// The transaction is refused if a record is in the way, by the rules of [`claim`](crate::TimedStore::claim): give this item's
    /// cancellation reason to [`refusal`](Self::refusal). A result that does not fit the record is
    /// [`Error::ResultTooLarge`].
    pub fn completed_with(
        &self,
        key: &str,
        fingerprint: &Fingerprint,
        result: Option<String>,
    ) -> Result<TransactWriteItem, Error> {
        let record = self.fitting(self.completed(self.new_claim(key, fingerprint)?, result))?;
        Ok(TransactWriteItem::builder().put(self.put(&record)?).build())
    }

    /// Completes a claim in the caller's transaction, with the work's result as a JSON text.
    ///
    /// The transaction is refused if another caller has taken the claim over: the reason's code is then
    /// `ConditionalCheckFailed`, and [`refusal`](Self::refusal) says what that caller has done. As with
    /// [`complete`](Self::complete), an expired claim that nobody took over is completed, and completing twice has the
    /// same effect as completing once.
    pub fn complete_with(&self, claim: &Claim, result: Option<String>) -> Result<TransactWriteItem, Error> {
        let record = self.fitting(self.completed(claim.clone(), result))?;
        Ok(TransactWriteItem::builder().update(self.update(&record)?).build())
    }

    /// What a transaction's cancellation reason says about the record. Reasons are in the order of the transaction's items:
    /// `reason` is that of the item that this store made.
    ///
    /// A record of another payload is [`Error::PayloadMismatch`]. A reason that no other try would change (`ValidationError`,
    /// `ItemCollectionSizeLimitExceeded`) is [`Error::Rejected`], and a reason about capacity is [`Error::Throttled`].
    /// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html>
    pub fn refusal(&self, reason: &CancellationReason, fingerprint: &Fingerprint) -> Result<Refusal, Error> {
        match reason.code() {
            None | Some("None" | "TransactionConflict" | "DuplicateItem") => Ok(Refusal::New),
            Some("ConditionalCheckFailed") => Ok(match self.read(reason.item(), fingerprint)? {
                Found::Completed { data } => Refusal::Completed { data },
                Found::InProgress { until } => Refusal::InProgress { until },
                Found::New { .. } => Refusal::New,
            }),
            Some("ThrottlingError" | "ProvisionedThroughputExceeded") => Err(Error::Throttled(said_by(reason))),
            Some(_) => Err(Error::Rejected(said_by(reason))),
        }
    }

    /// Records the result of work that has no other effect, such as a refusal that every repetition must get. It is one
    /// `PutItem`.
    ///
    /// The rules are those of [`claim`](crate::TimedStore::claim). If the record that refuses the request has expired when the response
    /// arrives, the request is sent again, a few times; then the result is [`Error::Contended`].
    pub async fn record(
        &self,
        key: &str,
        fingerprint: &Fingerprint,
        result: Option<String>,
    ) -> Result<Recorded, Error> {
        let claim = self.new_claim(key, fingerprint)?;
        let completed = || self.completed(claim.clone(), result.clone());
        self.fitting(completed())?;
        for _ in 0..ATTEMPTS {
            let record = match self.write_new(completed).await? {
                Written::New { .. } => {
                    self.settings.cache.insert(completed());
                    return Ok(Recorded::New);
                }
                Written::Refused(record) => record,
            };
            // The clock has moved on since the request was refused.
            match self.found(record, fingerprint)? {
                Found::New { .. } => {}
                Found::Completed { data } => return Ok(Recorded::Completed { data }),
                Found::InProgress { until } => return Ok(Recorded::InProgress { until }),
            }
        }
        Err(Error::Contended)
    }

    fn found(&self, record: Record, fingerprint: &Fingerprint) -> Result<Found, Error> {
        let now = self.now();
        if record.is_expired(now) {
            return Ok(Found::New { taken_over: false });
        }
        if fingerprint.contradicts(&record.fingerprint) {
            return Err(Error::PayloadMismatch);
        }
        if record.is_abandoned(now) {
            return Ok(Found::New { taken_over: true });
        }
        Ok(match record.status {
            Status::Completed => Found::Completed { data: record.data },
            Status::InProgress => Found::InProgress {
                until: record.in_progress_expiration.and_then(|until| UNIX_EPOCH.checked_add(until)),
            },
        })
    }
}

/// A reason's code and message. The message describes the request, and repeats no value of an item.
fn said_by(reason: &CancellationReason) -> Box<dyn std::error::Error + Send + Sync> {
    format!("{}: {}", reason.code().unwrap_or_default(), reason.message().unwrap_or_default()).into()
}
