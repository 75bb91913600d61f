//! The archiver's configuration: from the environment only.

use lambda_boot::{Environment, Missing};

use crate::Location;

/// What the archiver needs to know. Region, credentials and endpoint are the SDK's to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Where the archive is.
    pub location: Location,
    /// The CloudWatch namespace of the metrics.
    pub metrics_namespace: String,
}

/// As `order-store` has it; this crate knows nothing of the view.
const METRICS_NAMESPACE: &str = "FtgoOrderHistory";

impl Config {
    /// Reads the environment.
    pub fn read(environment: &Environment<'_>) -> Result<Self, Missing> {
        let bucket = environment.needed(
            "ARCHIVE_BUCKET",
            "the name of the bucket that all events are kept in, such as ftgo-order-history-archive",
        )?;
        let prefix = environment.get("ARCHIVE_PREFIX").unwrap_or_default();
        let config = Self {
            location: Location::in_bucket(&bucket, &prefix),
            metrics_namespace: environment.get("METRICS_NAMESPACE").unwrap_or_else(|| METRICS_NAMESPACE.to_owned()),
        };
        environment.check_lambda()?;
        Ok(config)
    }
}
