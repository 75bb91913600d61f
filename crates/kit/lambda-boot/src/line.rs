//! Lines of the log that the macros of `tracing` cannot write: those with metrics, and those at `DEBUG`.
//!
//! Metrics are in CloudWatch's embedded metric format, which costs no request.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};
use serde_json::{Map, Value, json};
use tracing::Level;

/// One line of the log. Print it to standard output.
///
/// Metrics count at every level, so a line that has some is printed at every level too.
#[derive(Debug, Clone)]
pub struct Line {
    members: Map<String, Value>,
    millis: i64,
    metrics: Option<Metrics>,
}

#[derive(Debug, Clone)]
struct Metrics {
    namespace: String,
    dimensions: Vec<&'static str>,
    declared: Vec<Value>,
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
        let line = Self { members: Map::new(), millis, metrics: None }.with("level", level.as_str());
        match DateTime::from_millis(millis).fmt(DateTimeFormat::DateTime) {
            Ok(timestamp) => line.with("timestamp", timestamp),
            // After the year 9999.
            Err(_) => line,
        }
    }

    /// Whose metrics are published in this namespace, with these dimensions.
    #[must_use]
    pub fn in_namespace(self, namespace: &str, dimensions: &[(&'static str, &str)]) -> Self {
        let metrics = Metrics {
            namespace: namespace.to_owned(),
            dimensions: dimensions.iter().map(|(name, _)| *name).collect(),
            declared: Vec::new(),
        };
        let line = Self { metrics: Some(metrics), ..self };
        dimensions.iter().fold(line, |line, (name, value)| line.with(name, *value))
    }

    /// With a metric: a number, or at most 100 numbers. It is published if the line is [in a namespace](Self::in_namespace).
    #[must_use]
    pub fn metric(mut self, name: &str, unit: &str, value: impl Into<Value>) -> Self {
        if let Some(metrics) = &mut self.metrics {
            metrics.declared.push(json!({"Name": name, "Unit": unit}));
        }
        self.with(name, value)
    }

    /// With a count, unless it is 0: each metric that is published costs, whatever its value, and a missing one costs nothing.
    /// <https://aws.amazon.com/cloudwatch/pricing/>
    #[must_use]
    pub fn count(self, name: &str, count: usize) -> Self {
        if count == 0 { self } else { self.metric(name, "Count", count) }
    }

    /// With a member that is no metric, for those who search the log.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut members = self.members.clone();
        if let Some(Metrics { namespace, dimensions, declared }) = &self.metrics {
            let directive = json!({"Namespace": namespace, "Dimensions": [dimensions], "Metrics": declared});
            members.insert("_aws".to_owned(), json!({"Timestamp": self.millis, "CloudWatchMetrics": [directive]}));
        }
        write!(f, "{}", Value::Object(members))
    }
}
