//! Errors.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{BoxError, BuildError, ProvideErrorMetadata, SdkError};

/// Why an event could not be written, read or published. No message contains the content of an event.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// DynamoDB is throttling, and the SDK's retries were throttled too.
    #[error("the outbox table is throttled: try again later, or raise its capacity")]
    Throttled(#[source] BoxError),
    /// DynamoDB could not be reached, did not answer in time, or failed. The request may have taken effect.
    #[error("the outbox table did not answer: try again later")]
    Unavailable(#[source] BoxError),
    /// There is no such table in this account and region.
    #[error("the outbox table does not exist: create it, or correct its name or region")]
    TableMissing(#[source] BoxError),
    /// DynamoDB refused the request for another reason, such as missing permissions.
    #[error("the outbox table refused the request: check permissions and key schema")]
    Rejected(#[source] BoxError),
    /// DynamoDB did not delete some rows of a batch, even after several tries.
    #[error("{remaining} published rows could not be deleted: the sweeper will publish them again")]
    Undeleted {
        /// How many rows are left.
        remaining: usize,
    },
    /// An event id does not have the form `%016x-%016x`, or the clock is beyond the largest id.
    #[error("the last event id does not have the form %016x-%016x: check what else writes it")]
    MalformedEventId,
    /// A record does not have the format of DynamoDB Streams.
    #[error("the stream record is malformed: check that the function's event source is a DynamoDB stream")]
    MalformedRecord,
    /// A record of a new row does not contain the row.
    #[error("the stream record has no image of the new row: the stream's view type must be NEW_IMAGE")]
    ImageMissing,
    /// An attribute of a row is missing, empty, or has another type.
    #[error("the row's `{attribute}` is missing, empty or of an unexpected type: check what else writes this table")]
    MalformedRow {
        /// The attribute's name in the table.
        attribute: &'static str,
    },
    /// A message and its attribute are larger than the limit of SNS,
    /// [256 KiB](https://docs.aws.amazon.com/sns/latest/dg/large-message-payloads.html).
    #[error(
        "the message is too large to be published (limit 256 KiB): store its content elsewhere, and publish a reference to it"
    )]
    MessageTooLarge,
    /// The topic refuses this message, and would refuse it again.
    #[error("the topic refuses the message: correct or delete the row")]
    MessageRefused(#[source] BoxError),
    /// The topic could not be reached, did not answer in time, failed, or is throttling. The message may have been published.
    #[error("the topic did not accept the message: try again later")]
    TopicUnavailable(#[source] BoxError),
    /// The topic accepts no messages from this caller, for example because a permission is missing.
    #[error("the topic refused the request: check its ARN, its region, its key and the permissions")]
    TopicRejected(#[source] BoxError),
}

impl Error {
    /// Whether the same call may succeed later without any manual change.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Throttled(_) | Self::Unavailable(_) | Self::Undeleted { .. } | Self::TopicUnavailable(_) => true,
            Self::TableMissing(_)
            | Self::Rejected(_)
            | Self::MalformedEventId
            | Self::MalformedRecord
            | Self::ImageMissing
            | Self::MalformedRow { .. }
            | Self::MessageTooLarge
            | Self::MessageRefused(_)
            | Self::TopicRejected(_) => false,
        }
    }

    /// Whether only this row or record can never be published, while others can: a poison row.
    #[must_use]
    pub fn is_poison(&self) -> bool {
        match self {
            Self::MalformedRecord
            | Self::ImageMissing
            | Self::MalformedRow { .. }
            | Self::MessageTooLarge
            | Self::MessageRefused(_) => true,
            Self::Throttled(_)
            | Self::Unavailable(_)
            | Self::TableMissing(_)
            | Self::Rejected(_)
            | Self::Undeleted { .. }
            | Self::MalformedEventId
            | Self::TopicUnavailable(_)
            | Self::TopicRejected(_) => false,
        }
    }

    /// A short name of the reason, for logs and alarms. Each error has its own, and it stays the same over versions.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Throttled(_) => "outbox_throttled",
            Self::Unavailable(_) => "outbox_unavailable",
            Self::TableMissing(_) => "outbox_table_missing",
            Self::Rejected(_) => "outbox_rejected",
            Self::Undeleted { .. } => "rows_undeleted",
            Self::MalformedEventId => "event_id_malformed",
            Self::MalformedRecord => "stream_record_malformed",
            Self::ImageMissing => "image_missing",
            Self::MalformedRow { .. } => "row_malformed",
            Self::MessageTooLarge => "message_too_large",
            Self::MessageRefused(_) => "message_refused",
            Self::TopicUnavailable(_) => "topic_unavailable",
            Self::TopicRejected(_) => "topic_rejected",
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
    use aws_sdk_dynamodb::operation::scan::ScanError;

    use super::*;

    /// Leads from each error to the next, so that a new one does not compile before it has its place here.
    fn next(error: &Error) -> Option<Error> {
        let cause = || BoxError::from("a cause");
        Some(match error {
            Error::Throttled(_) => Error::Unavailable(cause()),
            Error::Unavailable(_) => Error::TableMissing(cause()),
            Error::TableMissing(_) => Error::Rejected(cause()),
            Error::Rejected(_) => Error::Undeleted { remaining: 1 },
            Error::Undeleted { .. } => Error::MalformedEventId,
            Error::MalformedEventId => Error::MalformedRecord,
            Error::MalformedRecord => Error::ImageMissing,
            Error::ImageMissing => Error::MalformedRow { attribute: "message" },
            Error::MalformedRow { .. } => Error::MessageTooLarge,
            Error::MessageTooLarge => Error::MessageRefused(cause()),
            Error::MessageRefused(_) => Error::TopicUnavailable(cause()),
            Error::TopicUnavailable(_) => Error::TopicRejected(cause()),
            Error::TopicRejected(_) => return None,
        })
    }

    fn all() -> impl Iterator<Item = Error> {
        std::iter::successors(Some(Error::Throttled("a cause".into())), next)
    }

    #[test]
    fn every_error_has_a_code_of_its_own() {
        let codes: Vec<_> = all().map(|error| error.code()).collect();
        let distinct: BTreeSet<_> = codes.iter().collect();
        assert_eq!(distinct.len(), codes.len(), "{codes:?}");
    }

    #[test]
    fn an_error_is_poison_or_worth_a_retry_or_a_fault_of_the_set_up() {
        let codes = |is: fn(&Error) -> bool| all().filter(is).map(|error| error.code()).collect::<Vec<_>>();
        let retryable = ["outbox_throttled", "outbox_unavailable", "rows_undeleted", "topic_unavailable"];
        assert_eq!(codes(Error::is_retryable), retryable);
        let poison =
            ["stream_record_malformed", "image_missing", "row_malformed", "message_too_large", "message_refused"];
        assert_eq!(codes(Error::is_poison), poison);
    }

    #[test]
    #[allow(clippy::expect_used)] // A test that cannot go on should stop there.
    fn what_dynamodb_answers_decides_the_error() {
        let response = |status: u16, code: &str| {
            let error = ScanError::generic(ErrorMetadata::builder().code(code).build());
            SdkError::service_error(error, HttpResponse::new(status.try_into().expect("a status"), "".into()))
        };
        for (error, code) in [
            (response(400, "ThrottlingException"), "outbox_throttled"),
            (response(400, "ProvisionedThroughputExceededException"), "outbox_throttled"),
            (response(400, "RequestLimitExceeded"), "outbox_throttled"),
            (response(400, "ResourceNotFoundException"), "outbox_table_missing"),
            (response(400, "AccessDeniedException"), "outbox_rejected"),
            (response(500, "InternalServerError"), "outbox_unavailable"),
            (response(503, "ServiceUnavailable"), "outbox_unavailable"),
            (SdkError::timeout_error("a cause"), "outbox_unavailable"),
            (SdkError::construction_failure("a cause"), "outbox_rejected"),
        ] {
            assert_eq!(Error::from(error).code(), code);
        }
    }
}
