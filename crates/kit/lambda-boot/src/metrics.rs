//! Metrics, as CloudWatch embedded metric format: JSON lines on standard output, which cost no request.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

/// One line of metrics. Print it to standard output.
#[derive(Debug, Clone)]
pub struct MetricLine {
    declared: Vec<Value>,
    dimensions: Vec<&'static str>,
    members: Map<String, Value>,
}

impl MetricLine {
    /// A line without metrics yet, whose metrics have these dimensions.
    #[must_use]
    pub fn new(dimensions: &[(&'static str, &str)]) -> Self {
        let members = dimensions.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
        Self {
            declared: Vec::new(),
            dimensions: dimensions.iter().map(|(name, _)| *name).collect(),
            members: members.collect(),
        }
    }

    /// With a metric: a number, or at most 100 numbers.
    #[must_use]
    pub fn metric(mut self, name: &str, unit: &str, value: impl Into<Value>) -> Self {
        self.declared.push(json!({"Name": name, "Unit": unit}));
        self.with(name, value)
    }

    /// With a member that is no metric, for those who search the log.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// The text of the line.
    #[must_use]
    pub fn into_text(mut self, namespace: &str, now: SystemTime) -> String {
        let millis = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let about = json!({
            "Timestamp": u64::try_from(millis).unwrap_or_default(),
            "CloudWatchMetrics": [{
                "Namespace": namespace,
                "Dimensions": [self.dimensions],
                "Metrics": self.declared,
            }],
        });
        self.members.insert("_aws".to_owned(), about);
        Value::Object(self.members).to_string()
    }
}
