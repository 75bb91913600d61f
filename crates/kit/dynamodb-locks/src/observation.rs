//! Observations, for metrics.

use std::time::Duration;

/// One thing that happened to a lock, for counting and timing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Observation {
    /// A lock was taken; a set of locks counts each.
    Acquired {
        /// From the call to the grant.
        waited: Duration,
        /// Whether an earlier holder had not released it. Many of these point at holders that crash or are too slow.
        taken_over: bool,
    },
    /// The lock was held by another until the caller gave up waiting.
    Refused {
        /// From the call to the refusal.
        waited: Duration,
    },
    /// A heartbeat renewed the lease.
    Renewed,
    /// A heartbeat failed or was not answered in time. The lease still runs, and another heartbeat follows.
    HeartbeatFailed,
    /// The lock was lost while it was held: another caller has it ([`Error::Lost`](crate::Error::Lost)), or the lease ended without a renewal
    /// ([`Error::Unreachable`](crate::Error::Unreachable)).
    Lost,
    /// The holder released the lock. A release in the caller's own transaction is not seen here.
    Released,
}
