//! Latitudes and longitudes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Invalid;

/// An angle between -`LIMIT` and `LIMIT` degrees, to seven decimals (a centimetre on the ground).
///
/// Whole tenths of a microdegree compare exactly and fit into the 38 digits of a DynamoDB number; a float does
/// neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Degrees<const LIMIT: i32>(i32);

/// Degrees north of the equator.
pub type Latitude = Degrees<90>;

/// Degrees east of Greenwich.
pub type Longitude = Degrees<180>;

const PER_DEGREE: i32 = 10_000_000;

impl<const LIMIT: i32> Degrees<LIMIT> {
    /// Rounds an angle to seven decimals.
    pub fn parse(degrees: f64) -> Result<Self, Invalid> {
        let limit = f64::from(LIMIT);
        if !(-limit..=limit).contains(&degrees) {
            return Err(Invalid::Degrees(LIMIT));
        }
        // It fits into an i32: the check above limits it to ±1.8e9.
        #[allow(clippy::cast_possible_truncation)]
        Ok(Self((degrees * f64::from(PER_DEGREE)).round() as i32))
    }

    /// The angle in degrees.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(PER_DEGREE)
    }
}

impl<const LIMIT: i32> fmt::Display for Degrees<LIMIT> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_f64().fmt(f)
    }
}

impl<const LIMIT: i32> FromStr for Degrees<LIMIT> {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text.parse().map_err(|_| Invalid::Degrees(LIMIT))?)
    }
}

impl<const LIMIT: i32> Serialize for Degrees<LIMIT> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

impl<'de, const LIMIT: i32> Deserialize<'de> for Degrees<LIMIT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(f64::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
