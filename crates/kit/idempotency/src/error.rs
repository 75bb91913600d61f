//! What can go wrong with a record.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{BoxError, BuildError, ProvideErrorMetadata, SdkError};

/// Why a record could not be read or written. No message contains a key, a payload or a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// DynamoDB is throttling, and the SDK's retries were throttled too.
    #[error("the idempotency table is throttled: try again later, or raise its capacity")]
    Throttled(#[source] BoxError),
    /// DynamoDB could not be reached, did not answer in time, or failed. The request may have taken effect.
    #[error("the idempotency table did not answer: try again later")]
    Unavailable(#[source] BoxError),
    /// There is no such table in this account and region.
    #[error("the idempotency table does not exist: create it, or correct its name or region")]
    TableMissing(#[source] BoxError),
    /// DynamoDB refused the request for another reason, such as missing permissions or a key above its limit.
    #[error(
        "the idempotency table refused the request: check permissions, key schema and key length (1 to 2,048 bytes with the prefix, or 1,024 in a sort key)"
    )]
    Rejected(#[source] BoxError),
    /// The key is empty. All work without a key would be the same work.
    #[error("the idempotency key is empty: take the key from a value that is never empty")]
    EmptyKey,
    /// A record has an attribute that this crate would not write.
    #[error(
        "the idempotency record's `{attribute}` has an unexpected type or value: check what else writes this table"
    )]
    Malformed {
        /// The attribute's name in the table.
        attribute: String,
    },
    /// The key was used before with another payload.
    #[error("the idempotency key was used before with another payload: use a new key for new work")]
    PayloadMismatch,
    /// Another caller took the claim over after it had expired.
    #[error("the claim expired and another caller took it over: claim again to see the outcome, and allow more time")]
    ClaimLost,
    /// Other callers created and released the record several times while this call tried to claim it.
    #[error("the idempotency record kept changing while it was claimed: try again")]
    Contended,
    /// DynamoDB did not write some records of a batch, even after several tries.
    #[error("{remaining} records could not be marked as completed: complete the claims again")]
    Unprocessed {
        /// How many claims of this call are not marked as completed.
        remaining: usize,
    },
    /// The time limit was reached before DynamoDB answered, or before anything was sent. If it occurs at once, the deadline is that of an
    /// earlier invocation, or of an emulator that sets a wrong one: `cargo lambda watch` sets it to 1970.
    #[error(
        "the time limit was reached: allow the function more time or smaller batches, and take the deadline from the current invocation"
    )]
    OutOfTime,
    /// The work's result, or the value for a fingerprint, has no JSON form.
    #[error("the value has no JSON form: change its type")]
    NotSerialisable(#[source] serde_json::Error),
    /// The work's result does not fit the record, for which DynamoDB has
    /// [400 KB](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items).
    #[error("the result is too large for an idempotency record (400 KB): store it elsewhere and return where it is")]
    ResultTooLarge,
}

impl Error {
    /// Whether the same call may succeed later without any manual change.
    ///
    /// This includes a lost claim: a caller that claims again gets the other caller's outcome.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Throttled(_)
            | Self::Unavailable(_)
            | Self::ClaimLost
            | Self::Contended
            | Self::Unprocessed { .. }
            | Self::OutOfTime => true,
            Self::TableMissing(_)
            | Self::Rejected(_)
            | Self::EmptyKey
            | Self::Malformed { .. }
            | Self::PayloadMismatch
            | Self::NotSerialisable(_)
            | Self::ResultTooLarge => false,
        }
    }

    /// A short name of the reason, for logs and alarms. Each error has its own, and it stays the same over versions.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Throttled(_) => "record_throttled",
            Self::Unavailable(_) => "record_unavailable",
            Self::TableMissing(_) => "record_table_missing",
            Self::Rejected(_) => "record_rejected",
            Self::EmptyKey => "record_key_empty",
            Self::Malformed { .. } => "record_malformed",
            Self::PayloadMismatch => "payload_mismatch",
            Self::ClaimLost => "claim_lost",
            Self::Contended => "record_contended",
            Self::Unprocessed { .. } => "records_unprocessed",
            Self::OutOfTime => "out_of_time",
            Self::NotSerialisable(_) => "result_not_serialisable",
            Self::ResultTooLarge => "result_too_large",
        }
    }
}

/// The longest error in a log line, in bytes: the errors of the work are not ours, and logs are paid by the byte.
const MAX_LOGGED: usize = 1_024;

/// The error and its causes in one line. Not every format of a log prints the causes of an error.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut line = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    line.truncate(line.floor_char_boundary(MAX_LOGGED));
    line
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
            // Another writer's transaction or another region's write holds the item for a moment.
            Some("TransactionConflictException" | "ReplicatedWriteConflictException") => {
                Self::Unavailable(error.into())
            }
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

    use aws_sdk_dynamodb::error::ErrorMetadata;
    use aws_sdk_dynamodb::operation::put_item::PutItemError;

    use super::*;

    /// Leads from each error to the next, so that a new one does not compile before it has its place here.
    fn next(error: &Error) -> Option<Error> {
        let cause = || BoxError::from("a cause");
        Some(match error {
            Error::Throttled(_) => Error::Unavailable(cause()),
            Error::Unavailable(_) => Error::TableMissing(cause()),
            Error::TableMissing(_) => Error::Rejected(cause()),
            Error::Rejected(_) => Error::EmptyKey,
            Error::EmptyKey => Error::Malformed { attribute: "status".to_owned() },
            Error::Malformed { .. } => Error::PayloadMismatch,
            Error::PayloadMismatch => Error::ClaimLost,
            Error::ClaimLost => Error::Contended,
            Error::Contended => Error::Unprocessed { remaining: 1 },
            Error::Unprocessed { .. } => Error::OutOfTime,
            Error::OutOfTime => Error::NotSerialisable(serde::ser::Error::custom("a cause")),
            Error::NotSerialisable(_) => Error::ResultTooLarge,
            Error::ResultTooLarge => return None,
        })
    }

    #[test]
    fn the_causes_of_an_error_are_in_one_line_of_at_most_1_024_bytes() {
        let error = Error::Throttled(BoxError::from(Error::Rejected("access denied".into())));
        let line = with_causes(&error);
        assert!(line.starts_with("the idempotency table is throttled") && line.ends_with(": access denied"), "{line}");
        assert_eq!(with_causes(&Error::Rejected("é".repeat(1_000).into())).len() / 2, 512);
    }

    #[test]
    #[allow(clippy::expect_used)] // A test that cannot go on should stop there.
    fn what_dynamodb_answers_decides_the_error() {
        let response = |status: u16, code: &str| {
            let error = PutItemError::generic(ErrorMetadata::builder().code(code).build());
            SdkError::service_error(error, HttpResponse::new(status.try_into().expect("a status"), "".into()))
        };
        for (error, code) in [
            (response(400, "ThrottlingException"), "record_throttled"),
            (response(400, "ResourceNotFoundException"), "record_table_missing"),
            (response(400, "TransactionConflictException"), "record_unavailable"),
            (response(400, "AccessDeniedException"), "record_rejected"),
            (response(500, "InternalServerError"), "record_unavailable"),
            (SdkError::timeout_error("a cause"), "record_unavailable"),
            (SdkError::construction_failure("a cause"), "record_rejected"),
        ] {
            assert_eq!(Error::from(error).code(), code);
        }
    }

    #[test]
    fn every_error_has_a_code_of_its_own() {
        let first = Error::Throttled("a cause".into());
        let codes: Vec<_> = std::iter::successors(Some(first), next).map(|error| error.code()).collect();
        let distinct: BTreeSet<_> = codes.iter().collect();
        assert_eq!(distinct.len(), codes.len(), "{codes:?}");
    }
}
