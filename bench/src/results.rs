//! The results of a run: `docs/benchmarks/results.json`, from which all other files there are generated.

use std::fs::read_to_string;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::cold_start::ColdStart;
use crate::growth::Growth;
use crate::locks::Locking;
use crate::payments::Step;
use crate::projection::Projection;
use crate::query::RequestCost;
use crate::rebuild::Rebuild;
use crate::visibility::Visibility;

/// The results of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Results {
    /// The date in RFC 3339, in UTC.
    pub date: String,
    /// The machine, in one line.
    pub machine: String,
    /// The number of rounds.
    pub rounds: usize,
    /// The projection of events.
    pub projections: Vec<Projection>,
    /// The query Lambda.
    pub answered: Vec<RequestCost>,
    /// Cold starts.
    pub cold_starts: Vec<ColdStart>,
    /// Growth.
    pub growth: Growth,
    /// The time until an order is visible.
    pub visibility: Visibility,
    /// Locks; empty in older results.
    #[serde(default)]
    pub locks: Vec<Locking>,
    /// The steps of a payment; empty in older results.
    #[serde(default)]
    pub payments: Vec<RequestCost>,
    /// A rebuild; absent in older results.
    #[serde(default)]
    pub rebuild: Option<Rebuild>,
}

impl Results {
    /// A contender's projection, if it was measured.
    #[must_use]
    pub fn projection(&self, name: &str) -> Option<&Projection> {
        self.projections.iter().find(|projection| projection.name == name)
    }

    /// A contender's locks, if it was measured.
    #[must_use]
    pub fn locking(&self, name: &str) -> Option<&Locking> {
        self.locks.iter().find(|locking| locking.name == name)
    }

    /// A step of a payment, if it was measured.
    #[must_use]
    pub fn payment(&self, step: Step) -> Option<&RequestCost> {
        self.payments.iter().find(|answered| answered.question == step.name())
    }

    /// A contender's cold start, if it was measured.
    #[must_use]
    pub fn cold_start(&self, name: &str) -> Option<&ColdStart> {
        self.cold_starts.iter().find(|cold_start| cold_start.name == name)
    }
}

/// A description of this machine, in one line.
pub fn machine() -> Result<String> {
    let processors = read_to_string("/proc/cpuinfo")?;
    let model = processors.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism()?;
    let kernel = read_to_string("/proc/sys/kernel/osrelease")?;
    let model = model.trim_start_matches([' ', '\t', ':']);
    Ok(format!("{cores} cores of {model}, Linux {}", kernel.trim()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that cannot go on should stop there.
mod tests {
    use serde_json::{from_value, to_value};

    use super::*;

    #[test]
    fn results_from_before_locks_payments_and_rebuilds_were_measured_can_be_read() {
        let mut old = to_value(Results { rounds: 5, ..Results::default() }).unwrap();
        for later in ["locks", "payments", "rebuild"] {
            assert!(old.as_object_mut().unwrap().remove(later).is_some(), "{later}");
        }
        let read: Results = from_value(old).unwrap();
        assert_eq!((read.rounds, read.locks.len(), read.payments.len()), (5, 0, 0));
        assert!(read.rebuild.is_none());
    }
}
