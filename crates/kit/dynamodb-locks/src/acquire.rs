//! Acquiring locks: one with an `UpdateItem`, several with a transaction.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;

use crate::cancellation::Cause;
use crate::error::with_causes;
use crate::holder::Sighting;
use crate::lock::Lease;
use crate::locks::{Placement, Sent};
use crate::protocol::{Bid, Mode};
use crate::record::Record;
use crate::retry::jittered;
use crate::{Error, Holder, Key, Lock, Locks, Observation, Takeover};

/// If a refusal shows that the lock is free, the next try follows at once, up to this often.
const AT_ONCE: u32 = 3;

#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) key: Key,
    pub(crate) mode: Mode,
}

pub(crate) enum Outcome {
    /// In the order of what was wanted.
    Granted(Vec<Lock>),
    Held {
        index: usize,
        holder: Holder,
    },
}

pub(crate) async fn acquire(
    locks: &Locks,
    wanted: &[Wanted],
    wait: Duration,
    seen: Vec<Option<Sighting>>,
) -> Result<Outcome, Error> {
    let refused = (0..wanted.len()).collect();
    let mut bidder = Bidder { locks, wanted, me: locks.token(), seen, refused, marks: vec![None; wanted.len()] };
    // Boxed: otherwise the caller's own future would contain these large ones.
    let outcome = Box::pin(bidder.bid_for(wait)).await;
    if !matches!(outcome, Ok(Outcome::Granted(_))) {
        Box::pin(bidder.let_readers_in()).await;
    }
    outcome
}

struct Bidder<'a> {
    locks: &'a Locks,
    wanted: &'a [Wanted],
    /// One token for all tries, so that a try whose response was lost is recognised by the next one.
    me: String,
    /// What the last refusal showed, by index.
    seen: Vec<Option<Sighting>>,
    /// The indices that the last response refused. What is known of the others may be old.
    refused: Vec<usize>,
    /// The marks that this writer has sent last, by index. A mark may have been refused.
    marks: Vec<Option<u64>>,
}

struct Grant {
    lock: Lock,
    taken_over: bool,
}

impl Bidder<'_> {
    /// Tries until the locks are granted, a try fails for good, or the wait is over.
    async fn bid_for(&mut self, wait: Duration) -> Result<Outcome, Error> {
        let called = Instant::now();
        let mut at_once = 0;
        let mut tries = 0;
        loop {
            let error = match self.bid().await {
                Ok(Some(grants)) => {
                    let waited = called.elapsed();
                    for Grant { taken_over, .. } in &grants {
                        self.locks.observe(Observation::Acquired { waited, taken_over: *taken_over });
                    }
                    return Ok(Outcome::Granted(grants.into_iter().map(|grant| grant.lock).collect()));
                }
                Ok(None) if at_once < AT_ONCE && self.obstacle().is_none() => {
                    at_once += 1;
                    continue;
                }
                Ok(None) => None,
                Err(error @ (Error::Throttled(_) | Error::Unavailable(_) | Error::Contended(_))) => Some(error),
                Err(error) => return Err(error),
            };
            at_once = 0;
            tries += 1;
            let left = self.locks.within_deadline(wait.saturating_sub(called.elapsed()));
            if left.is_zero() {
                return match (error, self.obstacle()) {
                    (Some(error), _) => Err(error),
                    (None, Some((index, holder))) => {
                        self.locks.observe(Observation::Refused { waited: called.elapsed() });
                        Ok(Outcome::Held { index, holder })
                    }
                    (None, None) => Err(Error::Contended(None)),
                };
            }
            self.keep_readers_out(left).await;
            sleep(self.pause(tries).min(left)).await;
        }
    }

    /// Tries once. `None`: refused.
    async fn bid(&mut self) -> Result<Option<Vec<Grant>>, Error> {
        let started = Instant::now();
        let now = self.locks.now();
        let expires = self.locks.lease_end(now);
        if expires <= now {
            return Err(Error::DeadlinePassed);
        }
        // A response that comes after the end of the lease is of no use.
        let lease = Duration::from_millis(expires - now);
        let request = async {
            match self.wanted {
                [wanted] => Ok(self.bid_for_one(wanted, started, now, expires).await?.map(|grant| vec![grant])),
                _ => self.bid_for_all(started, now, expires).await,
            }
        };
        timeout(lease, request).await.unwrap_or_else(|late| Err(Error::Unavailable(late.into())))
    }

    async fn bid_for_one(
        &mut self,
        wanted: &Wanted,
        started: Instant,
        now: u64,
        expires: u64,
    ) -> Result<Option<Grant>, Error> {
        let subject = self.locks.subject(&wanted.key);
        let nonce = Uuid::new_v4().to_string();
        let bid = self.bid_at(0, now, expires, &nonce);
        let (write, fence) = match wanted.mode {
            Mode::Exclusive => subject.exclusive(&bid),
            Mode::Shared => subject.shared(&bid),
        };
        match self.locks.send(write, &wanted.key).await? {
            Sent::Written(old) => {
                let fence = fence.unwrap_or_else(|| {
                    let base = old.fence.unwrap_or(now);
                    if wanted.mode == Mode::Exclusive { base.saturating_add(1) } else { base }
                });
                let lock = self.lock(wanted, fence, started, now, expires);
                Ok(Some(Grant { lock, taken_over: old.is_taken_over_with(fence) }))
            }
            Sent::Refused(Some(record)) if record.is_owned_by(&self.me) || record.is_read_by(&self.me) => {
                match self.earlier_grant(wanted, &record, started, now).await {
                    // Another caller has taken it since: this caller never knew that it had the lock, and still waits for it.
                    Err(Error::Lost) => Ok(None),
                    grant => grant.map(Some),
                }
            }
            Sent::Refused(record) => {
                self.note(0, record)?;
                Ok(None)
            }
        }
    }

    /// An earlier try took the lock, but its response was lost.
    async fn earlier_grant(
        &self,
        wanted: &Wanted,
        record: &Record,
        started: Instant,
        now: u64,
    ) -> Result<Grant, Error> {
        let fence = record.fence.unwrap_or_default();
        let lock = self.lock(wanted, fence, started, now, record.held_until().unwrap_or(now));
        // Part of its lease is gone, and how much of a shared one is not known.
        lock.heartbeat().await?;
        Ok(Grant { lock, taken_over: false })
    }

    async fn bid_for_all(&mut self, started: Instant, now: u64, expires: u64) -> Result<Option<Vec<Grant>>, Error> {
        let nonce = Uuid::new_v4().to_string();
        let mut writes = Vec::with_capacity(self.wanted.len());
        let mut grants = Vec::with_capacity(self.wanted.len());
        for (index, wanted) in self.wanted.iter().enumerate() {
            let subject = self.locks.subject(&wanted.key);
            let bid = self.bid_at(index, now, expires, &nonce);
            let (write, fence) = match wanted.mode {
                Mode::Exclusive => subject.exclusive(&bid),
                Mode::Shared => subject.shared(&bid),
            };
            writes.push(write.into_transact_item());
            // In a transaction the fence is always chosen before.
            let fence = fence.unwrap_or(now);
            let others = bid.known.filter(|known| !known.is_owned_by(&self.me));
            let taken_over = others.is_some_and(|known| known.is_taken_over_with(fence));
            let lock = self.lock(wanted, fence, started, now, expires);
            grants.push(Grant { lock, taken_over });
        }
        let Some(cancelled) = self.locks.send_all(writes).await? else { return Ok(Some(grants)) };
        self.refused.clear();
        for (index, cause) in cancelled.causes() {
            if let Cause::ConditionFailed { item } = cause {
                let record = self.locks.refusal(item, &self.wanted[index].key).await?;
                self.note(index, record)?;
                self.refused.push(index);
            }
        }
        Ok(None)
    }

    fn bid_at<'b>(&'b self, index: usize, now: u64, expires: u64, nonce: &'b str) -> Bid<'b> {
        let seen = self.seen[index].as_ref();
        let (stale, observes) = match self.locks.settings.takeover {
            Takeover::ByClock { max_skew } => {
                let max_skew = u64::try_from(max_skew.as_millis()).unwrap_or(u64::MAX);
                (Some(now.saturating_sub(max_skew)), true)
            }
            Takeover::ByObservation => (None, true),
            Takeover::Never => (None, false),
        };
        Bid {
            me: &self.me,
            now,
            expires,
            nonce,
            stale,
            seen: seen.filter(|_| observes).and_then(Sighting::ripe_nonce),
            mark: seen.and_then(|seen| seen.ripe_mark(self.locks.settings.lease)),
            marks_by_clock: self.locks.settings.takeover != Takeover::ByObservation,
            known: seen.map(|seen| &seen.record),
            in_transaction: self.wanted.len() > 1,
        }
    }

    fn note(&mut self, index: usize, record: Option<Record>) -> Result<(), Error> {
        let before = self.seen[index].take();
        match (record, self.locks.settings.placement) {
            (Some(record), _) => self.seen[index] = Some(Sighting::now(record, before.as_ref())),
            (None, Placement::InPlace) => return Err(Error::NoSuchItem),
            // A record can only vanish between the refusal and the look at it.
            (None, Placement::Record { .. }) => {}
        }
        Ok(())
    }

    /// The lock that is known to refuse another try, and its holder.
    fn obstacle(&self) -> Option<(usize, Holder)> {
        let now = self.locks.now();
        let stands = |index: &usize| !self.bid_at(*index, now, now, "").is_admitted(self.wanted[*index].mode);
        let index = self.refused.iter().copied().find(stands)?;
        Some((index, Holder::new(self.seen[index].clone()?)))
    }

    /// As long as this writer waits, no new readers come in. The mark ends with the wait or, should this caller die, after
    /// the length of a lease. It is best effort: without it, the wait is only longer.
    async fn keep_readers_out(&mut self, left: Duration) {
        let length = left.min(self.locks.settings.lease);
        let now = self.locks.now();
        let until = now.saturating_add(u64::try_from(length.as_millis()).unwrap_or(u64::MAX));
        // A mark is renewed when half of it has passed, so that no reader comes in between two of them.
        let late = now.saturating_add(until.saturating_sub(now) / 2);
        let marks = async {
            for ((wanted, seen), own) in self.wanted.iter().zip(&self.seen).zip(&mut self.marks) {
                let Some(record) = seen.as_ref().map(|seen| &seen.record) else { continue };
                let marked = record.writer_waits_until.is_some_and(|marked| marked > late);
                if wanted.mode == Mode::Shared || record.readers.is_empty() || marked {
                    continue;
                }
                let mark = self.locks.subject(&wanted.key).mark(until);
                // Also a mark that is not answered may be written.
                *own = Some(until);
                if let Err(error) = self.locks.send(mark, &wanted.key).await {
                    tracing::debug!(error = with_causes(&error), "a waiting writer could not keep new readers out");
                }
            }
        };
        // What is not answered must not use up the wait.
        let _ = timeout(length, marks).await;
    }

    /// This writer has stopped waiting. It is best effort: a mark that stays ends by itself, or is removed by a reader that
    /// has watched it.
    async fn let_readers_in(&self) {
        let removals = async {
            for (wanted, own) in self.wanted.iter().zip(&self.marks) {
                let Some(until) = *own else { continue };
                let removal = self.locks.subject(&wanted.key).unmark(until);
                if let Err(error) = self.locks.send(removal, &wanted.key).await {
                    tracing::debug!(error = with_causes(&error), "a writer that gave up could not let readers in");
                }
            }
        };
        // The caller has waited long enough.
        let _ = timeout(self.locks.within_deadline(self.locks.settings.lease / 10), removals).await;
    }

    /// How long to pause, but not for longer than until a lock can be taken over.
    fn pause(&self, tries: u32) -> Duration {
        let pause = self.locks.settings.polling.pause_after(tries);
        let now = Duration::from_millis(self.locks.now());
        let takeovers = self.seen.iter().flatten().filter_map(|seen| {
            let by_clock = match self.locks.settings.takeover {
                Takeover::ByClock { max_skew } => seen
                    .record
                    .held_until()
                    .map(|until| Duration::from_millis(until).saturating_add(max_skew).saturating_sub(now)),
                Takeover::ByObservation | Takeover::Never => None,
            };
            let by_observation = seen.ripe_at().map(|at| at.saturating_duration_since(Instant::now()));
            [by_clock, by_observation].into_iter().flatten().min()
        });
        // The expiry must have passed, not only been reached; and callers that waited for it must not all try at the same moment.
        let after = Duration::from_millis(1) + jittered(pause / 16);
        match takeovers.max() {
            Some(until) if !until.is_zero() && until <= pause => until + after,
            _ => pause,
        }
    }

    fn lock(&self, wanted: &Wanted, fence: u64, started: Instant, now: u64, expires: u64) -> Lock {
        let lease = Lease::new(started, now, expires);
        Lock::new(self.locks.clone(), wanted.key.clone(), wanted.mode, self.me.clone(), fence, lease)
    }
}
