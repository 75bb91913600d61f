//! Retries with random pauses, for optimistic locking.

use std::time::Duration;

use uuid::Uuid;

/// How often to try, and how long to pause in between. It is exhaustive, because you construct it. A pause is random between half and all of its length, and its
/// length doubles from try to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often to try in all, at least once.
    pub attempts: u32,
    /// The length of the first pause.
    pub first_pause: Duration,
    /// The length that no pause exceeds.
    pub max_pause: Duration,
}

impl Default for RetryPolicy {
    /// Five tries, with pauses from 20 milliseconds to 1 second.
    fn default() -> Self {
        Self { attempts: 5, first_pause: Duration::from_millis(20), max_pause: Duration::from_secs(1) }
    }
}

impl RetryPolicy {
    /// The pause after this many tries, with its jitter.
    #[must_use]
    pub fn pause_after(&self, tries: u32) -> Duration {
        let doubled = 2_u32.saturating_pow(tries.saturating_sub(1));
        jittered(self.first_pause.saturating_mul(doubled).min(self.max_pause))
    }
}

/// A random duration between half of `length` and all of it, so that callers who were refused together do not retry together.
pub(crate) fn jittered(length: Duration) -> Duration {
    let (random, _) = Uuid::new_v4().as_u64_pair();
    // A version 4 UUID's upper half has 4 fixed bits, below the 48 that are used here.
    let share = f64::from(u32::try_from(random >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX);
    length.mul_f64(0.5 + share / 2.0)
}

/// Runs `attempt` until it succeeds, fails with an error that `is_conflict` does not call a conflict, or has been tried
/// as often as `policy` says. The last error is returned.
///
/// `attempt` must read, decide and write. It must read again each time: a conflict means that the data of the last read
/// is out of date.
///
/// A condition that failed may be the caller's own success: if the response to an `UpdateItem` or a `PutItem` is lost, the SDK
/// sends the request again, and the second copy is refused because the first one has moved the version on. A retry would then
/// make the change twice. Send the write as a `TransactWriteItems`, with which the SDK sends a request token, or store a
/// request id with the version and compare it after a refusal.
///
/// ```
/// use dynamodb_locks::{RetryPolicy, retry_on_conflict};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let mut others = vec!["another writer was faster"];
/// let written = retry_on_conflict(RetryPolicy::default(), |error| *error == "conflict", || {
///     let overtaken = others.pop().is_some();
///     async move { if overtaken { Err("conflict") } else { Ok("written") } }
/// });
/// assert_eq!(written.await, Ok("written"));
/// # }
/// ```
pub async fn retry_on_conflict<T, E, A>(
    policy: RetryPolicy,
    is_conflict: impl Fn(&E) -> bool,
    mut attempt: impl FnMut() -> A,
) -> Result<T, E>
where
    // Not `AsyncFnMut`: futures of async closures often cannot be shown to be `Send`.
    A: Future<Output = Result<T, E>>,
{
    let mut tries = 0;
    loop {
        tries += 1;
        match attempt().await {
            Err(error) if is_conflict(&error) && tries < policy.attempts => {
                tokio::time::sleep(policy.pause_after(tries)).await;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_up_to_its_limit_and_is_never_less_than_half() {
        let policy = RetryPolicy::default();
        for (tries, length) in [(1, 20), (2, 40), (3, 80), (10, 1000), (u32::MAX, 1000)] {
            let length = Duration::from_millis(length);
            for _ in 0..100 {
                let pause = policy.pause_after(tries);
                assert!(pause >= length / 2 && pause <= length, "{tries}: {pause:?}");
            }
        }
    }

    #[test]
    fn pauses_differ() {
        let pauses: Vec<_> = (0..10).map(|_| RetryPolicy::default().pause_after(1)).collect();
        assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
    }
}
