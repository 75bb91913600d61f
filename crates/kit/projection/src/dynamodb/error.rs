//! What can go wrong between us and the table.

use std::error::Error as StdError;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::facet::{Unreadable, Unwritable};

/// Why an effect was not stored, or an item not read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages are the documentation.
pub enum Error {
    /// The item would be larger than DynamoDB's 400 KB
    /// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items>).
    #[error("the item would exceed DynamoDB's 400 KB: nothing more can be added to it")]
    ItemTooLarge(#[source] Source),
    #[error("DynamoDB is throttling: try again later, or raise the table's capacity")]
    Throttled(#[source] Source),
    #[error("there is no table `{table}` in this region: check the setting that names it, and the region")]
    TableMissing { table: String, source: Source },
    #[error(
        "an attribute of the item, or a key of the table, has another type than ours: was the item written by something else?"
    )]
    WrongType(#[source] Source),
    #[error(transparent)]
    Corrupt(#[from] Unreadable),
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
    /// The server said that the condition failed, but what it showed does not make it fail.
    #[error("DynamoDB refused an update whose every piece is news to the item it holds: try again")]
    Inconsistent,
    /// No answer, or a server's fault: whether it took effect is not known.
    #[error("DynamoDB did not answer: try again")]
    Unavailable(#[source] Source),
    /// DynamoDB refused the request for a reason of its own, such as a permission that is missing.
    #[error("DynamoDB refused the request: see its reason, and the function's permissions")]
    Refused(#[source] Source),
}

/// The SDK's error, with all that it knows.
pub type Source = Box<dyn StdError + Send + Sync>;

impl Error {
    /// Whether the same request may succeed later with nothing changed by hand.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Throttled(_) | Self::Inconsistent | Self::Unavailable(_) => true,
            Self::ItemTooLarge(_)
            | Self::TableMissing { .. }
            | Self::WrongType(_)
            | Self::Corrupt(_)
            | Self::Unwritable(_)
            | Self::Refused(_) => false,
        }
    }

    /// A short name of the reason that stays the same over versions, for logs and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ItemTooLarge(_) => "item_too_large",
            Self::Throttled(_) => "throttled",
            Self::TableMissing { .. } => "table_missing",
            Self::WrongType(_) => "wrong_attribute_type",
            Self::Corrupt(_) => "corrupt_item",
            Self::Unwritable(_) => "unwritable",
            Self::Inconsistent => "contradiction",
            Self::Unavailable(_) => "unavailable",
            Self::Refused(_) => "refused",
        }
    }

    /// The SDK's error about `table`, in our terms.
    #[must_use]
    pub fn from_sdk<E>(error: SdkError<E, HttpResponse>, table: &str) -> Self
    where
        E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
    {
        let is_sent = !matches!(error, SdkError::ConstructionFailure(_));
        let failed = is_sent && error.raw_response().is_none_or(|response| response.status().is_server_error());
        let message = error.message().unwrap_or_default();
        let kind = match error.code().unwrap_or_default() {
            "ProvisionedThroughputExceededException" | "ThrottlingException" | "RequestLimitExceeded" => {
                Self::Throttled
            }
            "ResourceNotFoundException" => {
                return Self::TableMissing { table: table.to_owned(), source: Box::new(error) };
            }
            // Another writer's transaction or another region's write holds the item for a moment.
            "TransactionConflictException" | "ReplicatedWriteConflictException" => Self::Unavailable,
            // DynamoDB has one code for these; only the message tells them apart.
            "ValidationException" if message.contains("Item size") => Self::ItemTooLarge,
            "ValidationException" if is_about_types(message) => Self::WrongType,
            _ if failed => Self::Unavailable,
            _ => Self::Refused,
        };
        kind(Box::new(error))
    }
}

fn is_about_types(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["data type", "type mismatch", "operand type", "not match the schema"].iter().any(|words| message.contains(words))
}
