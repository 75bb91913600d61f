//! Medians, spreads and ratios of what several rounds gave.

use serde::{Deserialize, Serialize};

/// One value for each round. In a round every contender has its turn, so the same round of two contenders was measured
/// on the same machine in the same minute.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rounds(pub Vec<f64>);

/// The middle of some values, and how far they go apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Rounds {
    /// Their spread; not a number where there were none.
    #[must_use]
    pub fn spread(&self) -> Spread {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let (Some(min), Some(max)) = (sorted.first(), sorted.last()) else {
            return Spread { median: f64::NAN, min: f64::NAN, max: f64::NAN };
        };
        let middle = sorted.len() / 2;
        let median =
            if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) };
        Spread { median, min: *min, max: *max }
    }

    /// The least of the values that so many percent of all do not exceed; not a number where there were none.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() * percent).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    /// The middle one.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.spread().median
    }

    /// How many times as much as `other`, round by round.
    #[must_use]
    pub fn times(&self, other: &Self) -> Spread {
        Self(self.0.iter().zip(&other.0).map(|(ours, theirs)| ours / theirs).collect()).spread()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(spread: Spread, median: f64, min: f64, max: f64) {
        assert_eq!(spread, Spread { median, min, max });
    }

    #[test]
    fn the_median_is_in_the_middle_whatever_the_order() {
        check(Rounds(vec![3.0]).spread(), 3.0, 3.0, 3.0);
        check(Rounds(vec![9.0, 1.0, 2.0]).spread(), 2.0, 1.0, 9.0);
        check(Rounds(vec![4.0, 1.0, 2.0, 100.0]).spread(), 3.0, 1.0, 100.0);
        assert!(Rounds(vec![]).spread().median.is_nan());
    }

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let hundred = Rounds((1..=100).rev().map(f64::from).collect());
        assert_eq!([50, 99, 100].map(|percent| hundred.percentile(percent).to_string()), ["50", "99", "100"]);
        let two = Rounds(vec![7.0, 8.0]);
        assert_eq!([1, 50, 99].map(|percent| two.percentile(percent).to_string()), ["7", "7", "8"]);
        assert!(Rounds(vec![]).percentile(50).is_nan());
    }

    #[test]
    fn a_slow_minute_is_slow_for_both() {
        let (ours, theirs) = (Rounds(vec![1.0, 3.0, 1.0]), Rounds(vec![10.0, 30.0, 20.0]));
        check(theirs.times(&ours), 10.0, 10.0, 20.0);
    }
}
