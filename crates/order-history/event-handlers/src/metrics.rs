//! Metrics, as CloudWatch embedded metric format: JSON lines on standard output, which cost no request.
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>

use order_events::{EventType, Timestamp};
use order_store::Applied;
use serde_json::{Map, Value, json};

const NAMESPACE: &str = "FtgoOrderHistory";

/// The specification's limit of values for one metric in one line.
const MAX_VALUES: usize = 100;

/// What became of the messages of one batch.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) applied: usize,
    pub(crate) late: usize,
    pub(crate) duplicate: usize,
    pub(crate) in_progress: usize,
    pub(crate) malformed: usize,
    pub(crate) failed: usize,
    /// From each event to its projection, in milliseconds.
    pub(crate) lags: Vec<i64>,
}

impl Tally {
    /// Counts a stored effect, and names what kind it was.
    pub(crate) fn note_stored(&mut self, applied: Applied, lag: Option<i64>) -> &'static str {
        let (count, name) = match applied {
            Applied::Written => (&mut self.applied, "applied"),
            Applied::WrittenLate => (&mut self.late, "late"),
            Applied::Duplicate => (&mut self.duplicate, "duplicate"),
        };
        *count += 1;
        if applied != Applied::Duplicate {
            self.lags.extend(lag);
        }
        name
    }

    /// The lines to print; one, unless a batch is very large.
    pub(crate) fn lines(&self, event_type: EventType, now: Timestamp) -> Vec<String> {
        let counts = [
            ("Applied", self.applied),
            ("Late", self.late),
            ("Duplicate", self.duplicate),
            ("InProgress", self.in_progress),
            ("Malformed", self.malformed),
            ("Failed", self.failed),
        ];
        let counts = counts.map(|(name, count)| (name, "Count", json!(count)));
        let mut lags = self.lags.chunks(MAX_VALUES).map(|lags| ("ProjectionLag", "Milliseconds", json!(lags)));
        let first = line(event_type, now, counts.into_iter().chain(lags.next()));
        let rest = lags.map(|lag| line(event_type, now, [lag]));
        std::iter::once(first).chain(rest).collect()
    }
}

fn line(
    event_type: EventType,
    now: Timestamp,
    metrics: impl IntoIterator<Item = (&'static str, &'static str, Value)>,
) -> String {
    let mut members = Map::new();
    let mut declared = Vec::new();
    for (name, unit, value) in metrics {
        declared.push(json!({"Name": name, "Unit": unit}));
        members.insert(name.to_owned(), value);
    }
    members.insert("EventType".to_owned(), json!(event_type.name()));
    members.insert(
        "_aws".to_owned(),
        json!({
            "Timestamp": now.as_millis(),
            "CloudWatchMetrics": [{
                "Namespace": NAMESPACE,
                "Dimensions": [["EventType"]],
                "Metrics": declared,
            }],
        }),
    );
    Value::Object(members).to_string()
}
