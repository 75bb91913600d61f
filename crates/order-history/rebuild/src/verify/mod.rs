//! Two views compared, order by order.
//!
//! Both sides are read once and in full. What an order looks like is noted as a digest of 16 bytes, in files of a temporary folder,
//! so memory does not grow with the tables. Orders whose digests differ are read again by their ids, on both sides. What then still
//! differs is read a third time after a pause, because events may be on their way to one side: it counts as a difference only if
//! one side still lacks what the other one had before the pause. Views only grow, so this tells lag from loss even for an order that
//! changes all the time.

mod archived;
mod digests;
mod normal;

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use archive::Store;
use futures_util::{StreamExt, TryStreamExt, stream};
use order_view::VIEW;
use projection::dynamodb::{Item, read_item, write_item};
use projection::{Found, State};
use serde::Serialize;
use uuid::Uuid;

use self::archived::Archived;
use self::digests::Digests;
use self::normal::{differing, digest};
use crate::buckets::{blocking, order_hash};
use crate::error::Error;
use crate::fold::Summary;
use crate::scan::{Size, Source, is_known, order_id};

/// What is compared, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The table that is held to be right.
    pub left: Source,
    /// What is compared with it.
    pub right: Right,
    /// Which orders are compared.
    pub sample: Sample,
    /// In how many parts a table is read at the same time.
    pub segments: u32,
    /// How long to wait before orders that differ are looked at again.
    pub pause: Duration,
    /// How many bytes the views of the archive may take in memory.
    pub memory: usize,
    /// How many files or buckets of the archive are worked on at the same time.
    pub workers: usize,
}

/// What is compared with the left table.
#[derive(Debug, Clone)]
pub enum Right {
    /// Another table. Whole items are compared.
    Table(Source),
    /// What the archive's events make. Attributes that the view does not know are ignored, and counted.
    Archive {
        /// The archive.
        archive: Store,
        /// Whether its latest snapshot may stand for the files in it.
        use_snapshot: bool,
    },
}

/// Between two tables an event is on its way for about a second.
pub const TABLE_PAUSE: Duration = Duration::from_secs(5);
/// The archiver collects events for up to 300 seconds.
pub const ARCHIVE_PAUSE: Duration = Duration::from_secs(330);

/// A part of all orders, chosen by a hash of their ids: every process chooses the same ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    share: f64,
}

/// A text that is no share of the orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a share of the orders such as 1% or 0.01, above 0 and at most 100%")]
pub struct NotASample;

/// What is told while a comparison is under way.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// What reading the tables will cost. It is told before anything is read.
    Estimate(Estimate),
    /// How many orders were read so far, of both sides.
    Read {
        /// Of the left table.
        left: u64,
        /// Of the right side.
        right: u64,
    },
    /// Something that the reader of the result should know.
    Note {
        /// What.
        message: String,
    },
    /// Some orders differ, and are looked at again after a pause.
    LookAgain {
        /// How many.
        orders: u64,
        /// In how many seconds.
        seconds: u64,
    },
}

/// What reading the tables will cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// How many orders there are on both sides, as far as that is known without reading.
    pub orders: u64,
    /// How many bytes they have.
    pub bytes: u64,
    /// Read request units: one for each 8 KB, as the reads are eventually consistent.
    pub read_units: u64,
    /// At the on-demand price of us-east-1.
    pub dollars: f64,
}

/// `DynamoDB`'s price of a million read request units, on demand, in us-east-1 (<https://aws.amazon.com/dynamodb/pricing/on-demand/>).
const DOLLARS_PER_MILLION: f64 = 0.125;

/// What a comparison found.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// How many orders of the left table were compared.
    pub left: u64,
    /// How many orders of the right side were compared.
    pub right: u64,
    /// How many orders differed at first and no longer when they were looked at again: events were on their way.
    pub settled: u64,
    /// The orders that differ, and how.
    pub differences: BTreeMap<String, Difference>,
    /// How many more orders differed at first. They were not looked at again, and are not named.
    pub unnamed: u64,
    /// Against an archive: how many items have an attribute that the view does not know, by its name.
    pub ignored: BTreeMap<String, u64>,
    /// Against an archive: what was found in its files.
    pub archive: Option<Summary>,
}

/// How an order differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "difference", rename_all = "snake_case")]
pub enum Difference {
    /// Both sides have it.
    Changed {
        /// The attributes that differ. Their values are customers' data and are not shown.
        attributes: BTreeSet<String>,
    },
    /// Only the left table has it.
    Missing,
    /// Only the right side has it.
    Extra,
}

/// More orders than this are not looked at again: it would take memory, and another list of so many ids helps nobody.
const MOST_NAMED: usize = 10_000;
/// How many orders are read at a time when they are looked at again.
const STRIDE: usize = 500;
/// A `Scan` has at most this many segments
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html>).
const MOST_SEGMENTS: u32 = 1_000_000;

impl Comparison {
    /// Whether no order differs.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty() && self.unnamed == 0
    }

    /// How many orders were changed, are missing on the right, and are only there.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        self.differences.values().fold((0, 0, 0), |(changed, missing, extra), difference| match difference {
            Difference::Changed { .. } => (changed + 1, missing, extra),
            Difference::Missing => (changed, missing + 1, extra),
            Difference::Extra => (changed, missing, extra + 1),
        })
    }
}

/// Compares two views. `told` hears what it costs first, and then how far it is.
pub async fn compare(options: Options, told: impl Fn(Step) + Send + Sync) -> Result<Comparison, Error> {
    told(Step::Estimate(options.estimate().await?));
    let folder = Temporary::new();
    let mut compared = Comparison::default();
    let told = &told;
    let read = Mutex::new((0, 0));
    let count = |left: u64, right: u64| {
        let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
        *read = (read.0 + left, read.1 + right);
        told(Step::Read { left: read.0, right: read.1 });
    };

    let (count_left, count_right) = (|orders| count(orders, 0), |orders| count(0, orders));
    let digests = |side: &str| Digests::new(folder.path.join(side)).map(Arc::new).map_err(Error::Temporary);
    let (left, right) = (digests("left")?, digests("right")?);
    let ignored = Arc::new(Mutex::new(BTreeMap::new()));
    let mut sides = match &options.right {
        Right::Table(table) => {
            let left_read = options.scan(&options.left, &left, None, &count_left);
            let right_read = options.scan(table, &right, None, &count_right);
            (compared.left, compared.right) = tokio::try_join!(left_read, right_read)?;
            Sides { left: &options.left, right: Other::Table(table) }
        }
        Right::Archive { archive, use_snapshot } => {
            // The archive first: what is written meanwhile is in the table, and may still come to the archive.
            let store = Store::folder(folder.path.join("archive"));
            let archived = Archived::build(&options, archive, *use_snapshot, store, told).await?;
            compared.right = archived.digests(&right, &count_right).await?;
            let left_read = options.scan(&options.left, &left, Some(&ignored), &count_left);
            compared.left = left_read.await?;
            Sides { left: &options.left, right: Other::Archive(Box::new(archived)) }
        }
    };

    let (suspects, unnamed) = blocking(move || suspects(&left, &right)).await?.map_err(Error::Temporary)?;
    compared.unnamed = unnamed;
    sides.look_again(suspects, options.pause, &mut compared, told).await?;
    if let Other::Archive(archived) = sides.right {
        compared.archive = Some(archived.summary);
    }
    compared.ignored = mem_take(&ignored);
    Ok(compared)
}

fn mem_take<T: Default>(value: &Mutex<T>) -> T {
    std::mem::take(&mut *value.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Options {
    async fn estimate(&self) -> Result<Estimate, Error> {
        let left = self.left.size().await?;
        let right = match &self.right {
            Right::Table(table) => table.size().await?,
            // Reading S3 costs next to nothing.
            Right::Archive { .. } => Size::default(),
        };
        let share = if matches!(self.right, Right::Table(_)) { self.sample.share } else { 1.0 };
        let part = |count: u64| {
            #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let part = (count as f64 * share).ceil() as u64;
            part
        };
        let bytes = part(left.bytes + right.bytes);
        let read_units = bytes.div_ceil(8 * 1024);
        #[allow(clippy::cast_precision_loss)]
        let dollars = read_units as f64 * DOLLARS_PER_MILLION / 1e6;
        Ok(Estimate { orders: part(left.items + right.items), bytes, read_units, dollars })
    }

    /// Which segments of how many are read. `DynamoDB` assigns items to segments by a hash of their keys, so two tables have the same
    /// orders in the same segment; and if it were otherwise, orders that seem to be missing are looked up by their ids. So to compare
    /// 1% of two tables costs 1% of reading them. An archive has no such segments: there the sample is taken of what was read.
    fn scanned(&self) -> (Vec<u32>, u32) {
        let segments = self.segments.clamp(1, MOST_SEGMENTS);
        if matches!(self.right, Right::Archive { .. }) || self.sample.is_all() {
            return ((0..segments).collect(), segments);
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let stride = ((1.0 / self.sample.share).round() as u32).clamp(1, MOST_SEGMENTS / segments);
        ((0..segments).map(|segment| segment * stride).collect(), segments * stride)
    }

    /// Reads a table and notes the digests; returns how many orders were noted. With `ignored`, the items are compared as the view
    /// reads them, and what it does not know is counted there.
    async fn scan(
        &self,
        table: &Source,
        digests: &Arc<Digests>,
        ignored: Option<&Arc<Mutex<BTreeMap<String, u64>>>>,
        count: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<u64, Error> {
        let (segments, total) = self.scanned();
        // Two tables are sampled by segment.
        let sample = if ignored.is_some() { self.sample } else { Sample::ALL };
        let scans = stream::iter(segments).map(|segment| async move {
            let mut orders = 0;
            let page = async |items: Vec<Item>| {
                let (digests, ignored) = (Arc::clone(digests), ignored.cloned());
                let noted = blocking(move || note(items, sample, &digests, ignored.as_deref())).await?;
                let noted = noted.map_err(Error::Temporary)?;
                orders += noted;
                count(noted);
                Ok(())
            };
            table.scan(segment, total, false, page).await?;
            Ok::<_, Error>(orders)
        });
        scans.buffer_unordered(self.segments.max(1) as usize).try_fold(0, async |sum, orders| Ok(sum + orders)).await
    }
}

/// Notes the digests of some items; returns of how many.
fn note(
    items: Vec<Item>,
    sample: Sample,
    digests: &Digests,
    ignored: Option<&Mutex<BTreeMap<String, u64>>>,
) -> std::io::Result<u64> {
    let mut orders = 0;
    for item in items {
        let Some(order_id) = order_id(&item).map(str::to_owned) else { continue };
        if !sample.has(&order_id) {
            continue;
        }
        orders += 1;
        let item = match ignored {
            None => item,
            Some(ignored) => {
                let known = as_view(&order_id, &item);
                let mut ignored = ignored.lock().unwrap_or_else(PoisonError::into_inner);
                for name in item.keys().filter(|name| !is_known(name)) {
                    *ignored.entry(name.clone()).or_default() += 1;
                }
                known
            }
        };
        digests.add(&order_id, digest(&item))?;
    }
    Ok(orders)
}

/// An item as the view reads it: without what the view does not know.
fn as_view(order_id: &str, item: &Item) -> Item {
    write_item(&VIEW, order_id, &read_item(&VIEW, item.clone()).state)
}

/// The orders whose digests differ or are on one side only; and how many there are beyond the most that are named.
fn suspects(left: &Digests, right: &Digests) -> std::io::Result<(Vec<String>, u64)> {
    let (mut suspects, mut more) = (Vec::new(), 0);
    for bucket in Digests::buckets() {
        let (left, mut right) = (left.read(bucket)?, right.read(bucket)?);
        let differing = left.into_iter().filter(|(order_id, digest)| right.remove(order_id) != Some(*digest));
        let mut found: Vec<_> = differing.map(|(order_id, _)| order_id).collect();
        found.extend(right.into_keys());
        found.sort_unstable();
        let room = found.len().min(MOST_NAMED.saturating_sub(suspects.len()));
        more += (found.len() - room) as u64;
        suspects.extend(found.into_iter().take(room));
    }
    Ok((suspects, more))
}

/// Both sides, to be read by order.
struct Sides<'a> {
    left: &'a Source,
    right: Other<'a>,
}

enum Other<'a> {
    Table(&'a Source),
    Archive(Box<Archived>),
}

/// What both sides have of an order.
type Pair = (Option<Item>, Option<Item>);

impl Sides<'_> {
    async fn look_again(
        &mut self,
        suspects: Vec<String>,
        pause: Duration,
        compared: &mut Comparison,
        told: &(impl Fn(Step) + Send + Sync),
    ) -> Result<(), Error> {
        let mut before = BTreeMap::new();
        for some in suspects.chunks(STRIDE) {
            before.extend(self.get(some).await?.into_iter().filter(|(_, pair)| !is_equal(pair)));
        }
        compared.settled = (suspects.len() - before.len()) as u64;
        if before.is_empty() {
            return Ok(());
        }
        told(Step::LookAgain { orders: before.len() as u64, seconds: pause.as_secs() });
        tokio::time::sleep(pause).await;
        if let Other::Archive(archived) = &mut self.right {
            archived.take_in_new_files(before.keys()).await?;
        }
        let orders: Vec<_> = before.keys().cloned().collect();
        for some in orders.chunks(STRIDE) {
            for (order_id, after) in self.get(some).await? {
                match before.get(&order_id).and_then(|before| difference(before, &after)) {
                    Some(difference) => _ = compared.differences.insert(order_id, difference),
                    None => compared.settled += 1,
                }
            }
        }
        Ok(())
    }

    async fn get(&self, order_ids: &[String]) -> Result<BTreeMap<String, Pair>, Error> {
        let mut left = self.left.get(order_ids).await?;
        let mut right = match &self.right {
            Other::Table(table) => table.get(order_ids).await?,
            Other::Archive(archived) => {
                for (order_id, item) in &mut left {
                    *item = as_view(order_id, item);
                }
                archived.get(order_ids).await?
            }
        };
        let pair = |order_id: &String| (order_id.clone(), (left.remove(order_id), right.remove(order_id)));
        Ok(order_ids.iter().map(pair).collect())
    }
}

fn is_equal(pair: &Pair) -> bool {
    match pair {
        (Some(left), Some(right)) => digest(left) == digest(right),
        (left, right) => left.is_none() && right.is_none(),
    }
}

/// How an order differs, if a side still lacks what the other one had before.
fn difference(before: &Pair, after: &Pair) -> Option<Difference> {
    if is_equal(after) {
        return None;
    }
    let difference = match after {
        (Some(_), None) => Difference::Missing,
        (None, Some(_)) => Difference::Extra,
        (None, None) => return None,
        (Some(left), Some(right)) => {
            let ((left_before, left_strange), (right_before, right_strange)) =
                (state(before.0.as_ref()), state(before.1.as_ref()));
            let ((left_now, _), (right_now, _)) = (state(Some(left)), state(Some(right)));
            let is_lag = covers(&right_now, left_before) && covers(&left_now, right_before);
            if is_lag && !left_strange && !right_strange && strangers(left) == strangers(right) {
                return None;
            }
            Difference::Changed { attributes: differing(left, right) }
        }
    };
    Some(difference)
}

/// What the view reads from an item, and whether there is something that it cannot read.
fn state(item: Option<&Item>) -> (State, bool) {
    let Found { state, unreadable } = item.cloned().map(|item| read_item(&VIEW, item)).unwrap_or_default();
    (state, !unreadable.is_empty())
}

/// Whether `now` has all that `before` has, or later.
fn covers(now: &State, before: State) -> bool {
    let mut both = now.clone();
    both.merge(before).is_empty() && both == *now
}

/// The digest of what the view does not know.
fn strangers(item: &Item) -> normal::Digest {
    let strange = item.iter().filter(|(name, _)| !is_known(name));
    digest(&strange.map(|(name, value)| (name.clone(), value.clone())).collect())
}

impl Sample {
    /// All orders.
    pub const ALL: Self = Self { share: 1.0 };

    /// Whether an order is in the sample.
    #[must_use]
    pub fn has(self, order_id: &str) -> bool {
        // Buckets are made by the low bits.
        #[allow(clippy::cast_precision_loss)]
        let place = (order_hash(order_id) >> 11) as f64 / (1_u64 << 53) as f64;
        place < self.share
    }

    /// Whether it is all orders.
    #[must_use]
    pub fn is_all(self) -> bool {
        self.share >= 1.0
    }
}

impl FromStr for Sample {
    type Err = NotASample;

    fn from_str(text: &str) -> Result<Self, NotASample> {
        let (number, divisor) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
        let share = number.trim().parse::<f64>().map_err(|_| NotASample)? / divisor;
        if share > 0.0 && share <= 1.0 { Ok(Self { share }) } else { Err(NotASample) }
    }
}

/// A folder that is removed when this value is dropped.
struct Temporary {
    path: PathBuf,
}

impl Temporary {
    fn new() -> Self {
        Self { path: env::temp_dir().join(format!("rebuild-verify-{}", Uuid::new_v4())) }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // What is left is only disk space, and there is nobody to tell.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
