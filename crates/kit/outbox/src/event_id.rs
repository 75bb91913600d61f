//! Event ids that rise with the versions of their aggregate.

use std::time::{SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use crate::Error;

/// Returns the id of an aggregate's next event. It is higher than `last`, the id of the event before, also if clocks differ.
///
/// The form is `%016x-%016x`, as in the framework Eventuate: two numbers of 16 hexadecimal digits. The first is a time in milliseconds
/// since 1970: `now`, or one more than that of `last` if this host's clock is behind the clock that made `last`. The second is random. So
/// ids sort as text: within an aggregate by version, and between aggregates by time, as far as clocks agree.
///
/// Keep the last id in the aggregate's item and write it under the condition of the version: two hosts that make an id after the
/// same `last` are then two writers of the same version, and one of them is refused.
///
/// If `last` does not have this form, the result is [`Error::MalformedEventId`].
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use outbox::next_event_id;
///
/// let now = SystemTime::now();
/// let first = next_event_id(None, now)?;
/// let second = next_event_id(Some(&first), now - Duration::from_secs(3_600))?;
/// assert!(first < second);
/// # Ok::<_, outbox::Error>(())
/// ```
pub fn next_event_id(last: Option<&str>, now: SystemTime) -> Result<String, Error> {
    // A time before 1970 comes from a clock that was never set. It counts as 1970.
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let now = u64::try_from(now).map_err(|_| Error::MalformedEventId)?;
    let next = match last {
        None => now,
        Some(last) => now.max(millis_of(last).and_then(|last| last.checked_add(1)).ok_or(Error::MalformedEventId)?),
    };
    let (_, random) = Uuid::new_v4().as_u64_pair();
    Ok(format!("{next:016x}-{random:016x}"))
}

fn millis_of(id: &str) -> Option<u64> {
    let (millis, low) = id.split_once('-')?;
    let is_half = |half: &str| half.len() == 16 && half.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    if is_half(millis) && is_half(low) { u64::from_str_radix(millis, 16).ok() } else { None }
}
