//! Completed records this process has seen. Only `COMPLETED` may be remembered: it does not change until it expires.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::record::Record;

/// At most `capacity` records; the least recently used one makes room. A capacity of 0 is no cache.
pub(crate) struct Cache {
    capacity: usize,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    uses: u64,
    records: HashMap<String, (u64, Record)>,
    /// The same records' ids by their last use.
    ids: BTreeMap<u64, String>,
}

impl Cache {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, entries: Mutex::default() }
    }

    pub(crate) fn get(&self, id: &str, now: Duration) -> Option<Record> {
        let mut entries = self.entries();
        let record = entries.take(id)?;
        if record.is_expired(now) {
            return None;
        }
        entries.put(record.clone());
        Some(record)
    }

    pub(crate) fn insert(&self, record: Record) {
        if self.capacity == 0 {
            return;
        }
        let mut entries = self.entries();
        entries.take(&record.id);
        if entries.records.len() >= self.capacity
            && let Some((_, id)) = entries.ids.pop_first()
        {
            entries.records.remove(&id);
        }
        entries.put(record);
    }

    /// A panic elsewhere leaves at worst a record too few in here.
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn take(&mut self, id: &str) -> Option<Record> {
        let (used, record) = self.records.remove(id)?;
        self.ids.remove(&used);
        Some(record)
    }

    fn put(&mut self, record: Record) {
        self.uses += 1;
        self.ids.insert(self.uses, record.id.clone());
        self.records.insert(record.id.clone(), (self.uses, record));
    }
}
