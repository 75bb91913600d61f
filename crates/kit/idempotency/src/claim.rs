//! The right to do the work for a key, and the outcome of a claim.

use std::time::SystemTime;

use crate::Fingerprint;

/// The right to do the work for one key.
///
/// Pass it to [`complete`](crate::IdempotencyStore::complete) when the work is done, or to
/// [`release`](crate::IdempotencyStore::release) when it failed. A claim that is dropped stays in the table until its
/// in-progress expiry, and so refuses others for that long. Both calls may be repeated with a clone, if the first
/// one failed.
#[derive(Debug, Clone)]
#[must_use = "complete or release the claim: a dropped claim refuses others until it expires"]
pub struct Claim {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) fingerprint: Fingerprint,
}

/// The outcome of [`claim`](crate::TimedStore::claim). It is exhaustive: the caller must decide in each case whether to do the work.
#[derive(Debug)]
#[must_use = "only a new claim allows the work to be done"]
pub enum Claimed {
    /// This caller must do the work.
    New(Claim),
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
