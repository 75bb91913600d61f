//! Errors of requests to the table.

use std::error::Error as StdError;

use aws_sdk_dynamodb::config::http::HttpResponse;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};

use crate::facet::{Unreadable, Unwritable};

/// Why an effect was not stored, or an item not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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
        "an attribute of the item, or the key of the table, has an unexpected type: check what else writes to this table"
    )]
    WrongType(#[source] Source),
    #[error(transparent)]
    Corrupt(#[from] Unreadable),
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
    /// DynamoDB reported that the condition failed, but the condition holds for the item that it returned.
    #[error("DynamoDB refused an update although its condition holds for the item that it returned: try again")]
    Inconsistent,
    /// DynamoDB did not answer, or failed. It is unknown whether the request took effect.
    #[error("DynamoDB did not answer: try again")]
    Unavailable(#[source] Source),
    /// DynamoDB refused the request for another reason, such as a missing permission.
    #[error("DynamoDB refused the request: read the reason below, and check the permissions")]
    Refused(#[source] Source),
}

/// The error of the SDK.
pub type Source = Box<dyn StdError + Send + Sync>;

impl Error {
    /// Whether the same request may succeed later without any manual change.
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
            Self::Inconsistent => "inconsistent",
            Self::Unavailable(_) => "unavailable",
            Self::Refused(_) => "refused",
        }
    }

    /// Classifies an error of the SDK for a request to `table`.
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

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::error::ErrorMetadata;
    use aws_sdk_dynamodb::operation::update_item::UpdateItemError;

    use super::*;

    #[test]
    #[allow(clippy::unwrap_used)] // A test that cannot go on should stop there.
    fn what_dynamodb_answers_decides_the_error() {
        let response = |status: u16, code: &str, message: &str| {
            let error = UpdateItemError::generic(ErrorMetadata::builder().code(code).message(message).build());
            SdkError::service_error(error, HttpResponse::new(status.try_into().unwrap(), "".into()))
        };
        let too_large = "Item size to update has exceeded the maximum allowed size";
        let wrong_key = "The provided key element does not match the schema";
        let wrong_operand = "An operand in the update expression has an incorrect data type";
        for (error, code, is_retryable) in [
            (response(400, "ProvisionedThroughputExceededException", ""), "throttled", true),
            (response(400, "ThrottlingException", ""), "throttled", true),
            (response(400, "ResourceNotFoundException", ""), "table_missing", false),
            (response(400, "TransactionConflictException", ""), "unavailable", true),
            (response(400, "ReplicatedWriteConflictException", ""), "unavailable", true),
            (response(400, "ValidationException", too_large), "item_too_large", false),
            (response(400, "ValidationException", wrong_key), "wrong_attribute_type", false),
            (response(400, "ValidationException", wrong_operand), "wrong_attribute_type", false),
            (response(400, "ValidationException", "ExpressionAttributeValues must not be empty"), "refused", false),
            (response(400, "AccessDeniedException", too_large), "refused", false),
            (response(500, "InternalServerError", ""), "unavailable", true),
            (SdkError::timeout_error("a cause"), "unavailable", true),
            (SdkError::construction_failure("a cause"), "refused", false),
        ] {
            let error = Error::from_sdk(error, "orders");
            assert_eq!((error.code(), error.is_retryable()), (code, is_retryable), "{error:?}");
        }
    }

    #[test]
    fn errors_of_the_item_have_codes_too() {
        let corrupt = Unreadable { attribute: "name".to_owned() };
        assert_eq!((Error::from(corrupt.clone()).code(), Error::from(corrupt).is_retryable()), ("corrupt_item", false));
        assert_eq!((Error::Inconsistent.code(), Error::Inconsistent.is_retryable()), ("inconsistent", true));
    }
}
