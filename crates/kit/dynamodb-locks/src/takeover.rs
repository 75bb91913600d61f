//! When a lock that was not released may be taken over.

use std::time::Duration;

/// When a lock whose holder did not release it may be taken over. This decides only *when*: a holder that was taken over too
/// early loses its lock, but none of its guarded writes is ever accepted after the takeover.
///
/// Every holder writes what all the rules need, so callers with different rules can share a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Takeover {
    /// When the lease has ended by this caller's clock, and `max_skew` more has passed; or by observation, if that is sooner.
    /// While the clocks of all callers agree to within `max_skew`, no live holder is taken over.
    ByClock {
        /// How far two callers' clocks may be apart.
        max_skew: Duration,
    },
    /// When this caller has seen no sign of life for the whole length of the holder's lease, counted from after it first saw
    /// the lock in its present state. No clocks are compared. The caller has to wait, or to pass what it saw before
    /// ([`LockRequest::having_seen`](crate::LockRequest::having_seen)).
    ByObservation,
    /// Never. A lock that is not released stays until somebody removes it by hand.
    Never,
}
