//! What became of a batch, as metrics.

use std::time::SystemTime;

use lambda_boot::MetricLine;
use order_events::EventType;
use order_store::Applied;

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
    lags: Vec<i64>,
    /// The events that happened after they were projected, by their publisher's clock. Their lag counts as 0: CloudWatch has no
    /// percentiles of a metric with a negative value, and an alarm on them would never see a late event.
    /// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html#Percentiles>
    clock_ahead: usize,
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
        if let Some(lag) = lag
            && applied != Applied::Duplicate
        {
            self.lags.push(lag.max(0));
            self.clock_ahead += usize::from(lag < 0);
        }
        name
    }

    /// The lines to print; one, unless a batch is very large.
    pub(crate) fn lines(&self, event_type: EventType, namespace: &str, now: SystemTime) -> Vec<String> {
        let counts = [
            ("Applied", self.applied),
            ("Late", self.late),
            ("Duplicate", self.duplicate),
            ("InProgress", self.in_progress),
            ("Malformed", self.malformed),
            ("Failed", self.failed),
        ];
        let empty = MetricLine::new(&[("EventType", event_type.name())]);
        let with_lag = |line: MetricLine, lags: &[i64]| line.metric("ProjectionLag", "Milliseconds", lags);
        let mut lags = self.lags.chunks(MAX_VALUES);
        let first = counts.into_iter().fold(empty.clone(), |line, (name, count)| line.metric(name, "Count", count));
        let first = match lags.next() {
            Some(lags) => with_lag(first, lags),
            None => first,
        };
        // Only where there is one: a metric that is never written costs nothing.
        let first = if self.clock_ahead > 0 { first.metric("ClockAhead", "Count", self.clock_ahead) } else { first };
        let rest = lags.map(|lags| with_lag(empty.clone(), lags));
        std::iter::once(first).chain(rest).map(|line| line.into_text(namespace, now)).collect()
    }
}
