//! What became of an event.

use order_store::Applied;

use crate::Failure;

/// What became of an event.
pub(crate) enum Outcome {
    /// Its effect is stored, by this invocation or by an earlier one.
    Stored(Applied),
    /// Another invocation is processing it.
    InProgress,
    /// It was not projected.
    Failed(Failure),
}
