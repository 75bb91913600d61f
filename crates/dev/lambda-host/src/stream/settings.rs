//! How a stream is read.

use serde::Deserialize;

use crate::filter::Filter;

/// What Lambda needs to know of the mapping; what is not given is as Lambda's defaults are:
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-params.html>.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    /// The most records of one invocation (at least one).
    pub batch_size: usize,
    /// How long records are gathered before an invocation, in seconds. A full batch does not wait.
    pub maximum_batching_window_in_seconds: u64,
    /// A record that matches none of them is skipped. Without filters, none is.
    pub filters: Vec<Filter>,
    /// Whether the function's answer says which records failed (`ReportBatchItemFailures`). Else any answer but an error is
    /// one of success.
    pub report_batch_item_failures: bool,
    /// Whether a batch that failed is split in two, which does not count as a retry.
    pub bisect_batch_on_function_error: bool,
    /// How often a batch that failed is retried before it is discarded, if not for ever. A template's `-1` is none.
    #[serde(deserialize_with = "limit")]
    pub maximum_retry_attempts: Option<u32>,
    /// How old a record may become, in seconds, before it is discarded, if not of any age. A template's `-1` is none.
    #[serde(deserialize_with = "limit")]
    pub maximum_record_age_in_seconds: Option<u32>,
    /// Where the stream is read from if no position was kept.
    pub starting_position: StartingPosition,
}

/// Where a stream is read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StartingPosition {
    /// The oldest record that there is.
    TrimHorizon,
    /// The first record after the start.
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
