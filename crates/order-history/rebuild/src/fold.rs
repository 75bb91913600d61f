//! Folds the records of files to partial views, by order.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use archive::{Damaged, read};
use lambda_boot::with_causes;
use order_events::{Malformed, Message};
use order_view::{VIEW, pieces};
use projection::{Contradiction, State, read_line};
use serde::{Deserialize, Serialize};

use crate::buckets::BadFile;
use crate::buckets::lines;
use crate::filter::Filter;

/// Views by order. A hash map, so that writes are spread over the partitions of a table.
pub type Views = HashMap<String, State>;

/// Folds the records of files to partial views. If they may exceed the memory limit, they are passed on,
/// and the fold continues without them. Merging the parts of a view later makes the same view.
#[derive(Debug)]
pub struct Fold {
    filter: Arc<Filter>,
    limit: usize,
    views: Views,
    /// The memory of the views in bytes, or more.
    size: usize,
    summary: Summary,
    quarantine: Vec<Quarantined>,
    kept_text: usize,
}

/// The contents of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Events that were used.
    pub events: u64,
    /// Events that a filter left out.
    pub filtered: u64,
    /// Events of types that this view does not use. This is normal: the archive contains all events.
    pub unknown_types: u64,
    /// Partial views of snapshots that were used.
    pub items: u64,
    /// The number of lines that could not be read, by the code of the reason.
    pub quarantined: BTreeMap<String, u64>,
    /// Files that could not be decoded completely.
    pub damaged: Vec<DamagedFile>,
    /// The number of pairs of events with the same id and different content.
    pub contradictions: u64,
    /// The first of these pairs, at most 1,000.
    pub contradicted: Vec<Contradicted>,
}

/// A file that could not be decoded completely. The readable part was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DamagedFile {
    /// Its key in the archive.
    pub file: String,
    /// The reason.
    pub reason: String,
}

/// Two events with the same id and different content. One of them is used; the choice does not depend on their order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Contradicted {
    /// The order of the events.
    pub order_id: String,
    /// The id of both events.
    pub event_id: String,
}

/// A line that cannot be read. It contains customer data: keep it in the archive, and out of logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantined {
    /// The file's key in the archive.
    pub file: String,
    /// The line of the decoded file, from 1.
    pub line: u64,
    /// A short, stable name of the reason.
    pub code: String,
    /// The reason. It names fields, never values.
    pub reason: String,
    /// The line itself. None if too many lines were kept before; then it is only in the archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// The largest number of quarantined lines that are kept for one batch. The others are only counted.
pub const MAX_QUARANTINED: usize = 100_000;
/// The largest number of bytes of quarantined lines that are kept for one batch.
const MAX_TEXT_BYTES: usize = 16 << 20;
/// The largest number of contradictions that are listed.
const MAX_LISTED: usize = 1_000;
/// The memory of an order besides the text of its events, in bytes: the map entry and the nodes of the state's maps.
const PER_ORDER: usize = 1_000;

/// The memory of a map entry besides id and view, in bytes, including the map's free slots.
const PER_ENTRY: usize = 100;

impl Fold {
    /// A fold of the events that `filter` accepts. It passes its views on before they exceed `limit` bytes.
    #[must_use]
    pub fn new(filter: Arc<Filter>, limit: usize) -> Self {
        Self {
            filter,
            limit,
            views: Views::new(),
            size: 0,
            summary: Summary::default(),
            quarantine: Vec::new(),
            kept_text: 0,
        }
    }

    /// Folds the events of a file of the archive. Calls `flush` with the views whenever they are too large.
    pub fn file(&mut self, file: &str, bytes: &[u8], mut flush: impl FnMut(Views)) {
        let decoded = read(bytes, |record| {
            self.event(file, record.line, record.text);
            self.flush_if_full(&mut flush);
        });
        self.add_damage(file, decoded);
    }

    /// Merges an item line: the view of an order.
    pub fn item(&mut self, file: &str, line: u64, text: &[u8]) {
        match read_line(&VIEW, text) {
            Ok((order_id, found)) => {
                if let Some(unreadable) = found.unreadable.first() {
                    self.quarantine(file, line, "corrupt_item", unreadable.to_string(), text);
                }
                self.view(&order_id, found.whole(&VIEW), text.len());
            }
            Err(bad) => self.quarantine(file, line, "malformed_item", bad.to_string(), text),
        }
    }

    /// Folds one event.
    pub fn event(&mut self, file: &str, line: u64, text: &[u8]) {
        let message = match std::str::from_utf8(text) {
            Ok(text) => Message::parse(text),
            Err(_) => return self.quarantine(file, line, "malformed_body", "the line is not UTF-8".to_owned(), text),
        };
        let event = match message {
            Ok(message) => message.event,
            Err(Malformed::Type(_)) => {
                self.summary.unknown_types += 1;
                return;
            }
            Err(malformed) => return self.quarantine(file, line, malformed.code(), with_causes(&malformed), text),
        };
        if !self.filter.accepts(&event) {
            self.summary.filtered += 1;
            return;
        }
        match pieces(&event) {
            Ok(pieces) => {
                self.summary.events += 1;
                let (before, order_id) = (self.views.len(), event.order_id_text());
                self.size += text.len();
                let contradictions = match self.views.get_mut(order_id) {
                    Some(view) => view.apply(pieces),
                    None => self.views.entry(order_id.to_owned()).or_default().apply(pieces),
                };
                self.size += (self.views.len() - before) * (PER_ORDER + order_id.len());
                self.summary.add_contradictions(order_id, contradictions);
            }
            Err(unwritable) => self.quarantine(file, line, "unwritable", with_causes(&unwritable), text),
        }
    }

    /// Merges the views of a file of a snapshot. None of them is passed on if the file is damaged.
    pub fn views(&mut self, file: &[u8], mut flush: impl FnMut(Views)) -> Result<(), BadFile> {
        // The checksum is at the end of the file, and the decompressed file may exceed the memory. Therefore it is read twice.
        lines::check(file)?;
        lines::read(file, |order_id, view| {
            let size = view.size();
            self.view(&order_id, view, size);
            self.flush_if_full(&mut flush);
        })?;
        Ok(())
    }

    /// Merges the view of an order.
    pub fn view(&mut self, order_id: &str, state: State, size: usize) {
        if !self.filter.accepts_order(order_id) {
            self.summary.filtered += 1;
            return;
        }
        self.summary.items += 1;
        self.size += PER_ORDER + order_id.len() + size;
        let contradictions = match self.views.get_mut(order_id) {
            Some(view) => view.merge(state),
            None => self.views.entry(order_id.to_owned()).or_default().merge(state),
        };
        self.summary.add_contradictions(order_id, contradictions);
    }

    /// Reports a file that is damaged.
    pub fn damaged(&mut self, file: &str, reason: impl Into<String>) {
        self.summary.damaged.push(DamagedFile { file: file.to_owned(), reason: reason.into() });
    }

    /// The memory of the views in bytes, or more.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether the views exceed the limit and should be passed on.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.size > self.limit
    }

    /// The summary so far.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// Removes and returns the views.
    pub fn take(&mut self) -> Views {
        self.size = 0;
        std::mem::take(&mut self.views)
    }

    /// Ends the fold. Returns the remaining views, the summary of all files, and the lines that cannot be read.
    #[must_use]
    pub fn finish(self) -> (Views, Summary, Vec<Quarantined>) {
        (self.views, self.summary, self.quarantine)
    }

    fn flush_if_full(&mut self, flush: &mut impl FnMut(Views)) {
        if !self.is_full() {
            return;
        }
        // Until now, `size` is the size of the events, which are larger than the views.
        let exact = |(order_id, view): (&String, &State)| PER_ENTRY + order_id.len() + view.size();
        self.size = self.views.iter().map(exact).sum();
        // At most half, because the allocator needs more than the sum, and so that this calculation is rare.
        if self.size > self.limit / 2 {
            flush(self.take());
        }
    }

    fn add_damage(&mut self, file: &str, decoded: Result<(), Damaged>) {
        if let Err(damaged) = decoded {
            self.damaged(file, damaged.to_string());
        }
    }

    fn quarantine(&mut self, file: &str, line: u64, code: &str, reason: String, text: &[u8]) {
        *self.summary.quarantined.entry(code.to_owned()).or_default() += 1;
        if self.quarantine.len() == MAX_QUARANTINED {
            return;
        }
        self.kept_text += text.len();
        let text = (self.kept_text <= MAX_TEXT_BYTES).then(|| String::from_utf8_lossy(text).into_owned());
        self.quarantine.push(Quarantined { file: file.to_owned(), line, code: code.to_owned(), reason, text });
    }
}

impl Summary {
    /// The number of lines that could not be read.
    #[must_use]
    pub fn lines_quarantined(&self) -> u64 {
        self.quarantined.values().sum()
    }

    /// Adds another summary.
    pub fn add(&mut self, other: Self) {
        self.events += other.events;
        self.filtered += other.filtered;
        self.unknown_types += other.unknown_types;
        self.items += other.items;
        for (code, count) in other.quarantined {
            *self.quarantined.entry(code).or_default() += count;
        }
        self.damaged.extend(other.damaged);
        self.contradictions += other.contradictions;
        let room = MAX_LISTED.saturating_sub(self.contradicted.len());
        self.contradicted.extend(other.contradicted.into_iter().take(room));
    }

    /// Adds contradictions of an order.
    pub fn add_contradictions(&mut self, order_id: &str, contradictions: Vec<Contradiction>) {
        for Contradiction { by, .. } in contradictions {
            let contradicted = Contradicted { order_id: order_id.to_owned(), event_id: by.to_string() };
            // An event writes several facets, and has a contradiction in each of them.
            if self.contradicted.last() == Some(&contradicted) {
                continue;
            }
            self.contradictions += 1;
            if self.contradicted.len() < MAX_LISTED {
                self.contradicted.push(contradicted);
            }
        }
    }
}
