//! Pauses between retries.

use std::time::Duration;

use uuid::Uuid;

/// The pause before a retry; the first retry has number 1. The length is `first`, and doubles with each retry. The pause is a random part of
/// it, between half and all, so that batches that failed together are not retried together.
pub(crate) fn pause_before(retry: u32, first: Duration) -> Duration {
    let whole = first * 2_u32.pow(retry - 1);
    let (random, _) = Uuid::new_v4().as_u64_pair();
    whole.mul_f64(f64::from(u32::try_from(random >> 32).unwrap_or(u32::MAX)) / f64::from(u32::MAX) / 2.0 + 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_doubles_and_is_never_less_than_half() {
        let first = Duration::from_millis(25);
        for (retry, whole) in [(1, first), (2, first * 2), (3, first * 4), (4, first * 8)] {
            for _ in 0..100 {
                let pause = pause_before(retry, first);
                assert!(pause >= whole / 2 && pause <= whole, "{retry}: {pause:?}");
            }
        }
    }

    #[test]
    fn pauses_differ() {
        let pauses: Vec<_> = (0..10).map(|_| pause_before(1, Duration::from_millis(25))).collect();
        assert!(pauses.iter().any(|pause| *pause != pauses[0]), "{pauses:?}");
    }
}
