//! Counts the results of a batch, and prints them as one log line that is also its metrics.

use std::time::SystemTime;

use lambda_boot::{Line, is_logged};
use order_events::{EventId, EventType};
use order_store::Applied;
use tracing::Level;

/// The largest number of values of one metric in one line
/// (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>).
const MAX_VALUES: usize = 100;

/// A line names at most this many events of a kind, so that it is never long.
const MAX_NAMED: usize = 5;

/// The results of the messages of one batch.
#[derive(Debug, Default)]
pub(crate) struct BatchCounts {
    applied: usize,
    late: Named,
    duplicate: usize,
    in_progress: Named,
    pub(crate) malformed: usize,
    pub(crate) failed: usize,
    /// The time from each event to its projection, in milliseconds. Negative if the publisher's clock is ahead.
    lags: Vec<i64>,
}

/// The number of events, and the ids of the first ones.
#[derive(Debug, Default)]
struct Named {
    count: usize,
    ids: Vec<EventId>,
}

impl Named {
    fn note(&mut self, event_id: Option<EventId>) {
        self.count += 1;
        self.ids.extend(event_id.filter(|_| self.ids.len() < MAX_NAMED));
    }
}

impl BatchCounts {
    /// Counts a stored effect, and returns the name of its result for the log.
    pub(crate) fn note_stored(
        &mut self,
        applied: Applied,
        event_id: Option<EventId>,
        lag: Option<i64>,
    ) -> &'static str {
        let name = match applied {
            Applied::Written => {
                self.applied += 1;
                "applied"
            }
            Applied::WrittenLate => {
                self.late.note(event_id);
                "late"
            }
            Applied::Duplicate => {
                self.duplicate += 1;
                return "duplicate";
            }
        };
        self.lags.extend(lag);
        name
    }

    /// Counts an event that another invocation is processing.
    pub(crate) fn note_in_progress(&mut self, event_id: Option<EventId>) {
        self.in_progress.note(event_id);
    }

    /// The lines to print: one, unless the batch is empty or very large.
    pub(crate) fn lines(&self, event_type: EventType, request_id: &str, namespace: &str, now: SystemTime) -> Vec<Line> {
        let empty = Line::new(Level::INFO, now).in_namespace(namespace, &[("EventType", event_type.name())]);
        let metrics = [
            ("Applied", self.applied),
            ("Late", self.late.count),
            ("Duplicate", self.duplicate),
            ("InProgress", self.in_progress.count),
            ("Malformed", self.malformed),
            ("Failed", self.failed),
            ("ClockAhead", self.lags.iter().filter(|lag| **lag < 0).count()),
        ];
        if metrics.iter().all(|(_, count)| *count == 0) {
            return Vec::new();
        }
        let mut first = metrics.into_iter().fold(empty.clone(), |line, (name, count)| line.count(name, count));
        if is_logged(Level::INFO) {
            first = self.with_details(first.with("message", "batch processed").with("request_id", request_id));
        }
        // CloudWatch has no percentiles of a metric with negative values, so an alarm on a percentile would never see a late event.
        // https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html#Percentiles
        let lags: Vec<_> = self.lags.iter().map(|lag| (*lag).max(0)).collect();
        let with_lag = |line: Line, lags: &[i64]| line.metric("ProjectionLag", "Milliseconds", lags);
        let mut chunks = lags.chunks(MAX_VALUES);
        let first = match chunks.next() {
            Some(lags) => with_lag(first, lags),
            None => first,
        };
        std::iter::once(first).chain(chunks.map(|lags| with_lag(empty.clone(), lags))).collect()
    }

    /// Adds the values that an operator searches for.
    fn with_details(&self, mut line: Line) -> Line {
        if let Some(slowest) = self.lags.iter().max() {
            line = line.with("slowest_ms", *slowest);
        }
        if let Some(ahead) = self.lags.iter().min().filter(|lag| **lag < 0) {
            line = line.with("ahead_ms", -ahead);
        }
        for (name, named) in [("late_event_ids", &self.late), ("in_progress_event_ids", &self.in_progress)] {
            if !named.ids.is_empty() {
                line = line.with(name, named.ids.iter().map(EventId::to_string).collect::<Vec<_>>());
            }
        }
        line
    }
}
