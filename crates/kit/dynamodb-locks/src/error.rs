//! Errors.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{BoxError, BuildError, ProvideErrorMetadata, SdkError};

/// Why a lock could not be acquired, renewed, held or released. No message contains a key or a token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// DynamoDB is throttling, and the SDK's retries were throttled too.
    #[error("the lock table is throttled: try again later, or raise its capacity")]
    Throttled(#[source] BoxError),
    /// DynamoDB could not be reached, did not answer in time, or failed. The request may have taken effect: a lock that it
    /// acquired is free again when its lease ends.
    #[error("the lock table did not answer: try again later")]
    Unavailable(#[source] BoxError),
    /// There is no such table in this account and region.
    #[error("the lock table does not exist: create it, or correct its name or region")]
    TableMissing(#[source] BoxError),
    /// DynamoDB refused the request for another reason, such as missing permissions or a key above its limit.
    #[error("the lock table refused the request: check permissions, key schema and key length")]
    Rejected(#[source] BoxError),
    /// The item has a lock attribute that this crate would not write.
    #[error("the lock's `{attribute}` has an unexpected type or value: check what else writes this attribute")]
    Malformed {
        /// The attribute's name in the table.
        attribute: String,
    },
    /// A lock in place was asked for, and its item does not exist. No item was created.
    #[error("the item to lock does not exist: create it first, or correct the lock's key")]
    NoSuchItem,
    /// Other requests for the same items conflicted with every try.
    #[error("other requests for the same items conflicted with every try: try again")]
    Contended(#[source] Option<BoxError>),
    /// More locks at once than a transaction can have.
    #[error("{asked} locks are too many for one transaction: ask for at most {MAX_LOCKS} at once")]
    TooMany {
        /// How many different locks were asked for.
        asked: usize,
    },
    /// The deadline of [`Locks::until`](crate::Locks::until) has passed.
    #[error("the deadline has passed, and there is no time left to use the lock: try again in a new invocation")]
    DeadlinePassed,
    /// DynamoDB reports that this caller no longer holds the lock. Another caller may hold it.
    #[error("the lock was removed, or taken over after its lease had ended: acquire it again, and read the data again")]
    Lost,
    /// The lease ended before a renewal was confirmed. It is unknown whether another caller holds the lock.
    #[error(
        "the lease ended before the lock table confirmed its renewal: acquire the lock again, and read the data again"
    )]
    Unreachable(#[source] BoxError),
}

/// The maximum number of actions in one transaction.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html>
pub(crate) const MAX_LOCKS: usize = 100;

impl Error {
    /// Whether the same work may succeed later without any manual change, starting with a new acquisition.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Throttled(_)
            | Self::Unavailable(_)
            | Self::Contended(_)
            | Self::DeadlinePassed
            | Self::Lost
            | Self::Unreachable(_) => true,
            Self::TableMissing(_)
            | Self::Rejected(_)
            | Self::Malformed { .. }
            | Self::NoSuchItem
            | Self::TooMany { .. } => false,
        }
    }

    /// A short name of the reason, for logs and alarms. Each error has its own, and it stays the same over versions.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Throttled(_) => "lock_throttled",
            Self::Unavailable(_) => "lock_unavailable",
            Self::TableMissing(_) => "lock_table_missing",
            Self::Rejected(_) => "lock_rejected",
            Self::Malformed { .. } => "lock_malformed",
            Self::NoSuchItem => "lock_no_such_item",
            Self::Contended(_) => "lock_contended",
            Self::TooMany { .. } => "lock_too_many",
            Self::DeadlinePassed => "lock_deadline_passed",
            Self::Lost => "lock_lost",
            Self::Unreachable(_) => "lock_unreachable",
        }
    }
}

/// The error and its causes in one line. Not every format of a log prints the causes of an error.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

impl<E> From<SdkError<E, HttpResponse>> for Error
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        let response = match &error {
            SdkError::ServiceError(response) => response,
            SdkError::ConstructionFailure(_) => return Self::Rejected(error.into()),
            // Timeout, dispatch failure or unreadable response; the SDK's enum is non-exhaustive.
            _ => return Self::Unavailable(error.into()),
        };
        let failed = response.raw().status().is_server_error();
        match response.err().code() {
            Some("ThrottlingException" | "ProvisionedThroughputExceededException" | "RequestLimitExceeded") => {
                Self::Throttled(error.into())
            }
            Some("ResourceNotFoundException") => Self::TableMissing(error.into()),
            Some("TransactionConflictException" | "ReplicatedWriteConflictException") => {
                Self::Contended(Some(error.into()))
            }
            // The same transaction, sent again because its response was lost, is still under way.
            Some("TransactionInProgressException") => Self::Unavailable(error.into()),
            _ if failed => Self::Unavailable(error.into()),
            _ => Self::Rejected(error.into()),
        }
    }
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Self {
        Self::Rejected(error.into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use aws_sdk_dynamodb::operation::update_item::UpdateItemError;

    use super::*;

    /// Leads from each error to the next, so that a new one does not compile before it has its place here.
    fn next(error: &Error) -> Option<Error> {
        let cause = || BoxError::from("a cause");
        Some(match error {
            Error::Throttled(_) => Error::Unavailable(cause()),
            Error::Unavailable(_) => Error::TableMissing(cause()),
            Error::TableMissing(_) => Error::Rejected(cause()),
            Error::Rejected(_) => Error::Malformed { attribute: "owner".to_owned() },
            Error::Malformed { .. } => Error::NoSuchItem,
            Error::NoSuchItem => Error::Contended(None),
            Error::Contended(_) => Error::TooMany { asked: 101 },
            Error::TooMany { .. } => Error::DeadlinePassed,
            Error::DeadlinePassed => Error::Lost,
            Error::Lost => Error::Unreachable(cause()),
            Error::Unreachable(_) => return None,
        })
    }

    #[test]
    fn every_error_ends_with_what_to_do() {
        let first = Error::Throttled("a cause".into());
        for error in std::iter::successors(Some(first), next) {
            let message = error.to_string();
            let (_, action) = message.split_once(": ").unwrap_or_default();
            let verb = action.split(' ').next().unwrap_or_default();
            assert!(["acquire", "ask", "check", "create", "try"].contains(&verb), "{message}");
        }
    }

    #[test]
    fn every_error_has_a_code_of_its_own() {
        let first = Error::Throttled("a cause".into());
        let codes: Vec<_> = std::iter::successors(Some(first), next).map(|error| error.code()).collect();
        let distinct: BTreeSet<_> = codes.iter().collect();
        assert_eq!(distinct.len(), codes.len(), "{codes:?}");
    }

    #[test]
    fn the_causes_of_an_error_are_in_one_line() {
        let error = Error::Unreachable(BoxError::from(Error::Rejected("access denied".into())));
        let line = with_causes(&error);
        assert!(line.starts_with(&error.to_string()) && line.ends_with(": access denied"), "{line}");
        assert!(line.contains(&Error::Rejected("".into()).to_string()), "{line}");
    }

    #[test]
    fn a_request_that_cannot_be_built_is_rejected_and_one_that_is_not_answered_is_not() {
        let failed: SdkError<UpdateItemError, HttpResponse> = SdkError::construction_failure("a cause");
        assert!(matches!(failed.into(), Error::Rejected(_)));
        let failed: SdkError<UpdateItemError, HttpResponse> = SdkError::timeout_error("a cause");
        assert!(matches!(failed.into(), Error::Unavailable(_)));
    }
}
