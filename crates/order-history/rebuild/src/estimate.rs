//! Estimates what a rebuild reads and writes, its cost and its duration, without writing anything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use archive::Store;
use order_store::table::projected;
use order_view::VIEW;
use order_view::facet::{CONSUMER_ID, ORDER_CREATION_TIME};
use projection::State;
use projection::dynamodb::{Item, item_size, write_item};
use serde::{Deserialize, Serialize};

use crate::batch::{Meter, Processor, Sink};
use crate::error::Error;
use crate::execution::jobs;
use crate::filter::Filter;
use crate::fold::{Summary, Views};
use crate::plan::{Batch, SNAPSHOTS};

/// The estimate of a rebuild.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Estimate {
    /// The number of batches.
    pub batches: u64,
    /// The number of files.
    pub files: u64,
    /// Their size in the archive.
    pub bytes: u64,
    /// The bytes that were read for this estimate.
    pub bytes_read: u64,
    /// Whether all files were read, so that nothing is extrapolated.
    pub is_exact: bool,
    /// Events that are used.
    pub events: u64,
    /// Events that the filter leaves out.
    pub filtered: u64,
    /// Events of types that the view does not know.
    pub unknown_types: u64,
    /// Lines that cannot be read.
    pub quarantined: u64,
    /// Files that cannot be decoded completely.
    pub damaged: u64,
    /// Partial views to store. An order that is in several batches counts for each.
    pub views: u64,
    /// Requests to the table.
    pub requests: u64,
    /// Write units of the table and its index, if the table has none of the orders yet.
    pub write_units: u64,
    /// The size of the items, as DynamoDB counts it.
    pub item_bytes: u64,
    /// In US dollars.
    pub cost: Cost,
    /// The duration, at the requested rate or else at the rate that a new table accepts.
    pub seconds: u64,
    /// The write units per second of this estimate.
    pub rate: u64,
}

/// In US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cost {
    /// The write units.
    pub dynamodb: f64,
    /// The requests to S3.
    pub s3: f64,
    /// Both.
    pub total: f64,
    /// For comparison: `--sink files` and an import into a new table.
    pub import_table: f64,
    /// For comparison: all events once more through the queues.
    pub queues: f64,
}

/// List prices in US dollars from `bench/prices.json`, which names their region, date and sources.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Prices {
    dynamodb_million_write_units: f64,
    dynamodb_import_gb: f64,
    s3_thousand_puts: f64,
    s3_thousand_gets: f64,
    /// The cost of events through topic, queue and handler, in batches of ten: see docs/benchmarks.
    queues_million_events: f64,
}

/// A new on-demand table accepts this many write units per second at first, and more later.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html>
const NEW_TABLE: u64 = 4_000;

impl Prices {
    /// Reads `bench/prices.json`.
    pub fn read() -> Result<Self, Error> {
        serde_json::from_str(include_str!("../../../../bench/prices.json")).map_err(Error::Write)
    }
}

/// The input of an estimate.
#[derive(Debug, Clone)]
pub struct EstimateInput<'a> {
    /// The location of the files.
    pub archive: &'a Store,
    /// Which events are used.
    pub filter: &'a Filter,
    /// The batches of the run.
    pub batches: &'a [Batch],
    /// The memory for views, in bytes, as in the run.
    pub memory: usize,
    /// The write units per second that the run may use.
    pub rate: Option<u32>,
    /// The bytes of the archive that may be read for the estimate.
    pub sample: u64,
}

impl Estimate {
    /// Reads whole batches, as many as the sample allows and at least one, spread over the archive, and calculates the cost of
    /// writing them.
    pub async fn make(input: &EstimateInput<'_>, prices: Prices) -> Result<Self, Error> {
        let EstimateInput { archive, filter, batches, memory, rate, sample } = *input;
        let (of_snapshot, of_events): (Vec<_>, Vec<_>) =
            batches.iter().partition(|batch| batch.files.iter().any(|file| file.key.starts_with(SNAPSHOTS)));
        let simulated = Arc::new(Mutex::new(Simulated::default()));
        let processor = Processor {
            archive: archive.clone(),
            filter: Arc::new(filter.clone()),
            sink: Sink::Simulated(Arc::clone(&simulated)),
            memory,
            meter: Arc::new(Meter::default()),
        };
        let begun = Instant::now();
        let mut whole = Counts::default();
        let (mut bytes_read, total) = (0, batches.iter().map(|batch| batch.bytes).sum());
        // Views of a snapshot and events are extrapolated separately, because they only share the table.
        for (group, share) in [(&of_snapshot, share(&of_snapshot, total)), (&of_events, share(&of_events, total))] {
            let (mut found, mut counted) = (Counts::default(), 0);
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            for Sampled { batch, is_counted } in spread(group, (sample as f64 * share) as u64) {
                let before = lock(&simulated).counts;
                let (result, _) = processor.process(batch).await?;
                bytes_read += batch.bytes;
                if is_counted {
                    found.add(lock(&simulated).counts.since(before).with(&result.summary));
                    counted += batch.bytes;
                }
            }
            let of_group = group.iter().map(|batch| batch.bytes).sum();
            whole.add(found.scaled(of_group, counted));
        }
        let reading = begun.elapsed().as_secs_f64();
        let files = batches.iter().map(|batch| batch.files.len() as u64).sum();
        let write_units = whole.milliunits.div_ceil(1_000);
        let rate = rate.map_or(NEW_TABLE, u64::from).max(1);
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let folding = (reading * total as f64 / bytes_read.max(1) as f64 / (jobs() - 1).max(1) as f64).ceil() as u64;
        Ok(Self {
            batches: batches.len() as u64,
            files,
            bytes: total,
            bytes_read,
            is_exact: bytes_read == total,
            events: whole.events,
            filtered: whole.filtered,
            unknown_types: whole.unknown_types,
            quarantined: whole.quarantined,
            damaged: whole.damaged,
            views: whole.views,
            requests: whole.requests,
            write_units,
            item_bytes: whole.item_bytes,
            cost: prices.of(&whole, files, batches.len() as u64),
            // Reading and writing happen at the same time.
            seconds: write_units.div_ceil(rate).max(folding),
            rate,
        })
    }
}

impl Prices {
    #[allow(clippy::cast_precision_loss)] // Two digits are shown.
    fn of(&self, whole: &Counts, files: u64, batches: u64) -> Cost {
        let dynamodb = whole.milliunits as f64 / 1e9 * self.dynamodb_million_write_units;
        // A listing has 1,000 keys and costs as much as a PUT. Each batch has a result; the run has a plan, batches and a report.
        let puts = files.div_ceil(1_000) + batches + 3;
        let s3 = puts as f64 / 1e3 * self.s3_thousand_puts + files as f64 / 1e3 * self.s3_thousand_gets;
        Cost {
            dynamodb,
            s3,
            total: dynamodb + s3,
            import_table: s3 + whole.item_bytes as f64 / 1e9 * self.dynamodb_import_gb,
            queues: whole.events as f64 / 1e6 * self.queues_million_events,
        }
    }
}

/// A simulated table.
#[derive(Debug, Default)]
pub struct Simulated {
    orders: HashMap<String, State>,
    counts: Counts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Counts {
    events: u64,
    filtered: u64,
    unknown_types: u64,
    quarantined: u64,
    damaged: u64,
    views: u64,
    requests: u64,
    milliunits: u64,
    item_bytes: u64,
}

impl Simulated {
    /// Counts the cost of merging the views into the table.
    pub fn store(&mut self, views: Views) {
        for (order_id, view) in views {
            self.counts.views += 1;
            let Some(known) = self.orders.get_mut(&order_id) else {
                let item = write_item(&VIEW, &order_id, &view);
                self.counts.requests += 1;
                self.counts.milliunits += 1_000 * write_units(None, &item);
                self.counts.item_bytes += item_size(&item) as u64;
                self.orders.insert(order_id, view);
                continue;
            };
            let before = write_item(&VIEW, &order_id, known);
            // The item is put as if it were new. The refusal costs as much as a write of the existing item.
            self.counts.requests += 1;
            self.counts.milliunits += 1_000 * units(item_size(&before));
            known.merge(view);
            let after = write_item(&VIEW, &order_id, known);
            if before != after {
                self.counts.requests += 1;
                self.counts.milliunits += 1_000 * write_units(Some(&before), &after);
                self.counts.item_bytes += (item_size(&after) as u64).saturating_sub(item_size(&before) as u64);
            }
        }
    }
}

/// The cost of a write in the table and its index, in write units
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations>).
fn write_units(before: Option<&Item>, after: &Item) -> u64 {
    let table = units(item_size(after).max(before.map_or(0, item_size)));
    let index = match (before.and_then(index_entry), index_entry(after)) {
        (None, None) => 0,
        (Some(entry), None) | (None, Some(entry)) => units(item_size(&entry)),
        (Some(before), Some(after)) if before == after => 0,
        (Some(before), Some(after)) if INDEX_KEYS.iter().all(|key| before.get(*key) == after.get(*key)) => {
            units(item_size(&before).max(item_size(&after)))
        }
        // The old entry is deleted, and the new one is put.
        (Some(before), Some(after)) => units(item_size(&before)) + units(item_size(&after)),
    };
    table + index
}

const INDEX_KEYS: [&str; 2] = [CONSUMER_ID, ORDER_CREATION_TIME];

/// The index entry of an item; none if the keys of the index are missing.
fn index_entry(item: &Item) -> Option<Item> {
    if INDEX_KEYS.iter().any(|key| !item.contains_key(*key)) {
        return None;
    }
    let attributes = projected().chain(INDEX_KEYS).chain([VIEW.key]);
    Some(attributes.filter_map(|name| Some((name.to_owned(), item.get(name)?.clone()))).collect())
}

/// A unit is a write of up to 1 KB. A write needs at least one.
fn units(size: usize) -> u64 {
    (size as u64).div_ceil(1_024).max(1)
}

impl Counts {
    fn add(&mut self, other: Self) {
        *self = self.combine(other, |mine, other| mine + other);
    }

    fn since(self, before: Self) -> Self {
        self.combine(before, |now, before| now - before)
    }

    fn with(self, summary: &Summary) -> Self {
        Self {
            events: summary.events,
            filtered: summary.filtered,
            unknown_types: summary.unknown_types,
            quarantined: summary.lines_quarantined(),
            damaged: summary.damaged.len() as u64,
            ..self
        }
    }

    /// Extrapolates from a part to the whole.
    fn scaled(self, whole: u64, part: u64) -> Self {
        if whole == part {
            return self;
        }
        let scale = |count: u64| u128::from(count) * u128::from(whole) / u128::from(part.max(1));
        self.combine(self, |count, _| scale(count).try_into().unwrap_or(u64::MAX))
    }

    fn combine(self, other: Self, each: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            events: each(self.events, other.events),
            filtered: each(self.filtered, other.filtered),
            unknown_types: each(self.unknown_types, other.unknown_types),
            quarantined: each(self.quarantined, other.quarantined),
            damaged: each(self.damaged, other.damaged),
            views: each(self.views, other.views),
            requests: each(self.requests, other.requests),
            milliunits: each(self.milliunits, other.milliunits),
            item_bytes: each(self.item_bytes, other.item_bytes),
        }
    }
}

#[allow(clippy::cast_precision_loss)] // It is a share.
fn share(group: &[&Batch], total: u64) -> f64 {
    group.iter().map(|batch| batch.bytes).sum::<u64>() as f64 / total.max(1) as f64
}

/// A batch that is read for the estimate.
#[derive(Clone, Copy)]
struct Sampled<'a> {
    batch: &'a Batch,
    /// Whether it is counted. Otherwise it only fills the simulated table with the orders of the previous day.
    is_counted: bool,
}

/// The number of places in the archive that are sampled.
const PLACES: usize = 4;

/// All batches if they have no more than `sample` bytes together; otherwise some, in a few places with equal gaps between
/// them. Consecutive batches share orders, whose second write is an update. Therefore the first batch of each place is read
/// but not counted.
fn spread<'a>(batches: &[&'a Batch], sample: u64) -> Vec<Sampled<'a>> {
    let total: u64 = batches.iter().map(|batch| batch.bytes).sum();
    let average = (total / batches.len().max(1) as u64).max(1);
    let wanted = usize::try_from(sample / average).unwrap_or(usize::MAX).max(2);
    if total <= sample || wanted >= batches.len() {
        return batches.iter().map(|batch| Sampled { batch, is_counted: true }).collect();
    }
    let places = PLACES.min(wanted / 2);
    let (step, length) = (batches.len() / places, wanted / places);
    let place = |number: usize| {
        // From the middle, because the first and the last day are often incomplete.
        let first = number * step + (step - length) / 2;
        let all = batches.iter().enumerate().skip(first).take(length);
        all.map(move |(place, batch)| Sampled { batch, is_counted: place > first || first == 0 })
    };
    (0..places).flat_map(place).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
