//! Medians, spreads and ratios of the values of several rounds.

use serde::{Deserialize, Serialize};

/// One value for each round. In a round all contenders take turns, so the same round of two contenders was measured
/// on the same machine in the same minute.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Rounds(pub Vec<f64>);

/// The median, the minimum and the maximum of some values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The median; for an even number of values the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Rounds {
    /// The spread; NaN without values.
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

    /// The smallest value that this percentage of all values does not exceed; NaN without values.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() * percent).div_ceil(100);
        sorted.get(rank.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    /// The median.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.spread().median
    }

    /// The ratio to `other`, computed for each round.
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
    fn the_median_does_not_depend_on_the_order() {
        check(Rounds(vec![3.0]).spread(), 3.0, 3.0, 3.0);
        check(Rounds(vec![9.0, 1.0, 2.0]).spread(), 2.0, 1.0, 9.0);
        check(Rounds(vec![4.0, 1.0, 2.0, 100.0]).spread(), 3.0, 1.0, 100.0);
        assert!(Rounds(vec![]).spread().median.is_nan());
    }

    #[test]
    fn a_percentile_is_one_of_the_measured_values() {
        let hundred = Rounds((1..=100).rev().map(f64::from).collect());
        assert_eq!([50, 99, 100].map(|percent| hundred.percentile(percent).to_string()), ["50", "99", "100"]);
        let two = Rounds(vec![7.0, 8.0]);
        assert_eq!([1, 50, 99].map(|percent| two.percentile(percent).to_string()), ["7", "7", "8"]);
        assert!(Rounds(vec![]).percentile(50).is_nan());
    }

    #[test]
    fn a_ratio_is_computed_within_each_round() {
        let (ours, theirs) = (Rounds(vec![1.0, 3.0, 1.0]), Rounds(vec![10.0, 30.0, 20.0]));
        check(theirs.times(&ours), 10.0, 10.0, 20.0);
    }
}
