//! A store with the time limit of its claims: the only one that can claim.

use std::ops::Deref;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::types::TransactWriteItem;

use crate::record::{Record, Status};
use crate::store::{Written, since_epoch};
use crate::{Claim, Claimed, Error, Fingerprint, IdempotencyStore, Observation};

/// An [`IdempotencyStore`] with the time limit of its claims.
///
/// [`IdempotencyStore::until`] and [`IdempotencyStore::for_at_most`] create it. Only this type can claim, so that the time limit
/// cannot be forgotten: a claim that refuses others for too short a time lets the work be done twice, and one that refuses others for
/// too long delays the next try after a crash.
///
/// It has the methods of [`IdempotencyStore`] too.
#[derive(Debug, Clone)]
pub struct TimedStore {
    store: IdempotencyStore,
    limit: Limit,
}

#[derive(Debug, Clone, Copy)]
enum Limit {
    /// This moment, since the epoch.
    Until(Duration),
    For(Duration),
}

impl IdempotencyStore {
    /// The store for one Lambda invocation: its claims refuse others until `deadline`, when Lambda ends the work.
    #[must_use]
    pub fn until(&self, deadline: SystemTime) -> TimedStore {
        TimedStore { store: self.clone(), limit: Limit::Until(since_epoch(deadline)) }
    }

    /// The store for work without a deadline: each claim refuses others for `duration` from its start. It must be longer than the work
    /// can take.
    #[must_use]
    pub fn for_at_most(&self, duration: Duration) -> TimedStore {
        TimedStore { store: self.clone(), limit: Limit::For(duration) }
    }
}

impl TimedStore {
    /// Asks for the right to do the work for `key`.
    ///
    /// The result is [`Claimed::New`] if there is no record, if the record has expired, or if its claim has expired and is for the same
    /// payload. Whether DynamoDB's time to live has deleted an expired record makes no difference.
    ///
    /// If the time limit has passed, before or after the request, the result is [`Error::OutOfTime`]: the claim would refuse nobody. What is
    /// known to be completed ([`cache`](crate::StoreBuilder::cache)) is returned all the same.
    ///
    /// An empty key is [`Error::EmptyKey`]. With its prefix, a key may have
    /// [2,048 bytes, or 1,024 in a sort key](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-partition-sort-keys);
    /// a longer one is rejected too. If keys can be longer, hash them.
    pub async fn claim(&self, key: &str, fingerprint: &Fingerprint) -> Result<Claimed, Error> {
        let claim = self.new_claim(key, fingerprint)?;
        if let Some(record) = self.settings.cache.get(&claim.id, self.now()) {
            return self.refused_by(record, fingerprint);
        }
        self.check_time_limit()?;
        match self.write_new(|| self.in_progress(&claim)).await? {
            Written::New { taken_over } => {
                self.check_time_limit()?;
                (self.settings.observer)(Observation::New { taken_over });
                Ok(Claimed::New(claim))
            }
            Written::Refused(record) => self.refused_by(record, fingerprint),
        }
    }

    /// Claims the work in the caller's transaction. It is for work that starts with this transaction and ends with another one,
    /// which has [`complete_with`](IdempotencyStore::complete_with).
    ///
    /// The claim exists only if the transaction succeeds. It then refuses others until its time limit, and can be completed or released,
    /// like a claim of [`claim`](Self::claim). If the time limit has passed, this is [`Error::OutOfTime`].
    pub fn claim_with(&self, key: &str, fingerprint: &Fingerprint) -> Result<(Claim, TransactWriteItem), Error> {
        self.check_time_limit()?;
        let claim = self.new_claim(key, fingerprint)?;
        let item = TransactWriteItem::builder().put(self.put(&self.in_progress(&claim))?).build();
        Ok((claim, item))
    }

    /// The same store, whose claims all expire when one that is made now does.
    #[cfg(feature = "sqs")]
    pub(crate) fn with_fixed_deadline(&self) -> Self {
        Self { store: self.store.clone(), limit: Limit::Until(self.deadline()) }
    }

    /// When a claim that is made now expires, since the epoch.
    pub(crate) fn deadline(&self) -> Duration {
        match self.limit {
            Limit::Until(deadline) => deadline,
            Limit::For(duration) => self.now().saturating_add(duration),
        }
    }

    /// A claim that has expired when it is made would let every caller do the work.
    fn check_time_limit(&self) -> Result<(), Error> {
        if self.deadline() <= self.now() { Err(Error::OutOfTime) } else { Ok(()) }
    }

    /// The record of a claim whose work is to be done.
    fn in_progress(&self, claim: &Claim) -> Record {
        let until = self.deadline();
        Record {
            id: claim.id.clone(),
            status: Status::InProgress,
            // A retention shorter than the work must not end the claim early.
            expiration: self.now().saturating_add(self.settings.retention).max(until),
            in_progress_expiration: Some(until),
            data: None,
            fingerprint: claim.fingerprint.clone(),
            owner: Some(claim.owner.clone()),
        }
    }
}

impl Deref for TimedStore {
    type Target = IdempotencyStore;

    fn deref(&self) -> &IdempotencyStore {
        &self.store
    }
}
