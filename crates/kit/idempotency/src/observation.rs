//! What the observer of a store is called with.

/// The outcome of one call of [`claim`](crate::TimedStore::claim), for metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Observation {
    /// The claim is new.
    New {
        /// Whether it took over a claim that expired before its work was completed. Many of these point at invocations that crash or
        /// time out.
        taken_over: bool,
    },
    /// The work had been done before.
    Completed,
    /// Another caller is doing the work.
    InProgress,
}
