//! Event ids: 128 bits that sort by the time of the event.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::{Invalid, Timestamp};

/// The id of an event.
///
/// Eventuate ids (`%016x-%016x`), UUIDv7 and ULID are accepted. All have 128 bits and start with the time, and all are written
/// as the fixed-width Eventuate text, so that they sort the same as text and as number: DynamoDB compares the texts.
///
/// An id contains a time between 2001 and 2100. A number without such a time would sort above or below all real ids,
/// and later events would look old (docs/adr/0009).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId {
    // The first field, because ids sort by it.
    bits: u128,
    time: Timestamp,
}

impl EventId {
    /// Reads an id in any of the three forms.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let bits = match text.len() {
            33 => eventuate(text),
            36 => uuid_v7(text),
            26 => ulid(text),
            _ => None,
        };
        let bits = bits.ok_or(Invalid::EventId)?;
        Ok(Self { bits, time: time_in(bits).ok_or(Invalid::EventTime)? })
    }

    /// The id's text, without an allocation.
    #[must_use]
    pub fn text(self) -> EventIdText {
        let mut text = [b'-'; LENGTH];
        // Each half has 64 bits.
        #[allow(clippy::cast_possible_truncation)]
        for (start, mut half) in [(0, (self.bits >> 64) as u64), (17, self.bits as u64)] {
            for place in (start..start + 16).rev() {
                text[place] = HEX[(half & 0xf) as usize];
                half >>= 4;
            }
        }
        EventIdText(text)
    }

    /// The time of the event, which is in the id.
    #[must_use]
    pub fn time(self) -> Timestamp {
        self.time
    }
}

/// The text of an [`EventId`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventIdText([u8; LENGTH]);

/// 16 digits, a hyphen, 16 digits.
const LENGTH: usize = 33;

const HEX: &[u8; 16] = b"0123456789abcdef";

impl Deref for EventIdText {
    type Target = str;

    fn deref(&self) -> &str {
        // It is ASCII.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// The time in an id, if it is plausible.
///
/// An Eventuate id has milliseconds in its upper 64 bits, a UUIDv7 or a ULID in its upper 48. Read as 64 bits, the time
/// in a UUIDv7 or ULID is 65,536 times too large, so at most one of the two is plausible.
fn time_in(bits: u128) -> Option<Timestamp> {
    let upper = u64::try_from(bits >> 64).ok()?;
    let millis = [upper, upper >> 16].into_iter().find(|millis| PLAUSIBLE.contains(millis))?;
    Timestamp::from_millis(millis.try_into().ok()?)
}

/// 2001-01-01 to 2100-01-01, in milliseconds.
const PLAUSIBLE: std::ops::Range<u64> = 978_307_200_000..4_102_444_800_000;

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Serialize for EventId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventId({self})")
    }
}

impl FromStr for EventId {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::parse(text)
    }
}

fn eventuate(text: &str) -> Option<u128> {
    let (upper, lower) = text.split_at_checked(16)?;
    Some(u128::from(hex(upper)?) << 64 | u128::from(hex(lower.strip_prefix('-')?)?))
}

fn uuid_v7(text: &str) -> Option<u128> {
    let mut bits = 0_u128;
    let mut groups = text.split('-');
    for length in [8, 4, 4, 4, 12] {
        let group = groups.next().filter(|group| group.len() == length)?;
        bits = bits << (4 * length) | u128::from(hex(group)?);
    }
    let version = bits >> 76 & 0xf;
    let variant = bits >> 62 & 0b11;
    (version == 7 && variant == 0b10).then_some(bits)
}

fn ulid(text: &str) -> Option<u128> {
    const CROCKFORD: &[u8] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let mut bits: u128 = 0;
    for (place, byte) in text.bytes().enumerate() {
        let digit = CROCKFORD.iter().position(|&c| c == byte.to_ascii_uppercase())?;
        // 26 digits of 5 bits are 130 bits: the first digit must leave the upper two empty.
        if place == 0 && digit > 7 {
            return None;
        }
        bits = bits << 5 | u128::try_from(digit).ok()?;
    }
    Some(bits)
}

/// At most 16 hex digits. `from_str_radix` would accept a sign.
fn hex(digits: &str) -> Option<u64> {
    let mut number = 0;
    for byte in digits.bytes() {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ => return None,
        };
        number = number << 4 | u64::from(digit);
    }
    Some(number)
}
