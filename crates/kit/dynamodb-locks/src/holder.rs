//! Who holds a lock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::record::Record;

/// Who holds a lock, according to the lock's item.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Holder {
    /// The token of the exclusive holder: `<name>#<random>`, if its [`Locks`](crate::Locks) has a name.
    pub owner: Option<String>,
    /// How many shared holders there are. Some may have died; they count until the last one's lease ends.
    pub readers: usize,
    /// When the last of the leases ends by the holders' clocks. Heartbeats may extend it.
    pub until: Option<SystemTime>,
    /// Until when a waiting writer keeps new readers out, by its clock. It may be the only reason why a reader is refused.
    pub writer_waits_until: Option<SystemTime>,
    /// The fencing token of the lock.
    pub fence: Option<u64>,
    pub(crate) sighting: Box<Sighting>,
}

impl Holder {
    pub(crate) fn new(sighting: Sighting) -> Self {
        let record = &sighting.record;
        Self {
            owner: record.owner.clone(),
            readers: record.readers.len(),
            until: record.held_until().and_then(time),
            writer_waits_until: record.writer_waits_until.and_then(time),
            fence: record.fence,
            sighting: Box::new(sighting),
        }
    }
}

fn time(millis: u64) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(millis))
}

/// What was seen of a lock, and since when it has looked like that, by this process's monotonic clock.
#[derive(Debug, Clone)]
pub(crate) struct Sighting {
    pub(crate) record: Record,
    nonce_since: Instant,
    mark_since: Instant,
}

impl Sighting {
    /// The record as a response that has just arrived shows it.
    pub(crate) fn now(record: Record, before: Option<&Self>) -> Self {
        let now = Instant::now();
        let (nonce_since, mark_since) = match before {
            None => (now, now),
            Some(before) => (
                if before.record.nonce == record.nonce { before.nonce_since } else { now },
                if before.record.writer_waits_until == record.writer_waits_until { before.mark_since } else { now },
            ),
        };
        Self { record, nonce_since, mark_since }
    }

    /// When the holders have shown no sign of life for the whole of their lease. `None`: the record does not say how long
    /// that is.
    pub(crate) fn ripe_at(&self) -> Option<Instant> {
        self.record.nonce.as_ref()?;
        self.nonce_since.checked_add(Duration::from_millis(self.record.lease_ms?))
    }

    /// The nonce of holders that have shown no sign of life for the whole of their lease.
    pub(crate) fn ripe_nonce(&self) -> Option<&str> {
        let ripe_at = self.ripe_at()?;
        if Instant::now() >= ripe_at { self.record.nonce.as_deref() } else { None }
    }

    /// The mark of a waiting writer that has not changed for `lease`. It only decides about fairness, so the reader's own
    /// lease is as good a bound as any.
    pub(crate) fn ripe_mark(&self, lease: Duration) -> Option<u64> {
        if self.mark_since.elapsed() >= lease { self.record.writer_waits_until } else { None }
    }
}
