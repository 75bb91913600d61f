//! The record as a part of the caller's own transaction, and of the caller's own read.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::types::{AttributeValue, CancellationReason, TransactWriteItem};
use uuid::Uuid;

use crate::record::{Record, Status};
use crate::store::{ATTEMPTS, Written};
use crate::{Claim, Error, Fingerprint, IdempotencyStore};

/// What a record, or its absence, says about the work for its key. It is exhaustive: whether to do the work is no case
/// for `_`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "only where no record is in the way may the work be done"]
pub enum Found {
    /// There is no record, or it has expired: the work is new.
    Absent,
    /// The work was begun and its claim has expired. It may be done, as if there were no record; but a part of it may have
    /// been done already, if it has parts.
    Abandoned,
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
    /// The key was used before with another payload.
    PayloadMismatch,
}

/// What a transaction's cancellation reason says about the record that was one of its items. It is exhaustive, as
/// [`Found`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a refused transaction has written nothing"]
pub enum Refusal {
    /// Not this item: another one of the transaction was refused.
    NotRefused,
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
    /// The key was used before with another payload.
    PayloadMismatch,
    /// The reason does not say: read the record again, and decide again. Another transaction was writing the record at this
    /// moment (`TransactionConflict`), or the server leaves old items out of its reasons, or the record that refused has
    /// expired since. Pause for a random time before a second try, and do not try forever.
    ReadAgain,
}

/// Whether [`record`](IdempotencyStore::record) has recorded the result. It is exhaustive, as [`Found`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the result may not be recorded"]
pub enum Recorded {
    /// The result is recorded.
    Now,
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
    /// Nothing was recorded: the key was used before with another payload.
    PayloadMismatch,
}

/// Where the record of a key is, for a caller that reads it together with its own items.
#[derive(Debug, Clone, PartialEq)]
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
        let id = AttributeValue::S(self.id(key));
        RecordKey {
            table: self.settings.table.clone(),
            key: HashMap::from([(self.settings.attributes.id.clone(), id)]),
        }
    }

    /// What the record says that the caller has read, or found missing.
    ///
    /// It is a look and no claim: a later write with [`completed_with`](Self::completed_with) or
    /// [`claim_with`](Self::claim_with) is still refused if a record has appeared since.
    pub fn read(
        &self,
        item: Option<&HashMap<String, AttributeValue>>,
        fingerprint: &Fingerprint,
    ) -> Result<Found, Error> {
        match item {
            None => Ok(Found::Absent),
            Some(item) => Ok(self.found(Record::from_item(item, &self.settings.attributes)?, fingerprint)),
        }
    }

    /// Records, in the caller's transaction, that the work is done, with its result as a JSON text. The work and its record
    /// then happen together or not at all, and no claim is needed before.
    ///
    /// The transaction is refused if a record is in the way, by the rules of [`claim`](Self::claim): give this item's
    /// cancellation reason to [`refusal`](Self::refusal). A result that does not fit the record is
    /// [`Error::ResultTooLarge`].
    pub fn completed_with(
        &self,
        key: &str,
        fingerprint: &Fingerprint,
        result: Option<String>,
    ) -> Result<TransactWriteItem, Error> {
        let record = self.fitting(self.completed(self.new_claim(key, fingerprint), result))?;
        Ok(TransactWriteItem::builder().put(self.put(&record)?).build())
    }

    /// Claims the work in the caller's transaction: for work whose first part is that transaction, and whose last is the one
    /// with [`complete_with`](Self::complete_with).
    ///
    /// The claim counts only if the transaction succeeds. It refuses others until its in-progress expiry, as one of
    /// [`claim`](Self::claim) does, and may be completed or released like that.
    pub fn claim_with(&self, key: &str, fingerprint: &Fingerprint) -> Result<(Claim, TransactWriteItem), Error> {
        let claim = self.new_claim(key, fingerprint);
        let item = TransactWriteItem::builder().put(self.put(&self.in_progress(&claim))?).build();
        Ok((claim, item))
    }

    /// Completes a claim in the caller's transaction, with the work's result as a JSON text.
    ///
    /// The transaction is refused if another caller has taken the claim over: the reason's code is then
    /// `ConditionalCheckFailed`, and [`refusal`](Self::refusal) says what that caller has done. As with
    /// [`complete`](Self::complete), an expired claim that nobody took over is completed, and completing twice is
    /// completing once.
    pub fn complete_with(&self, claim: &Claim, result: Option<String>) -> Result<TransactWriteItem, Error> {
        let record = self.fitting(self.completed(claim.clone(), result))?;
        Ok(TransactWriteItem::builder().update(self.update(&record)?).build())
    }

    /// What a transaction's cancellation reason says about the record. Reasons are in the order of the transaction's items:
    /// `reason` is the one at the place of the item that this store made.
    ///
    /// A reason that no other try would change (`ValidationError`, `ItemCollectionSizeLimitExceeded`) is
    /// [`Error::Rejected`], and one of capacity is [`Error::Throttled`].
    /// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html>
    pub fn refusal(&self, reason: &CancellationReason, fingerprint: &Fingerprint) -> Result<Refusal, Error> {
        match reason.code() {
            None | Some("None") => Ok(Refusal::NotRefused),
            Some("ConditionalCheckFailed") => Ok(match self.read(reason.item(), fingerprint)? {
                Found::Completed { data } => Refusal::Completed { data },
                Found::InProgress { until } => Refusal::InProgress { until },
                Found::PayloadMismatch => Refusal::PayloadMismatch,
                Found::Absent | Found::Abandoned => Refusal::ReadAgain,
            }),
            Some("TransactionConflict" | "DuplicateItem") => Ok(Refusal::ReadAgain),
            Some("ThrottlingError" | "ProvisionedThroughputExceeded") => Err(Error::Throttled(said_by(reason))),
            Some(_) => Err(Error::Rejected(said_by(reason))),
        }
    }

    /// Records the result of work that left nothing but its result, such as a refusal that every repetition is to get. One
    /// `PutItem`.
    ///
    /// The rules are those of [`claim`](Self::claim). A record that refuses the request and has expired when the answer
    /// arrives is tried again, a few times; then it is [`Error::Contended`].
    pub async fn record(
        &self,
        key: &str,
        fingerprint: &Fingerprint,
        result: Option<String>,
    ) -> Result<Recorded, Error> {
        let claim = self.new_claim(key, fingerprint);
        let completed = || self.completed(claim.clone(), result.clone());
        self.fitting(completed())?;
        for _ in 0..ATTEMPTS {
            let record = match self.write_new(completed).await? {
                Written::New { .. } => {
                    self.settings.cache.insert(completed());
                    return Ok(Recorded::Now);
                }
                Written::Refused(record) => record,
            };
            // The clock has moved on since the request was refused.
            match self.found(record, fingerprint) {
                Found::Absent | Found::Abandoned => {}
                Found::Completed { data } => return Ok(Recorded::Completed { data }),
                Found::InProgress { until } => return Ok(Recorded::InProgress { until }),
                Found::PayloadMismatch => return Ok(Recorded::PayloadMismatch),
            }
        }
        Err(Error::Contended)
    }

    fn new_claim(&self, key: &str, fingerprint: &Fingerprint) -> Claim {
        Claim { id: self.id(key), owner: Uuid::new_v4().to_string(), fingerprint: fingerprint.clone() }
    }

    fn found(&self, record: Record, fingerprint: &Fingerprint) -> Found {
        let now = self.now();
        if record.is_expired(now) {
            Found::Absent
        } else if fingerprint.contradicts(&record.fingerprint) {
            Found::PayloadMismatch
        } else if record.is_abandoned(now) {
            Found::Abandoned
        } else {
            match record.status {
                Status::Completed => Found::Completed { data: record.data },
                Status::InProgress => Found::InProgress {
                    until: record.in_progress_expiration.and_then(|until| UNIX_EPOCH.checked_add(until)),
                },
            }
        }
    }
}

/// A reason's code and message. The message describes the request, and repeats no value of an item.
fn said_by(reason: &CancellationReason) -> Box<dyn std::error::Error + Send + Sync> {
    format!("{}: {}", reason.code().unwrap_or_default(), reason.message().unwrap_or_default()).into()
}
