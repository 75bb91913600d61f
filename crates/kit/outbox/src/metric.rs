//! Metrics.

/// A number with its name and unit, for CloudWatch or another collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metric {
    /// The name, which stays the same over versions.
    pub name: &'static str,
    /// `Count` or `Seconds`, as CloudWatch calls them.
    pub unit: &'static str,
    /// A number of rows or messages, or of seconds, as `unit` says.
    pub value: u64,
}

impl Metric {
    pub(crate) fn count(name: &'static str, count: usize) -> Self {
        Self { name, unit: "Count", value: count as u64 }
    }

    pub(crate) fn seconds(name: &'static str, seconds: u64) -> Self {
        Self { name, unit: "Seconds", value: seconds }
    }
}
