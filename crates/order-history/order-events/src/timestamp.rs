//! Timestamps in milliseconds.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::time::SystemTime;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use time::format_description::well_known::{Rfc2822, Rfc3339};
use time::{Date, Duration, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

use crate::Invalid;

/// A time between 1970 and 9999, in milliseconds.
///
/// It is read from RFC 3339, and from Java's forms of a `LocalDateTime`: the same without a zone (UTC is used), without seconds
/// if they are zero, or the array `[year, month, day, hour, minute, second?, nanosecond?]`. It is always written
/// as RFC 3339 in UTC with three decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(OffsetDateTime);

impl Timestamp {
    /// The start of 1970.
    pub const EPOCH: Self = Self(OffsetDateTime::UNIX_EPOCH);

    /// Milliseconds since 1970.
    #[must_use]
    pub fn from_millis(millis: i64) -> Option<Self> {
        let at = OffsetDateTime::UNIX_EPOCH.checked_add(Duration::milliseconds(millis))?;
        Self::checked(at).ok()
    }

    /// Milliseconds since 1970.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0.unix_timestamp() * 1_000 + i64::from(self.0.millisecond())
    }

    /// Reads only RFC 3339.
    pub fn parse_rfc3339(text: &str) -> Result<Self, Invalid> {
        OffsetDateTime::parse(text, &Rfc3339).map_err(|_| Invalid::Timestamp).and_then(Self::checked)
    }

    /// Reads RFC 3339. A time before 1970 becomes the start of 1970.
    pub fn parse_rfc3339_since_1970(text: &str) -> Result<Self, Invalid> {
        let at = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| Invalid::Timestamp)?;
        if at < OffsetDateTime::UNIX_EPOCH { Ok(Self::EPOCH) } else { Self::checked(at) }
    }

    /// Reads RFC 3339, or a local date and time, for which UTC is used.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::parse_rfc3339(text)
            .or_else(|_| Self::parse_rfc3339(&format!("{text}Z")))
            .or_else(|_| Self::parse_rfc3339(&format!("{text}:00Z")))
    }

    /// Reads the RFC 1123 form of HTTP dates and of Eventuate's `DATE` header.
    pub fn parse_http_date(text: &str) -> Result<Self, Invalid> {
        // Nearly every date has this form, which this library, Java and web servers write.
        if let Some(at) = usual_http_date(text.as_bytes()) {
            return Ok(Self(at));
        }
        OffsetDateTime::parse(text, &Rfc2822)
            .map_err(|_| Invalid::HttpDate)
            .and_then(|at| Self::checked(at).map_err(|_| Invalid::HttpDate))
    }

    /// As an HTTP date.
    #[must_use]
    pub fn to_http_date(self) -> Option<String> {
        self.0.format(&Rfc2822).ok()
    }

    /// The text, without an allocation or a formatter, because views contain many of them.
    fn text(self) -> Text {
        let at = self.0;
        let parts = [
            (0, 4, at.year().unsigned_abs()),
            (5, 2, u8::from(at.month()).into()),
            (8, 2, at.day().into()),
            (11, 2, at.hour().into()),
            (14, 2, at.minute().into()),
            (17, 2, at.second().into()),
            (20, 3, at.millisecond().into()),
        ];
        let mut text = *b"0000-00-00T00:00:00.000Z";
        for (start, length, mut number) in parts {
            for digit in text[start..start + length].iter_mut().rev() {
                // A digit fits into a byte.
                #[allow(clippy::cast_possible_truncation)]
                let value = (number % 10) as u8;
                *digit += value;
                number /= 10;
            }
        }
        Text(text)
    }

    fn checked(at: OffsetDateTime) -> Result<Self, Invalid> {
        let at = at.checked_to_offset(UtcOffset::UTC).ok_or(Invalid::Timestamp)?;
        let at = at.truncate_to_millisecond();
        if (1970..=9999).contains(&at.year()) { Ok(Self(at)) } else { Err(Invalid::Timestamp) }
    }

    fn from_parts(parts: &[u32]) -> Option<Self> {
        let &[year, month, day, hour, minute, ref rest @ ..] = parts else {
            return None;
        };
        let (second, nanosecond) = match *rest {
            [] => (0, 0),
            [second] => (second, 0),
            [second, nanosecond] => (second, nanosecond),
            _ => return None,
        };
        let small = |part: u32| u8::try_from(part).ok();
        let month = Month::try_from(small(month)?).ok()?;
        let date = Date::from_calendar_date(year.try_into().ok()?, month, small(day)?).ok()?;
        let time = Time::from_hms_nano(small(hour)?, small(minute)?, small(second)?, nanosecond).ok()?;
        Self::checked(PrimitiveDateTime::new(date, time).assume_utc()).ok()
    }
}

/// Reads `Sun, 1 Mar 2026 12:30:00 GMT` of this century. The day may have two digits, and the zone may be `+0000`.
/// `None` for any other form, and for a wrong weekday.
fn usual_http_date(text: &[u8]) -> Option<OffsetDateTime> {
    let (weekday, text) = text.split_at_checked(5)?;
    let (day, text) = match text {
        [digit, b' ', rest @ ..] => (number(&[*digit])?, rest),
        [tens, units, b' ', rest @ ..] => (number(&[*tens, *units])?, rest),
        _ => return None,
    };
    let (month, text) = text.split_at_checked(4)?;
    let month = MONTHS.iter().position(|name| *name == month)?;
    let &[b'2', b'0', y1, y0, b' ', h1, h0, b':', m1, m0, b':', s1, s0, b' ', ref zone @ ..] = text else {
        return None;
    };
    if !matches!(zone, b"GMT" | b"+0000") {
        return None;
    }
    let year = 2000 + i32::from(number(&[y1, y0])?);
    let month = Month::try_from(u8::try_from(month + 1).ok()?).ok()?;
    let date = Date::from_calendar_date(year, month, day).ok()?;
    let time = Time::from_hms(number(&[h1, h0])?, number(&[m1, m0])?, number(&[s1, s0])?).ok()?;
    let is_weekday_right = WEEKDAYS[usize::from(date.weekday().number_days_from_monday())] == weekday;
    is_weekday_right.then(|| PrimitiveDateTime::new(date, time).assume_utc())
}

const MONTHS: [&[u8]; 12] =
    [b"Jan ", b"Feb ", b"Mar ", b"Apr ", b"May ", b"Jun ", b"Jul ", b"Aug ", b"Sep ", b"Oct ", b"Nov ", b"Dec "];

const WEEKDAYS: [&[u8]; 7] = [b"Mon, ", b"Tue, ", b"Wed, ", b"Thu, ", b"Fri, ", b"Sat, ", b"Sun, "];

/// Up to two digits.
fn number(digits: &[u8]) -> Option<u8> {
    digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + (digit - b'0')))
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// The text of a [`Timestamp`].
struct Text([u8; Text::LENGTH]);

impl Text {
    const LENGTH: usize = "2026-03-01T12:30:00.000Z".len();
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        // It is ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

impl From<SystemTime> for Timestamp {
    /// Truncates to milliseconds. A time that is not between 1970 and 9999 becomes the start of 1970: the clock was never set.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).ok();
        let millis = since.and_then(|since| i64::try_from(since.as_millis()).ok());
        millis.and_then(Self::from_millis).unwrap_or(Self::EPOCH)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrParts)
    }
}

struct TextOrParts;

impl<'de> de::Visitor<'de> for TextOrParts {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a date and time such as \"2026-03-01T12:30:00Z\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
        Timestamp::parse(text).map_err(E::custom)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut parts: A) -> Result<Timestamp, A::Error> {
        let mut read = Vec::with_capacity(7);
        while let Some(part) = parts.next_element()? {
            read.push(part);
        }
        Timestamp::from_parts(&read).ok_or_else(|| de::Error::custom(Invalid::Timestamp))
    }
}

/// For `#[serde(with = "order_events::millis")]`: a time as milliseconds since 1970.
pub mod millis {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use super::{Invalid, Timestamp};

    /// Writes the number.
    pub fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(at.as_millis())
    }

    /// Reads the number.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let millis = i64::deserialize(deserializer)?;
        Timestamp::from_millis(millis).ok_or_else(|| de::Error::custom(Invalid::Timestamp))
    }
}
