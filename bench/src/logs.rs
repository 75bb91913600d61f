//! The function's output as CloudWatch bills it: log bytes, and the metrics in them.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The output for each event or request, standard output and standard error together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Logged {
    /// Lines. Each becomes one log event.
    pub lines: f64,
    /// Bytes, without the ends of the lines.
    pub bytes: f64,
}

/// The bytes that CloudWatch Logs counts for a log event in addition to its text.
/// <https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html>
const LOG_EVENT_BYTES: f64 = 26.0;

impl Logged {
    /// The additional output for this many events or requests. A start may also print, as Node's does.
    #[must_use]
    pub fn between(without: &[String], with: &[String], count: u32) -> Self {
        let number = |number: usize| u32::try_from(number).map_or(f64::NAN, f64::from);
        let bytes = |lines: &[String]| number(lines.iter().map(String::len).sum());
        Self {
            lines: (number(with.len()) - number(without.len())) / f64::from(count),
            bytes: (bytes(with) - bytes(without)) / f64::from(count),
        }
    }

    /// The bytes that CloudWatch Logs ingests.
    #[must_use]
    pub fn ingested(&self) -> f64 {
        self.bytes + self.lines * LOG_EVENT_BYTES
    }
}

/// The distinct custom metrics in these lines, as in CloudWatch: namespace, dimensions with their values, name.
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>
#[must_use]
pub fn metrics(lines: &[String]) -> BTreeSet<String> {
    let lines = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.flat_map(|line| metrics_of(&line)).collect()
}

fn metrics_of(line: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for directive in members(&line["_aws"]["CloudWatchMetrics"]) {
        for dimensions in members(&directive["Dimensions"]) {
            let dimensions: Vec<String> = members(dimensions)
                .filter_map(Value::as_str)
                .map(|dimension| format!("{dimension}={}", line[dimension]))
                .collect();
            for metric in members(&directive["Metrics"]) {
                found.push(format!("{} {} {}", directive["Namespace"], dimensions.join(","), metric["Name"]));
            }
        }
    }
    found
}

fn members(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_line_is_a_log_event_with_26_additional_bytes() {
        let start = vec!["a warning at the start".to_owned()];
        let all = [start.clone(), vec!["0123456789".to_owned(), "é".to_owned()]].concat();
        let logged = Logged::between(&start, &all, 4);
        assert_eq!(logged, Logged { lines: 0.5, bytes: 3.0 });
        assert_eq!(format!("{}", logged.ingested()), "16");
    }

    #[test]
    fn metrics_differ_by_namespace_dimensions_and_name() {
        let line = |event_type: &str, names: &[&str]| {
            let declared: Vec<_> = names.iter().map(|name| json!({"Name": name, "Unit": "Count"})).collect();
            let directive = json!({"Namespace": "N", "Dimensions": [["EventType"]], "Metrics": declared});
            json!({"EventType": event_type, "_aws": {"Timestamp": 1, "CloudWatchMetrics": [directive]}}).to_string()
        };
        let lines = [
            line("A", &["Applied", "Lag"]),
            line("A", &["Applied"]),
            line("B", &["Applied"]),
            json!({"level": "INFO"}).to_string(),
            "no JSON".to_owned(),
        ];
        assert_eq!(metrics(&lines).len(), 3);
    }
}
