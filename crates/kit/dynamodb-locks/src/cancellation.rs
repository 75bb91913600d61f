//! Why a transaction was cancelled, item by item.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{AttributeValue, CancellationReason};

/// The reasons of a cancelled `TransactWriteItems`, in the order of its items.
///
/// ```
/// use aws_sdk_dynamodb::types::CancellationReason;
/// use dynamodb_locks::{Cancellation, Cause};
///
/// let reasons = ["None", "ConditionalCheckFailed"].map(|code| CancellationReason::builder().code(code).build());
/// let cancelled = Cancellation::from_reasons(&reasons);
/// assert_eq!(cancelled.cause(0), None);
/// assert_eq!(cancelled.cause(1), Some(Cause::ConditionFailed { item: None }));
/// assert_eq!(cancelled.first_refused(["no such order", "the order has changed"]), Some("the order has changed"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Cancellation {
    reasons: Vec<CancellationReason>,
}

/// Why an item of a transaction was not written.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Cause<'a> {
    /// Its condition does not hold.
    ConditionFailed {
        /// The item as it is, where the request asked for it with `ReturnValuesOnConditionCheckFailure`.
        item: Option<&'a HashMap<String, AttributeValue>>,
    },
    /// Another request was writing the item at that moment (`TransactionConflict`). The same transaction may succeed
    /// a little later.
    Conflict,
    /// The table or the partition has no capacity left.
    Throttled,
    /// Any other reason, by its code.
    Other(&'a str),
}

impl Cancellation {
    /// The reasons, if `error` is a cancelled transaction.
    #[must_use]
    pub fn of<R>(error: &SdkError<TransactWriteItemsError, R>) -> Option<Self> {
        match error.as_service_error()? {
            TransactWriteItemsError::TransactionCanceledException(cancelled) => {
                Some(Self::from_reasons(cancelled.cancellation_reasons()))
            }
            _ => None,
        }
    }

    /// The cancellation with these reasons.
    #[must_use]
    pub fn from_reasons(reasons: &[CancellationReason]) -> Self {
        Self { reasons: reasons.to_vec() }
    }

    /// Why the item of this index, counted from 0, was not written. `None`: nothing was wrong with it.
    #[must_use]
    pub fn cause(&self, index: usize) -> Option<Cause<'_>> {
        self.reason(index).and_then(cause)
    }

    /// The reason for the item of this index, as DynamoDB returned it.
    #[must_use]
    pub fn reason(&self, index: usize) -> Option<&CancellationReason> {
        self.reasons.get(index)
    }

    /// Whether the condition of the item of this index failed.
    #[must_use]
    pub fn is_refused(&self, index: usize) -> bool {
        matches!(self.cause(index), Some(Cause::ConditionFailed { .. }))
    }

    /// The items that were not written and why, in the order of the transaction.
    pub fn causes(&self) -> impl Iterator<Item = (usize, Cause<'_>)> {
        self.reasons.iter().enumerate().filter_map(|(index, reason)| Some((index, cause(reason)?)))
    }

    /// Returns the error of the first item whose condition failed. `errors` has one error for each item, in the order of the
    /// transaction.
    pub fn first_refused<E>(&self, errors: impl IntoIterator<Item = E>) -> Option<E> {
        let (index, _) = self.causes().find(|(_, cause)| matches!(cause, Cause::ConditionFailed { .. }))?;
        errors.into_iter().nth(index)
    }

    /// Whether a `TransactionConflict` is the only cause, so that the same transaction may be sent again.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        let mut causes = self.causes().peekable();
        causes.peek().is_some() && causes.all(|(_, cause)| cause == Cause::Conflict)
    }
}

fn cause(reason: &CancellationReason) -> Option<Cause<'_>> {
    match reason.code() {
        None | Some("None") => None,
        Some("ConditionalCheckFailed") => Some(Cause::ConditionFailed { item: reason.item() }),
        Some("TransactionConflict") => Some(Cause::Conflict),
        Some("ThrottlingError" | "ProvisionedThroughputExceeded") => Some(Cause::Throttled),
        Some(other) => Some(Cause::Other(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cancelled<const N: usize>(codes: [&str; N]) -> Cancellation {
        Cancellation::from_reasons(&codes.map(|code| CancellationReason::builder().code(code).build()))
    }

    #[test]
    fn a_conflict_is_one_only_if_no_condition_failed() {
        assert!(cancelled(["None", "TransactionConflict"]).is_conflict());
        assert!(!cancelled(["ConditionalCheckFailed", "TransactionConflict"]).is_conflict());
        assert!(!cancelled(["None", "ThrottlingError"]).is_conflict());
        assert!(!cancelled(["None"]).is_conflict());
    }

    #[test]
    fn the_first_refused_items_own_error_is_the_one_raised() {
        let cancelled = cancelled(["None", "TransactionConflict", "ConditionalCheckFailed", "ConditionalCheckFailed"]);
        assert_eq!(cancelled.first_refused(["a", "b", "c", "d"]), Some("c"));
        assert_eq!(cancelled.first_refused(["a"]), None);
        assert!(cancelled.is_refused(3) && !cancelled.is_refused(1) && !cancelled.is_refused(4));
    }

    #[test]
    fn every_code_has_its_cause() {
        let cancelled = cancelled(["None", "ThrottlingError", "ProvisionedThroughputExceeded", "ValidationError"]);
        let causes: Vec<_> = cancelled.causes().collect();
        let other = Cause::Other("ValidationError");
        assert_eq!(causes, [(1, Cause::Throttled), (2, Cause::Throttled), (3, other)]);
        assert_eq!(cancelled.reason(3).and_then(CancellationReason::code), Some("ValidationError"));
    }
}
