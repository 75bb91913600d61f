//! The configuration of a stream's mapping.

use serde::Deserialize;

use crate::filter::Filter;

/// The configuration of the mapping. The defaults are Lambda's:
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html>.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// The largest number of records of one invocation (at least one).
    pub batch_size: usize,
    /// How long records are gathered before an invocation, in seconds. A full batch does not wait.
    pub maximum_batching_window_in_seconds: u64,
    /// A record that matches none of them is skipped. Without filters, no record is skipped.
    pub filters: Vec<Filter>,
    /// Whether the function's response lists the failed records (`ReportBatchItemFailures`). Otherwise every response except an
    /// error means success.
    pub report_batch_item_failures: bool,
    /// Whether a failed batch is split in two, which does not count as a retry.
    pub bisect_batch_on_function_error: bool,
    /// How often a failed batch is retried before it is discarded. `None`, or `-1` in a template: without limit.
    #[serde(deserialize_with = "limit")]
    pub maximum_retry_attempts: Option<u32>,
    /// The age in seconds after which a record is discarded. `None`, or `-1` in a template: no limit.
    #[serde(deserialize_with = "limit")]
    pub maximum_record_age_in_seconds: Option<u32>,
    /// Where reading starts if no position is stored.
    pub starting_position: StartingPosition,
}

/// Where reading a stream starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StartingPosition {
    /// At the oldest record.
    TrimHorizon,
    /// At the first record after the start.
    Latest,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            batch_size: 100,
            maximum_batching_window_in_seconds: 0,
            filters: Vec::new(),
            report_batch_item_failures: false,
            bisect_batch_on_function_error: false,
            maximum_retry_attempts: None,
            maximum_record_age_in_seconds: None,
            starting_position: StartingPosition::TrimHorizon,
        }
    }
}

fn limit<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    Ok(Option::<i64>::deserialize(deserializer)?.and_then(|limit| limit.try_into().ok()))
}
