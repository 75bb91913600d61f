//! The location of an archive.

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// The location of an archive: `s3://bucket/prefix`, `file:///folder`, or the path of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A bucket, or a part of it.
    S3 {
        /// The bucket's name.
        bucket: String,
        /// The prefix of every key: empty, or ends with a slash.
        prefix: String,
    },
    /// A local folder.
    Folder(PathBuf),
}

impl Location {
    /// A bucket, or the part of it under a prefix. Slashes around the prefix are ignored.
    #[must_use]
    pub fn in_bucket(bucket: &str, prefix: &str) -> Self {
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        Self::S3 { bucket: bucket.to_owned(), prefix }
    }
}

impl FromStr for Location {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.strip_prefix("s3://") {
            Some(rest) => {
                let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
                Self::in_bucket(bucket, prefix)
            }
            None => Self::Folder(text.strip_prefix("file://").unwrap_or(text).into()),
        })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::S3 { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
            Self::Folder(path) => write!(f, "{}", path.display()),
        }
    }
}
