//! The whole protocol in one call.

use std::time::SystemTime;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::with_causes;
use crate::{Claim, Claimed, Error, Fingerprint, IdempotencyStore, TimedStore};

/// Does `work` once per `key`, and returns its result to every later caller.
///
/// `payload` is the request that the key identifies, as text or bytes: the same key with another payload is
/// [`IdempotentError::PayloadMismatch`]. To compare no payloads, pass [`Fingerprint::none`]. The result is stored
/// as JSON.
///
/// If the work fails, the claim is released and the next caller may try at once. If the work panics, or this future is dropped during the
/// work, the claim stays until its in-progress expiry.
pub async fn idempotent<T, E, W>(
    store: &TimedStore,
    key: &str,
    payload: impl Into<Fingerprint>,
    work: impl FnOnce() -> W,
) -> Result<Outcome<T>, IdempotentError<E>>
where
    T: Serialize + DeserializeOwned,
    W: Future<Output = Result<T, E>>,
{
    let claim = match store.claim(key, &payload.into()).await? {
        Claimed::New(claim) => claim,
        Claimed::Completed { data } => {
            return read(data.as_deref()).map(Outcome::Completed);
        }
        Claimed::InProgress { until } => return Err(IdempotentError::InProgress { until }),
    };
    match work().await {
        Ok(result) => match record(store, claim, &result).await {
            Ok(()) => Ok(Outcome::New(result)),
            Err(Error::ClaimLost) => Err(IdempotentError::TakenOver),
            Err(error) => Err(IdempotentError::NotRecorded(error)),
        },
        Err(failure) => {
            if let Err(error) = store.release(claim).await {
                tracing::warn!(error = with_causes(&error), "idempotency record not released; it will expire");
            }
            Err(IdempotentError::Work(failure))
        }
    }
}

/// The work's result, and whether this call did the work. It is exhaustive, because there is no other case.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Outcome<T> {
    /// This call did the work.
    New(T),
    /// An earlier call did the work; this is its stored result.
    Completed(T),
}

impl<T> Outcome<T> {
    /// The result, whoever did the work.
    pub fn into_inner(self) -> T {
        match self {
            Self::New(result) | Self::Completed(result) => result,
        }
    }
}

/// Why [`idempotent`] has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdempotentError<E> {
    /// The work itself failed. Its claim is released or, if that fails too, expires.
    #[error("the work failed: it may be tried again")]
    Work(#[source] E),
    /// Another caller is doing the work.
    #[error("another caller is doing the work: try again later")]
    InProgress {
        /// When its claim may be taken over, as far as the record says.
        until: Option<SystemTime>,
    },
    /// The key was used before with another payload. The work was not started.
    #[error("the idempotency key was used before with another payload: use a new key for new work")]
    PayloadMismatch,
    /// The record could not be used, so the work was not started.
    #[error("the work was not started: its idempotency record could not be used")]
    NotStarted(#[source] Error),
    /// The work was done, but took longer than its claim, and another caller took it over.
    #[error("the work was done, but another caller took over meanwhile and may do it too: allow more time for it")]
    TakenOver,
    /// The work was done, but it is unknown whether that is recorded. If it is not, the work is done again after the claim expires.
    /// If only the result cannot be stored, the work is recorded as done without it.
    #[error("the work was done, but it is unknown whether its result is recorded: do not repeat it by hand")]
    NotRecorded(#[source] Error),
    /// The work was done before, but its stored result does not fit this type. No result counts as JSON `null`.
    #[error(
        "the work was done before, but its stored result does not fit the expected type (at column {column}): do not repeat the work; read the result as the type that was stored"
    )]
    ResultUnreadable {
        /// The position in the stored JSON text at which the parser stopped.
        column: usize,
    },
}

impl<E> IdempotentError<E> {
    /// Whether the same call may succeed later without any manual change. For the work's own error, `work` decides.
    pub fn is_retryable(&self, work: impl FnOnce(&E) -> bool) -> bool {
        match self {
            Self::Work(failure) => work(failure),
            Self::InProgress { .. } | Self::TakenOver => true,
            Self::PayloadMismatch | Self::ResultUnreadable { .. } => false,
            Self::NotStarted(error) | Self::NotRecorded(error) => error.is_retryable(),
        }
    }
}

/// An error from before the work was started.
impl<E> From<Error> for IdempotentError<E> {
    fn from(error: Error) -> Self {
        match error {
            Error::PayloadMismatch => Self::PayloadMismatch,
            error => Self::NotStarted(error),
        }
    }
}

async fn record<T: Serialize>(store: &IdempotencyStore, claim: Claim, result: &T) -> Result<(), Error> {
    let recorded = match serde_json::to_string(result) {
        Ok(data) => store.complete(claim.clone(), Some(data)).await,
        Err(error) => Err(Error::NotSerialisable(error)),
    };
    if let Err(Error::NotSerialisable(_) | Error::ResultTooLarge) = recorded {
        // The work is done all the same, and must not be done again only because its result cannot be stored.
        store.complete(claim, None).await?;
    }
    recorded
}

/// A record without a result, as [`IdempotencyStore::complete_all`] leaves, reads as JSON `null`. The parser's own message would quote the
/// result.
fn read<T: DeserializeOwned, E>(data: Option<&str>) -> Result<T, IdempotentError<E>> {
    let read = serde_json::from_str(data.unwrap_or("null"));
    read.map_err(|error| IdempotentError::ResultUnreadable { column: error.column() })
}
