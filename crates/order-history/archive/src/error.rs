//! Errors of the archive.

use std::io;
use std::path::PathBuf;

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{BoxError, ProvideErrorMetadata, SdkError};

/// Why an object was not read or written. No message contains the object's content.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A local file or folder cannot be used.
    #[error("cannot use {}: check that it exists, its permissions, and the space on its disk", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The bucket does not exist.
    #[error("the bucket {bucket} does not exist: create it, or correct its name")]
    BucketMissing {
        /// The bucket's name.
        bucket: String,
        /// The response of S3.
        source: BoxError,
    },
    /// The bucket is in another region than the client.
    #[error("the bucket {bucket} is in {}: set AWS_REGION to that region", region.as_deref().unwrap_or("another region"))]
    WrongRegion {
        /// The bucket's name.
        bucket: String,
        /// The bucket's region, if S3 names it.
        region: Option<String>,
        /// The response of S3.
        source: BoxError,
    },
    /// The credentials do not allow the request.
    #[error(
        "access to {place} is denied: allow s3:ListBucket, s3:GetObject and s3:PutObject, and the use of the bucket's key, or use \
         other credentials"
    )]
    AccessDenied {
        /// The bucket or the object.
        place: String,
        /// The response of S3.
        source: BoxError,
    },
    /// There are no credentials, or they are not valid or expired.
    #[error("no valid AWS credentials: set or renew them (aws configure export-credentials --format env)")]
    Credentials {
        /// The cause.
        source: BoxError,
    },
    /// The object is in a storage class that cannot be read directly.
    #[error("{place} is in an archive storage class: restore it first (aws s3api restore-object)")]
    Frozen {
        /// The object.
        place: String,
        /// The response of S3.
        source: BoxError,
    },
    /// S3 still throttles after the SDK's retries.
    #[error("S3 throttles requests for {place}: retry later, with fewer concurrent requests")]
    Throttled {
        /// The bucket or the object.
        place: String,
        /// The response of S3.
        source: BoxError,
    },
    /// S3 could not be reached, did not answer in time, or failed. The request may have taken effect.
    #[error("no response from S3 for {place}: check the network and the endpoint, and retry")]
    Unavailable {
        /// The bucket or the object.
        place: String,
        /// The cause.
        source: BoxError,
    },
    /// The content is incomplete, or has another checksum.
    #[error("the content of {place} is incomplete or has a wrong checksum, after several attempts: retry later")]
    Incomplete {
        /// The object.
        place: String,
        /// The cause.
        source: BoxError,
    },
    /// S3 refused the request for another reason.
    #[error("S3 refused the request for {place}")]
    Rejected {
        /// The bucket or the object.
        place: String,
        /// The response of S3.
        source: BoxError,
    },
}

impl Error {
    /// Whether the same call may succeed later, without a correction by a person.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Throttled { .. } | Self::Unavailable { .. } | Self::Incomplete { .. } => true,
            Self::File { .. }
            | Self::BucketMissing { .. }
            | Self::WrongRegion { .. }
            | Self::AccessDenied { .. }
            | Self::Credentials { .. }
            | Self::Frozen { .. }
            | Self::Rejected { .. } => false,
        }
    }

    /// A short, stable name of the reason, for logs and alarms. Each error has its own.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "archive_file",
            Self::BucketMissing { .. } => "archive_bucket_missing",
            Self::WrongRegion { .. } => "archive_wrong_region",
            Self::AccessDenied { .. } => "archive_access_denied",
            Self::Credentials { .. } => "archive_credentials",
            Self::Frozen { .. } => "archive_frozen",
            Self::Throttled { .. } => "archive_throttled",
            Self::Unavailable { .. } => "archive_unavailable",
            Self::Incomplete { .. } => "archive_incomplete",
            Self::Rejected { .. } => "archive_rejected",
        }
    }

    /// Maps an SDK error for a bucket and a key (or a prefix).
    pub(crate) fn of_s3<E>(error: SdkError<E, HttpResponse>, bucket: &str, key: &str) -> Self
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        let place = format!("s3://{bucket}/{key}");
        let bucket = bucket.to_owned();
        let response = match &error {
            SdkError::ServiceError(response) => response,
            // Without credentials, the request cannot be signed.
            SdkError::ConstructionFailure(_) => return Self::Rejected { place, source: error.into() },
            SdkError::DispatchFailure(failure) if failure.as_other().is_none() && failure.is_other() => {
                return Self::Credentials { source: error.into() };
            }
            // Timeout, dispatch failure or unreadable response (the SDK's enum is non-exhaustive).
            _ => return Self::Unavailable { place, source: error.into() },
        };
        let status = response.raw().status().as_u16();
        // A redirect names the region in a header, and so does the response to a signature for the wrong region.
        let region = response.raw().headers().get("x-amz-bucket-region").map(ToOwned::to_owned);
        match response.err().code() {
            Some("NoSuchBucket") => Self::BucketMissing { bucket, source: error.into() },
            Some(
                "PermanentRedirect"
                | "AuthorizationHeaderMalformed"
                | "IllegalLocationConstraintException"
                | "TemporaryRedirect",
            ) => Self::WrongRegion { bucket, region, source: error.into() },
            Some("InvalidObjectState") => Self::Frozen { place, source: error.into() },
            Some(
                "InvalidAccessKeyId"
                | "SignatureDoesNotMatch"
                | "ExpiredToken"
                | "InvalidToken"
                | "TokenRefreshRequired"
                | "RequestTimeTooSkewed",
            ) => Self::Credentials { source: error.into() },
            Some("SlowDown" | "ServiceUnavailable" | "RequestLimitExceeded" | "Throttling" | "ThrottlingException") => {
                Self::Throttled { place, source: error.into() }
            }
            Some("RequestTimeout" | "OperationAborted" | "ConditionalRequestConflict") => {
                Self::Unavailable { place, source: error.into() }
            }
            _ => match status {
                301 | 307 => Self::WrongRegion { bucket, region, source: error.into() },
                403 => Self::AccessDenied { place, source: error.into() },
                429 => Self::Throttled { place, source: error.into() },
                500.. => Self::Unavailable { place, source: error.into() },
                _ => Self::Rejected { place, source: error.into() },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns the next error, so that the match must contain every new variant.
    fn next(error: &Error) -> Option<Error> {
        let (place, bucket, source) = (String::new(), String::new(), BoxError::from("a cause"));
        Some(match error {
            Error::File { .. } => Error::BucketMissing { bucket, source },
            Error::BucketMissing { .. } => Error::WrongRegion { bucket, region: None, source },
            Error::WrongRegion { .. } => Error::AccessDenied { place, source },
            Error::AccessDenied { .. } => Error::Credentials { source },
            Error::Credentials { .. } => Error::Frozen { place, source },
            Error::Frozen { .. } => Error::Throttled { place, source },
            Error::Throttled { .. } => Error::Unavailable { place, source },
            Error::Unavailable { .. } => Error::Incomplete { place, source },
            Error::Incomplete { .. } => Error::Rejected { place, source },
            Error::Rejected { .. } => return None,
        })
    }

    #[test]
    fn every_error_has_a_code_of_its_own() {
        let first = Error::File { path: PathBuf::new(), source: io::Error::other("a cause") };
        let codes: Vec<_> = std::iter::successors(Some(first), next).map(|error| error.code()).collect();
        let distinct: BTreeSet<_> = codes.iter().collect();
        assert_eq!((codes.len(), distinct.len()), (10, 10), "{codes:?}");
    }
}
