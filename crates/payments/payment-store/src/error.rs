//! What can go wrong between us and the tables.

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{BoxError, BuildError, ProvideErrorMetadata, SdkError};

/// Why something was not read or stored. No message holds what a customer wrote.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// DynamoDB is throttling, and the SDK's own retries did not outlast it.
    #[error("the payments tables are throttled: try again later, or raise their capacity")]
    Throttled(#[source] BoxError),
    /// DynamoDB could not be reached, did not answer in time, or failed. The request may have taken effect.
    #[error("the payments tables did not answer: try again")]
    Unavailable(#[source] BoxError),
    /// Other requests kept changing the same items.
    #[error("other requests kept changing the same items: try again")]
    Contended,
    /// There is no such table in this account and region.
    #[error("a payments table does not exist: check the settings that name the tables, and the region")]
    TableMissing(#[source] BoxError),
    /// DynamoDB refused the request for another reason.
    #[error("DynamoDB refused the request: check the function's permissions and the tables' keys")]
    Rejected(#[source] BoxError),
    /// An item has an attribute that this version would not write.
    #[error(
        "an item's `{attribute}` is missing, or has an unexpected type or value: check what else writes this table"
    )]
    Corrupt {
        /// Which attribute of the item it is.
        attribute: &'static str,
    },
    /// An idempotency record could not be read or written.
    #[error(transparent)]
    Record(#[from] idempotency::Error),
    /// A lock could not be taken or released, or was lost. The transaction that reports a loss wrote nothing; an earlier one may have
    /// requested the charge.
    #[error(transparent)]
    Lock(#[from] dynamodb_locks::Error),
    /// The outbox refuses the event.
    #[error(transparent)]
    Outbox(#[from] outbox::Error),
    /// An event cannot be written as a message.
    #[error("the event cannot be written as a message")]
    Message(#[source] BoxError),
}

impl Error {
    /// Whether the same call may succeed later with nothing changed by hand.
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

    /// A short name of the reason that stays the same over versions, for logs and alarms.
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
        let answer = match &error {
            SdkError::ServiceError(answer) => answer,
            SdkError::ConstructionFailure(_) => return Self::Rejected(error.into()),
            // Timeout, dispatch failure or unreadable answer; the SDK's enum is non-exhaustive.
            _ => return Self::Unavailable(error.into()),
        };
        let failed = answer.raw().status().is_server_error();
        match answer.err().code() {
            Some("ThrottlingException" | "ProvisionedThroughputExceededException" | "RequestLimitExceeded") => {
                Self::Throttled(error.into())
            }
            Some("ResourceNotFoundException") => Self::TableMissing(error.into()),
            // An earlier try of the same transaction is not finished, or another region's write holds the item.
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
