//! The archiver's configuration, read from the environment only.

use lambda_boot::{Environment, Missing};

use crate::Location;

/// The archiver's settings. The SDK reads region, credentials and endpoint itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The location of the archive.
    pub location: Location,
    /// The CloudWatch namespace of the metrics.
    pub metrics_namespace: String,
}

/// The same as in `order-store`, on which this crate does not depend.
const METRICS_NAMESPACE: &str = "FtgoOrderHistory";

impl Config {
    /// Reads the environment.
    pub fn read(environment: &Environment<'_>) -> Result<Self, Missing> {
        let bucket = environment
            .needed("ARCHIVE_BUCKET", "the name of the archive's bucket, such as ftgo-order-history-archive")?;
        let prefix = environment.get("ARCHIVE_PREFIX").unwrap_or_default();
        let config = Self {
            location: Location::in_bucket(&bucket, &prefix),
            metrics_namespace: environment.get("METRICS_NAMESPACE").unwrap_or_else(|| METRICS_NAMESPACE.to_owned()),
        };
        environment.check_lambda()?;
        Ok(config)
    }
}
