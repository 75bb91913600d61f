//! What a metrics hook gets to see.

/// How one call of [`claim`](crate::IdempotencyStore::claim) was answered, for counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Observation {
    /// There was no record: the claim is new.
    New,
    /// The work had been done before.
    Replayed,
    /// Another caller holds the claim.
    InProgress,
    /// The claim replaced a record that had expired. Many of these point at invocations that crash or time out.
    Expired,
}
