//! Several locks that are held together.

use aws_sdk_dynamodb::types::TransactWriteItem;
use futures_util::future::{join_all, select_all};

use crate::{Error, Key, Lock, Release};

/// Locks that were granted together, in the order of their keys.
#[derive(Debug)]
#[must_use = "release the locks: dropped locks refuse others until their leases end"]
pub struct LockSet {
    pub(crate) locks: Vec<Lock>,
}

impl LockSet {
    /// Every lock, in the order of their keys.
    pub fn iter(&self) -> std::slice::Iter<'_, Lock> {
        self.locks.iter()
    }

    /// The lock with this key.
    #[must_use]
    pub fn get(&self, key: impl Into<Key>) -> Option<&Lock> {
        let key = key.into();
        self.iter().find(|lock| lock.has(&key))
    }

    /// [`Lock::check`] of every lock.
    #[must_use = "they must become part of a transaction"]
    pub fn check(&self) -> Vec<TransactWriteItem> {
        self.iter().map(Lock::check).collect()
    }

    /// [`Lock::release_with`] of every lock.
    #[must_use = "they must become part of a transaction"]
    pub fn release_with(&self) -> Vec<TransactWriteItem> {
        self.iter().map(Lock::release_with).collect()
    }

    /// Releases all locks, each with its own request, so that a lost lock does not prevent the release of the others. The result is
    /// `Lost` if any of them was lost, also if the release of another one failed.
    pub async fn release(&self) -> Result<Release, Error> {
        let mut releases = join_all(self.iter().map(Lock::release)).await;
        if releases.iter().any(|release| matches!(release, Ok(Release::Lost))) {
            return Ok(Release::Lost);
        }
        let failed = releases.iter().position(Result::is_err);
        failed.map_or(Ok(Release::Released), |index| releases.swap_remove(index))
    }

    /// [`Lock::hold`] with all the locks: if one of them is lost, `work` is dropped.
    pub async fn hold<T>(&self, work: impl Future<Output = T>) -> Result<T, Error> {
        if self.locks.is_empty() {
            return Ok(work.await);
        }
        self.iter().try_for_each(Lock::check_lease)?;
        let losses = select_all(self.iter().map(|lock| Box::pin(lock.keep())));
        tokio::select! {
            biased;
            done = work => Ok(done),
            (lost, ..) = losses => Err(lost),
        }
    }
}

impl IntoIterator for LockSet {
    type Item = Lock;
    type IntoIter = std::vec::IntoIter<Lock>;

    fn into_iter(self) -> Self::IntoIter {
        self.locks.into_iter()
    }
}

impl<'a> IntoIterator for &'a LockSet {
    type Item = &'a Lock;
    type IntoIter = std::slice::Iter<'a, Lock>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
