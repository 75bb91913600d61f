//! Requests for locks.

use std::time::Duration;

use crate::acquire::{Outcome, Wanted, acquire};
use crate::error::MAX_LOCKS;
use crate::holder::Sighting;
use crate::protocol::Mode;
use crate::{Error, Holder, Key, Lock, LockSet, Locks};

/// A request for one lock.
#[derive(Debug, Clone)]
#[must_use = "nothing is sent before `acquire`"]
pub struct LockRequest {
    locks: Locks,
    wanted: Wanted,
    wait: Duration,
    seen: Option<Sighting>,
}

impl LockRequest {
    pub(crate) fn new(locks: Locks, key: Key, mode: Mode) -> Self {
        Self { locks, wanted: Wanted { key, mode }, wait: Duration::ZERO, seen: None }
    }

    /// How long to retry if another caller holds the lock, or if the table does not answer. Without it, there is one try.
    ///
    /// A writer that waits for readers keeps new ones out meanwhile.
    pub fn wait_for(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// The holder that an earlier request of this process for the same lock has returned. A holder that shows no sign of life between then
    /// and now may be taken over by [observation](crate::Takeover::ByObservation), also by a caller that cannot wait.
    pub fn having_seen(self, holder: &Holder) -> Self {
        Self { seen: Some((*holder.sighting).clone()), ..self }
    }

    /// Asks for the lock. Without competition this is one request.
    ///
    /// If it fails with [`Error::Unavailable`], or with another error after several tries, the lock may have been taken; it is then free again
    /// when the lease ends. The same is true if this future is dropped.
    pub async fn acquire(self) -> Result<Acquired, Error> {
        let Self { locks, wanted, wait, seen } = self;
        Ok(match acquire(&locks, &[wanted], wait, vec![seen]).await? {
            Outcome::Granted(mut granted) => match granted.pop() {
                Some(lock) => Acquired::Granted(lock),
                None => return Err(Error::Contended(None)),
            },
            Outcome::Held { holder, .. } => Acquired::Held(holder),
        })
    }
}

/// The outcome of a request for one lock. It is exhaustive: the caller must decide in each case whether to do the work.
#[derive(Debug)]
#[must_use = "only a granted lock allows the work to be done"]
pub enum Acquired {
    /// This caller holds the lock.
    Granted(Lock),
    /// Another caller has it.
    Held(Holder),
}

impl Acquired {
    /// The lock, if it was granted.
    #[must_use]
    pub fn granted(self) -> Option<Lock> {
        match self {
            Self::Granted(lock) => Some(lock),
            Self::Held(_) => None,
        }
    }
}

/// A request for several locks at once: all of them or none.
///
/// They are taken by one transaction, so no caller ever holds some while it waits for others, and there is no deadlock.
#[derive(Debug, Clone)]
#[must_use = "nothing is sent before `acquire`"]
pub struct LockSetRequest {
    locks: Locks,
    wanted: Vec<Wanted>,
    wait: Duration,
}

impl LockSetRequest {
    pub(crate) fn new(locks: Locks) -> Self {
        Self { locks, wanted: Vec::new(), wait: Duration::ZERO }
    }

    /// Adds an exclusive lock. A key that is asked for in both ways is taken exclusively.
    pub fn exclusive(self, key: impl Into<Key>) -> Self {
        self.and(key.into(), Mode::Exclusive)
    }

    /// Adds a shared lock.
    pub fn shared(self, key: impl Into<Key>) -> Self {
        self.and(key.into(), Mode::Shared)
    }

    /// How long to retry; see [`LockRequest::wait_for`].
    pub fn wait_for(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    fn and(mut self, key: Key, mode: Mode) -> Self {
        let names = &self.locks.settings.attributes;
        match self.wanted.iter_mut().find(|wanted| wanted.key.is_same(&key, names)) {
            Some(wanted) if mode == Mode::Exclusive => wanted.mode = mode,
            Some(_) => {}
            None => self.wanted.push(Wanted { key, mode }),
        }
        self
    }

    /// Asks for the locks. Without competition this is one request; with shared locks in the set, two. A request without keys is granted at
    /// once, with an empty set that protects nothing.
    pub async fn acquire(self) -> Result<AcquiredAll, Error> {
        let Self { locks, mut wanted, wait } = self;
        if wanted.is_empty() {
            return Ok(AcquiredAll::Granted(LockSet { locks: Vec::new() }));
        }
        if wanted.len() > MAX_LOCKS {
            return Err(Error::TooMany { asked: wanted.len() });
        }
        wanted.sort_by(|one, other| one.key.cmp(&other.key));
        let seen = vec![None; wanted.len()];
        Ok(match acquire(&locks, &wanted, wait, seen).await? {
            Outcome::Granted(locks) => AcquiredAll::Granted(LockSet { locks }),
            Outcome::Held { index, holder } => AcquiredAll::Held { key: wanted.swap_remove(index).key, holder },
        })
    }
}

/// The outcome of a request for several locks. It is exhaustive: the caller must decide in each case whether to do the work.
#[derive(Debug)]
#[must_use = "only granted locks allow the work to be done"]
pub enum AcquiredAll {
    /// This caller holds all the locks.
    Granted(LockSet),
    /// Another caller has one of them, and this caller has none.
    Held {
        /// A lock that is held.
        key: Key,
        /// Who holds it.
        holder: Holder,
    },
}

impl AcquiredAll {
    /// The locks, if they were granted.
    #[must_use]
    pub fn granted(self) -> Option<LockSet> {
        match self {
            Self::Granted(locks) => Some(locks),
            Self::Held { .. } => None,
        }
    }
}
