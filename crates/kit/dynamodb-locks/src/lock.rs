//! A lock that was granted.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::types::TransactWriteItem;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use uuid::Uuid;

use crate::error::with_causes;
use crate::locks::Sent;
use crate::protocol::{Holding, Mode, Renewal};
use crate::record::Record;
use crate::{Clauses, Error, Key, Locks, Observation};

/// How often a shared lease is renewed with the longest values of other readers, before that counts as contention.
const RENEWALS: u32 = 5;

/// A lock that was granted.
///
/// Guard what you write with [`check`](Self::check) or [`release_with`](Self::release_with) in the same transaction: then
/// the database refuses the write if the lock is not yours any more. Do work that may take longer than the lease inside
/// [`hold`](Self::hold).
///
/// A lock that is dropped stays in the table until its lease ends, and so refuses others for that long.
#[must_use = "release the lock: a dropped lock refuses others until its lease ends"]
pub struct Lock {
    locks: Locks,
    key: Key,
    mode: Mode,
    owner: String,
    fence: u64,
    lease: Mutex<Lease>,
    /// Whether the caller has got a write of its own that releases the lock.
    is_released_by_caller: AtomicBool,
    /// Whether `release` has been called: only then can an item without an owner mean that this holder has released it.
    release_was_sent: AtomicBool,
}

/// A lease as its holder counts it: from before the request that took or renewed it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lease {
    started: Instant,
    ends: Instant,
    /// The same end by this caller's clock, in epoch milliseconds.
    expires: u64,
}

impl Lease {
    pub(crate) fn new(started: Instant, now: u64, expires: u64) -> Self {
        Self { started, ends: started + Duration::from_millis(expires.saturating_sub(now)), expires }
    }
}

/// The result of a release. It is exhaustive: the caller must decide about `Lost`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a lost lock means that another caller may have worked at the same time"]
pub enum Release {
    /// This caller still held the lock. It is free now.
    Released,
    /// This caller no longer held the lock: its lease had ended, and another caller acquired it. Nothing was changed. The result is the same
    /// if a release is repeated after another caller has acquired the lock.
    Lost,
}

enum Renewed {
    Yes,
    /// The holder itself has released it, with or without a transaction.
    Released,
    Lost,
}

impl Lock {
    pub(crate) fn new(locks: Locks, key: Key, mode: Mode, owner: String, fence: u64, lease: Lease) -> Self {
        let (is_released_by_caller, release_was_sent) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { locks, key, mode, owner, fence, lease: Mutex::new(lease), is_released_by_caller, release_was_sent }
    }

    /// The key of the lock.
    #[must_use]
    pub fn key(&self) -> &Key {
        &self.key
    }

    /// This acquisition's token in the table.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Whether others may share the lock.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.mode == Mode::Shared
    }

    /// The fencing token: higher than that of every earlier exclusive holder. Systems outside DynamoDB that remember the highest
    /// one they saw can refuse lower ones.
    ///
    /// Shared holders have the fence of the last takeover or exclusive holder before them, so several have the same.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// What is left of the lease, by the monotonic clock or by the caller's clock, whichever is less. After that, another caller may
    /// take the lock.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        let lease = self.lease();
        let by_clock = Duration::from_millis(lease.expires.saturating_sub(self.locks.now()));
        lease.ends.saturating_duration_since(Instant::now()).min(by_clock)
    }

    /// A condition check for the caller's transaction: it is cancelled if the lock is not this caller's any more. No clock is
    /// involved.
    ///
    /// A transaction may not address an item twice. Where the lock is in place and the transaction writes the locked item, use
    /// [`condition`](Self::condition) in that write.
    #[must_use = "it must become part of a transaction"]
    pub fn check(&self) -> TransactWriteItem {
        self.locks.subject(&self.key).check(self.holding())
    }

    /// Checks the lock and releases it, in the caller's transaction: commit and release are one request. If the transaction
    /// is cancelled, the lock is still held.
    ///
    /// Call it only for the transaction that is sent next, and end the work of [`hold`](Self::hold) with that transaction:
    /// from this call on, `hold` cannot distinguish a loss from this release, and drops the work of a lost lock only when the lease
    /// ends.
    #[must_use = "it must become part of a transaction"]
    pub fn release_with(&self) -> TransactWriteItem {
        self.is_released_by_caller.store(true, Ordering::Relaxed);
        self.release_write().into_transact_item()
    }

    /// The condition of [`check`](Self::check), for the caller's own write of an item that is locked in place.
    pub fn condition(&self) -> Clauses {
        self.locks.subject(&self.key).condition(self.holding())
    }

    /// Condition and attributes to `REMOVE`, for the caller's own last write of an item that is locked in place: commit and
    /// release are one `UpdateItem`. `None` for a shared lock: use [`release`](Self::release).
    ///
    /// Call it only for the write that is sent next, for the reason given at [`release_with`](Self::release_with).
    pub fn release_clauses(&self) -> Option<Clauses> {
        match self.mode {
            Mode::Exclusive => {
                self.is_released_by_caller.store(true, Ordering::Relaxed);
                Some(self.locks.subject(&self.key).release_clauses(self.holding()))
            }
            Mode::Shared => None,
        }
    }

    /// Releases the lock. If it fails, it may be repeated. Without a response it fails with [`Error::Unavailable`] when the lease
    /// ends; before the deadline of [`Locks::until`], when half of the time that is left has passed.
    pub async fn release(&self) -> Result<Release, Error> {
        let release = self.send_release().await?;
        self.observe_release(release);
        Ok(release)
    }

    async fn send_release(&self) -> Result<Release, Error> {
        self.release_was_sent.store(true, Ordering::Relaxed);
        // The caller needs the other half of the time for its own response.
        let patience = self.locks.time_left().map_or(self.patience(), |left| self.patience().min(left / 2));
        let released = match answered_within(patience, self.locks.send(self.release_write(), &self.key)).await? {
            Sent::Written(_) => true,
            // An earlier release, whose response was lost, or the caller's transaction.
            Sent::Refused(record) => self.was_released(record.as_ref()),
        };
        Ok(if released { Release::Released } else { Release::Lost })
    }

    fn observe_release(&self, release: Release) {
        self.locks.observe(match release {
            Release::Released => Observation::Released,
            Release::Lost => Observation::Lost,
        });
    }

    /// Renews the lease once. [`hold`](Self::hold) does this by itself.
    ///
    /// [`Error::Lost`] says that the lock is not this caller's any more. After any other error it still is, for what
    /// [remains](Self::remaining) of the lease. Without a response it fails with [`Error::Unavailable`] when the lease ends.
    pub async fn heartbeat(&self) -> Result<(), Error> {
        let patience = self.locks.within_deadline(self.patience());
        match answered_within(patience, self.renew()).await? {
            Renewed::Yes => {
                self.locks.observe(Observation::Renewed);
                Ok(())
            }
            Renewed::Released => Err(Error::Lost),
            Renewed::Lost => {
                self.locks.observe(Observation::Lost);
                Err(Error::Lost)
            }
        }
    }

    /// Does `work` while heartbeats renew the lease, every third of it. Both run in this task: if the task is stuck, dropped or
    /// panics, so are the heartbeats, and the lock becomes free when the lease ends.
    ///
    /// If the lock is lost, `work` is dropped at its next `await`:
    /// - [`Error::Lost`]: DynamoDB reports that the lock is lost.
    /// - [`Error::Unreachable`]: no renewal was confirmed before the lease ended. A failed heartbeat alone is no reason; it is
    ///   tried again until then.
    /// - [`Error::DeadlinePassed`]: the deadline of [`Locks::until`] has passed.
    ///
    /// Work that has taken [`release_with`](Self::release_with) or [`release_clauses`](Self::release_clauses) is not dropped at once
    /// when DynamoDB reports that the lock is lost, because the commit itself succeeds or is refused. It has until the lease
    /// ends; then it is dropped with [`Error::Lost`].
    ///
    /// The lock is not released at the end: do that with [`release_with`](Self::release_with) in the transaction that `work`
    /// ends with, or with [`release`](Self::release).
    pub async fn hold<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        self.check_lease()?;
        tokio::select! {
            // Work that is done counts, also if the lock is lost at that very moment.
            biased;
            done = work => Ok(done),
            lost = self.keep() => Err(lost),
        }
    }

    /// [Holds](Self::hold) the lock during `work`, and releases it whether the work succeeds or fails.
    ///
    /// If the work succeeded but the lock is lost, the result is [`RunError::Lock`] with [`Error::Lost`], unless
    /// the work has called [`release_with`](Self::release_with) or [`release_clauses`](Self::release_clauses): then the database has
    /// checked the lock in the commit, and another caller may have taken it since. A release that fails for another reason is only
    /// logged, because the lease ends by itself.
    pub async fn run<T, E>(&self, work: impl Future<Output = Result<T, E>>) -> Result<T, RunError<E>> {
        let result = self.hold(work).await.map_err(RunError::Lock)?;
        let release = self.send_release().await.map(|release| {
            let committed = result.is_ok() && self.is_released_by_caller();
            if committed { Release::Released } else { release }
        });
        match &release {
            Ok(release) => self.observe_release(*release),
            Err(error) => {
                tracing::warn!(error = with_causes(error), "cannot release the lock; it is free when its lease ends");
            }
        }
        match (result, release) {
            (Ok(_), Ok(Release::Lost)) => Err(RunError::Lock(Error::Lost)),
            (Ok(result), _) => Ok(result),
            (Err(failure), _) => Err(RunError::Work(failure)),
        }
    }

    /// No work is started under a lease that has ended.
    pub(crate) fn check_lease(&self) -> Result<(), Error> {
        if !self.remaining().is_zero() {
            Ok(())
        } else if self.locks.time_left().is_some_and(|left| left.is_zero()) {
            Err(Error::DeadlinePassed)
        } else {
            Err(Error::Unreachable(OVERSLEPT.into()))
        }
    }

    /// Renews the lease until that fails for good.
    pub(crate) async fn keep(&self) -> Error {
        let every = self.locks.settings.lease / 3;
        let mut failure: BoxError = OVERSLEPT.into();
        let mut next = None;
        loop {
            let Lease { started, ends, expires } = self.lease();
            if self.locks.lease_end(expires) == expires {
                // It already lasts until the deadline.
                sleep_until(ends).await;
                return Error::DeadlinePassed;
            }
            let beat = next.take().unwrap_or(started + every);
            sleep_until(beat.min(ends)).await;
            let now = Instant::now();
            if now >= ends {
                self.locks.observe(Observation::Lost);
                return Error::Unreachable(failure);
            }
            // A request that is not answered must not use up the lease.
            match timeout_at(ends.min(now + every), self.renew()).await {
                Ok(Ok(Renewed::Yes)) => self.locks.observe(Observation::Renewed),
                Ok(Ok(Renewed::Released)) => return std::future::pending().await,
                // The caller's own write, whose response is on its way, may have released it for the one that has it now. That write
                // decides: it succeeds or is refused. But it may also never have been sent, so it has until the lease ends.
                Ok(Ok(Renewed::Lost)) if self.is_released_by_caller() => {
                    sleep_until(ends).await;
                    self.locks.observe(Observation::Lost);
                    return Error::Lost;
                }
                Ok(Ok(Renewed::Lost)) => {
                    self.locks.observe(Observation::Lost);
                    return Error::Lost;
                }
                // The caller's own transaction may be on its way with this lock in it.
                Ok(Err(error @ Error::Contended(_))) => {
                    failure = error.into();
                    next = Some(Instant::now() + every / 16);
                }
                Ok(Err(error)) => {
                    self.note_failure(&error);
                    failure = error.into();
                    next = Some(Instant::now() + every / 4);
                }
                Err(late) => {
                    self.note_failure(&late);
                    failure = late.into();
                    next = Some(Instant::now());
                }
            }
        }
    }

    fn note_failure(&self, error: &dyn std::error::Error) {
        tracing::debug!(error = with_causes(error), "a heartbeat failed; the lease still runs");
        self.locks.observe(Observation::HeartbeatFailed);
    }

    async fn renew(&self) -> Result<Renewed, Error> {
        let started = Instant::now();
        let now = self.locks.now();
        let expires = self.locks.lease_end(now);
        if expires <= now {
            return Err(Error::DeadlinePassed);
        }
        let nonce = Uuid::new_v4().to_string();
        let mut renewal = Renewal { until: expires, lease: expires - now, nonce: &nonce };
        let subject = self.locks.subject(&self.key);
        for _ in 0..RENEWALS {
            let write = match self.mode {
                Mode::Exclusive => subject.renew_exclusive(self.holding(), &renewal),
                Mode::Shared => subject.renew_shared(self.holding(), &renewal),
            };
            match self.locks.send(write, &self.key).await? {
                Sent::Written(_) => {
                    *self.lease.lock().unwrap_or_else(PoisonError::into_inner) = Lease::new(started, now, expires);
                    return Ok(Renewed::Yes);
                }
                Sent::Refused(Some(record)) if self.is_read(&record) => {
                    // Another reader's lease is longer, and must not be shortened.
                    renewal.until = renewal.until.max(record.readers_until.unwrap_or(0));
                    renewal.lease = renewal.lease.max(record.lease_ms.unwrap_or(0));
                }
                Sent::Refused(record) if self.was_released(record.as_ref()) => return Ok(Renewed::Released),
                Sent::Refused(_) => return Ok(Renewed::Lost),
            }
        }
        Err(Error::Contended(None))
    }

    pub(crate) fn has(&self, key: &Key) -> bool {
        self.key.is_same(key, &self.locks.settings.attributes)
    }

    /// How long to wait for a response: until the lease ends. A lease that has ended, or nearly, still leaves half of its length,
    /// because perhaps nobody else has taken the lock.
    fn patience(&self) -> Duration {
        let left = self.lease().ends.saturating_duration_since(Instant::now());
        left.max(self.locks.settings.lease / 2)
    }

    fn is_released_by_caller(&self) -> bool {
        self.is_released_by_caller.load(Ordering::Relaxed)
    }

    fn is_read(&self, record: &Record) -> bool {
        record.is_read_by(&self.owner) && record.fence == Some(self.fence)
    }

    /// No other caller can have released it: whoever takes a lock over raises its fence. But an operator may have removed it.
    fn was_released(&self, record: Option<&Record>) -> bool {
        let is_released = self.is_released_by_caller() || self.release_was_sent.load(Ordering::Relaxed);
        is_released && record.is_some_and(|record| record.fence == Some(self.fence) && record.owner.is_none())
    }

    fn release_write(&self) -> crate::protocol::Write {
        self.locks.subject(&self.key).release(self.holding(), self.locks.now())
    }

    fn holding(&self) -> Holding<'_> {
        Holding { mode: self.mode, me: &self.owner, fence: self.fence }
    }

    fn lease(&self) -> Lease {
        *self.lease.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn answered_within<T>(patience: Duration, request: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    timeout(patience, request).await.unwrap_or_else(|late| Err(Error::Unavailable(late.into())))
}

const OVERSLEPT: &str = "the task did not run in time to renew the lease";

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("key", &self.key)
            .field("mode", &self.mode)
            .field("owner", &self.owner)
            .field("fence", &self.fence)
            .field("remaining", &self.remaining())
            .finish_non_exhaustive()
    }
}

/// Why [`Lock::run`] failed. It is exhaustive: either the work failed, or the lock did.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// The work itself failed. The lock is released; if the release fails too, it expires.
    #[error("the work under the lock failed")]
    Work(#[source] E),
    /// The lock was lost, its lease had ended, or the deadline passed. The work was not started, was dropped, or was completed without the
    /// lock.
    #[error("the lock did not last until the end of the work")]
    Lock(#[source] Error),
}
