//! Errors of the payments tables.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{BoxError, BuildError, ProvideErrorMetadata, SdkError};

/// Why a read or a write failed. No message contains customer data.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// DynamoDB still throttles after the SDK's retries.
    #[error("the payments tables are throttled: retry later, or raise their capacity")]
    Throttled(#[source] BoxError),
    /// DynamoDB could not be reached, did not answer in time, or failed. The request may have taken effect.
    #[error("the payments tables did not answer: retry")]
    Unavailable(#[source] BoxError),
    /// Other requests changed the same items at every attempt.
    #[error("other requests are changing the same items: retry")]
    Contended,
    /// The table does not exist in this account and region.
    #[error("a payments table does not exist: check the settings that name the tables, and the region")]
    TableMissing(#[source] BoxError),
    /// DynamoDB refused the request for another reason.
    #[error("DynamoDB refused the request: check the function's permissions and the tables' keys")]
    Rejected(#[source] BoxError),
    /// An attribute has a value that this version never writes.
    #[error(
        "attribute `{attribute}` of an item is missing, or has an unexpected type or value: check what else writes this table"
    )]
    Corrupt {
        /// The name of the attribute.
        attribute: &'static str,
    },
    /// An idempotency record could not be read or written.
    #[error(transparent)]
    Record(#[from] idempotency::Error),
    /// A lock could not be taken or released, or was lost. The transaction that reports the loss wrote nothing, but an earlier one may
    /// have requested the charge.
    #[error(transparent)]
    Lock(#[from] dynamodb_locks::Error),
    /// The outbox refused the event.
    #[error(transparent)]
    Outbox(#[from] outbox::Error),
    /// An event cannot be written as a message.
    #[error("the event cannot be written as a message")]
    Message(#[source] BoxError),
}

impl Error {
    /// Whether the same call may succeed later, without a correction by a person.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Throttled(_) | Self::Unavailable(_) | Self::Contended => true,
            Self::Record(error) => error.is_retryable(),
            Self::Lock(error) => error.is_retryable(),
            Self::Outbox(error) => error.is_retryable(),
            Self::TableMissing(_) | Self::Rejected(_) | Self::Corrupt { .. } | Self::Message(_) => false,
        }
    }

    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Contended)
    }

    /// A short, stable name of the reason, for logs and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Throttled(_) => "store_throttled",
            Self::Unavailable(_) => "store_unavailable",
            Self::Contended => "store_contended",
            Self::TableMissing(_) => "store_table_missing",
            Self::Rejected(_) => "store_rejected",
            Self::Corrupt { .. } => "store_corrupt_item",
            Self::Record(error) => error.code(),
            Self::Lock(error) => error.code(),
            Self::Outbox(error) => error.code(),
            Self::Message(_) => "event_unwritable",
        }
    }
}

impl<E> From<SdkError<E, HttpResponse>> for Error
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        let response = match &error {
            SdkError::ServiceError(response) => response,
            SdkError::ConstructionFailure(_) => return Self::Rejected(error.into()),
            // Timeout, dispatch failure or unreadable response (the SDK's enum is non-exhaustive).
            _ => return Self::Unavailable(error.into()),
        };
        let failed = response.raw().status().is_server_error();
        match response.err().code() {
            Some("ThrottlingException" | "ProvisionedThroughputExceededException" | "RequestLimitExceeded") => {
                Self::Throttled(error.into())
            }
            Some("ResourceNotFoundException") => Self::TableMissing(error.into()),
            // An earlier attempt of the same transaction is not finished, or another region is writing the item.
            Some("TransactionInProgressException" | "ReplicatedWriteConflictException") => {
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
