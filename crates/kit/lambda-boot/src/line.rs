//! Log lines that the macros of `tracing` cannot write: lines with metrics, and lines at `DEBUG` in a release build.
//!
//! Metrics are in CloudWatch's embedded metric format, which costs no request.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_smithy_types::DateTime;
use aws_smithy_types::date_time::Format;
use serde_json::{Map, Value, json};
use tracing::Level;

/// One line of the log. Print it to standard output.
///
/// Print a line with metrics whatever the log level is: CloudWatch reads the metrics from it. For a line without metrics, ask
/// [`is_logged`](crate::is_logged) first.
#[derive(Debug, Clone)]
pub struct Line {
    members: Map<String, Value>,
    millis: i64,
    /// Name and unit of each metric.
    metrics: Vec<Value>,
    published: Option<Published>,
}

/// Where the metrics are published.
#[derive(Debug, Clone)]
struct Published {
    namespace: String,
    dimensions: Vec<&'static str>,
}

impl Line {
    /// A line without metrics.
    ///
    /// It has a level and a time because Lambda adds those that are missing.
    /// <https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html>
    #[must_use]
    pub fn new(level: Level, now: SystemTime) -> Self {
        let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let millis = i64::try_from(since_epoch.as_millis()).unwrap_or_default();
        let line = Self { members: Map::new(), millis, metrics: Vec::new(), published: None };
        let line = line.with("level", level.as_str());
        match DateTime::from_millis(millis).fmt(Format::DateTime) {
            Ok(timestamp) => line.with("timestamp", timestamp),
            // After the year 9999.
            Err(_) => line,
        }
    }

    /// Publishes the metrics of this line in a CloudWatch namespace, with these dimensions.
    #[must_use]
    pub fn in_namespace(self, namespace: &str, dimensions: &[(&'static str, &str)]) -> Self {
        let published = Published {
            namespace: namespace.to_owned(),
            dimensions: dimensions.iter().map(|(name, _)| *name).collect(),
        };
        let line = Self { published: Some(published), ..self };
        dimensions.iter().fold(line, |line, (name, value)| line.with(name, *value))
    }

    /// Adds a metric: a number, or at most 100 numbers. It is published if the line is [in a namespace](Self::in_namespace).
    #[must_use]
    pub fn metric(mut self, name: &str, unit: &str, value: impl Into<Value>) -> Self {
        self.metrics.push(json!({"Name": name, "Unit": unit}));
        self.with(name, value)
    }

    /// Adds a count, unless it is 0: every published metric costs money, and one that is not published costs nothing.
    /// <https://aws.amazon.com/cloudwatch/pricing/>
    #[must_use]
    pub fn count(self, name: &str, count: usize) -> Self {
        if count == 0 { self } else { self.metric(name, "Count", count) }
    }

    /// Adds a member that is not a metric, such as a request id to search for.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut members = self.members.clone();
        if let Some(Published { namespace, dimensions }) = &self.published {
            let directive = json!({"Namespace": namespace, "Dimensions": [dimensions], "Metrics": self.metrics});
            members.insert("_aws".to_owned(), json!({"Timestamp": self.millis, "CloudWatchMetrics": [directive]}));
        }
        write!(f, "{}", Value::Object(members))
    }
}
