//! What became of a batch: one line of the log that is also its metrics.

use std::time::SystemTime;

use lambda_boot::{Line, is_logged};
use order_events::{EventId, EventType};
use order_store::Applied;
use tracing::Level;

/// The specification's limit of values for one metric in one line.
const MAX_VALUES: usize = 100;

/// How many events of a kind a line names: enough to look at some, and never a long line.
const MAX_NAMED: usize = 5;

/// What became of the messages of one batch.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    applied: usize,
    late: Named,
    duplicate: usize,
    in_progress: Named,
    pub(crate) malformed: usize,
    pub(crate) failed: usize,
    /// From each event to its projection, in milliseconds. Negative if the event happened after that, by its publisher's clock.
    lags: Vec<i64>,
}

/// How many events, and the first of them.
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

impl Tally {
    /// Counts a stored effect, and names what kind it was.
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
        let counts = [
            ("Applied", self.applied),
            ("Late", self.late.count),
            ("Duplicate", self.duplicate),
            ("InProgress", self.in_progress.count),
            ("Malformed", self.malformed),
            ("Failed", self.failed),
            ("ClockAhead", self.lags.iter().filter(|lag| **lag < 0).count()),
        ];
        if counts.iter().all(|(_, count)| *count == 0) {
            return Vec::new();
        }
        let mut first = counts.into_iter().fold(empty.clone(), |line, (name, count)| line.count(name, count));
        if is_logged(Level::INFO) {
            first = self.with_details(first.with("message", "batch processed").with("request_id", request_id));
        }
        // CloudWatch has no percentiles of a metric with a negative value, and an alarm on them would never see a late event.
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

    /// With what an operator searches for.
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
