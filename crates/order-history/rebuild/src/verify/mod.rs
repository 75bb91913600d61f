//! Compares two views, order by order.
//!
//! Both sides are read once, completely. Each order is stored as a digest of 16 bytes, in files of a temporary folder,
//! so memory does not grow with the tables. Orders whose digests differ are read again by their ids, on both sides.
//! Orders that still differ are read a third time after a pause, because events may still arrive on one side. An order
//! counts as different only if one side still lacks data that the other side had before the pause. A view never
//! loses an event, so this distinguishes a delay from a loss, even for an order that changes all the time.

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

use self::archived::ArchivedViews;
use self::digests::Digests;
use self::normal::{differing, digest};
use crate::buckets::{blocking, order_hash};
use crate::error::Error;
use crate::fold::Summary;
use crate::scan::{Size, Source, is_known, order_id};

/// The sides and the settings of a comparison.
#[derive(Debug, Clone)]
pub struct Options {
    /// The reference table.
    pub left: Source,
    /// The table or archive to compare with it.
    pub right: RightSide,
    /// The orders to compare.
    pub sample: Sample,
    /// The number of segments of a table that are read in parallel.
    pub segments: u32,
    /// The pause before different orders are compared again.
    pub pause: Duration,
    /// The memory for the views of the archive, in bytes.
    pub memory: usize,
    /// The number of files or buckets of the archive that are processed at the same time.
    pub workers: usize,
}

/// The right side of a comparison.
#[derive(Debug, Clone)]
pub enum RightSide {
    /// Another table. Whole items are compared.
    Table(Source),
    /// The views of the archive's events. Attributes that the view does not know are ignored and counted.
    Archive {
        /// The archive.
        archive: Store,
        /// Whether to start from its latest snapshot.
        use_snapshot: bool,
    },
}

/// An event reaches both tables within about one second.
pub const TABLE_PAUSE: Duration = Duration::from_secs(5);
/// The archiver collects events for up to 300 seconds.
pub const ARCHIVE_PAUSE: Duration = Duration::from_secs(330);

/// A part of all orders, selected by a hash of their ids: every process selects the same orders.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    share: f64,
}

/// The text is not a share of the orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a share of the orders such as 1% or 0.01, above 0 and at most 100%")]
pub struct InvalidSample;

/// The progress of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// The cost of reading the tables. This is the first step, before anything is read.
    Estimate(Estimate),
    /// The number of orders that were read so far.
    Read {
        /// Of the left table.
        left: u64,
        /// Of the right side.
        right: u64,
    },
    /// A note for the user.
    Note {
        /// The text of the note.
        message: String,
    },
    /// Some orders differ, and are compared again after a pause.
    LookAgain {
        /// The number of orders.
        orders: u64,
        /// The length of the pause.
        seconds: u64,
    },
}

/// The cost of reading the tables.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The number of orders on both sides, if it is known without reading.
    pub orders: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Read request units: one for each 8 KB, because the reads are eventually consistent.
    pub read_units: u64,
    /// At the on-demand price of us-east-1.
    pub dollars: f64,
}

/// `DynamoDB`'s price of a million read request units, on demand, in us-east-1 (<https://aws.amazon.com/dynamodb/pricing/on-demand/>).
const DOLLARS_PER_MILLION: f64 = 0.125;

/// The result of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Comparison {
    /// The number of compared orders of the left table.
    pub left: u64,
    /// The number of compared orders of the right side.
    pub right: u64,
    /// The number of orders that differed at first, but not after the pause.
    pub settled: u64,
    /// The orders that differ, and how.
    pub differences: BTreeMap<String, Difference>,
    /// The number of further orders that differed at first. They were not compared again, and are not listed.
    pub unnamed: u64,
    /// Against an archive: the number of items with an attribute that the view does not know, by attribute.
    pub ignored: BTreeMap<String, u64>,
    /// Against an archive: the summary of its files.
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

/// More different orders than this are not compared again and not listed, to limit memory.
const MAX_LISTED: usize = 10_000;
/// The number of orders that are read at a time for the second comparison.
const ORDERS_PER_READ: usize = 500;
/// A `Scan` has at most this many segments
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html>).
const MAX_SEGMENTS: u32 = 1_000_000;

impl Comparison {
    /// Whether no order differs.
    #[must_use]
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty() && self.unnamed == 0
    }

    /// The numbers of orders that are changed, missing on the right, and only on the right.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        self.differences.values().fold((0, 0, 0), |(changed, missing, extra), difference| match difference {
            Difference::Changed { .. } => (changed + 1, missing, extra),
            Difference::Missing => (changed, missing + 1, extra),
            Difference::Extra => (changed, missing, extra + 1),
        })
    }
}

/// Compares two views. Calls `on_step` first with the cost, and then with the progress.
pub async fn compare(options: Options, on_step: impl Fn(Step) + Send + Sync) -> Result<Comparison, Error> {
    on_step(Step::Estimate(options.estimate().await?));
    let folder = TemporaryFolder::new();
    let mut compared = Comparison::default();
    let on_step = &on_step;
    let read = Mutex::new((0, 0));
    let count = |left: u64, right: u64| {
        let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
        *read = (read.0 + left, read.1 + right);
        on_step(Step::Read { left: read.0, right: read.1 });
    };

    let (count_left, count_right) = (|orders| count(orders, 0), |orders| count(0, orders));
    let digests = |side: &str| Digests::new(folder.path.join(side)).map(Arc::new).map_err(Error::Temporary);
    let (left, right) = (digests("left")?, digests("right")?);
    let ignored = Arc::new(Mutex::new(BTreeMap::new()));
    let mut sides = match &options.right {
        RightSide::Table(table) => {
            let left_read = options.scan(&options.left, &left, None, &count_left);
            let right_read = options.scan(table, &right, None, &count_right);
            (compared.left, compared.right) = tokio::try_join!(left_read, right_read)?;
            Sides { left: &options.left, right: RightReader::Table(table) }
        }
        RightSide::Archive { archive, use_snapshot } => {
            // The archive first: an event that is written now is in the table, and will reach the archive later.
            let store = Store::folder(folder.path.join("archive"));
            let archived = ArchivedViews::build(&options, archive, *use_snapshot, store, on_step).await?;
            compared.right = archived.digests(&right, &count_right).await?;
            let left_read = options.scan(&options.left, &left, Some(&ignored), &count_left);
            compared.left = left_read.await?;
            Sides { left: &options.left, right: RightReader::Archive(Box::new(archived)) }
        }
    };

    let (different, unnamed) = blocking(move || different_orders(&left, &right)).await?.map_err(Error::Temporary)?;
    compared.unnamed = unnamed;
    sides.compare_again(different, options.pause, &mut compared, on_step).await?;
    if let RightReader::Archive(archived) = sides.right {
        compared.archive = Some(archived.summary);
    }
    compared.ignored = take_value(&ignored);
    Ok(compared)
}

fn take_value<T: Default>(value: &Mutex<T>) -> T {
    std::mem::take(&mut *value.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Options {
    async fn estimate(&self) -> Result<Estimate, Error> {
        let left = self.left.size().await?;
        let right = match &self.right {
            RightSide::Table(table) => table.size().await?,
            // The cost of reading S3 is negligible.
            RightSide::Archive { .. } => Size::default(),
        };
        let share = if matches!(self.right, RightSide::Table(_)) { self.sample.share } else { 1.0 };
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

    /// The segments to read, and the number of all segments. `DynamoDB` assigns items to segments by a hash of their keys, so two tables have the same
    /// orders in the same segment. (If not, orders that seem to be missing are looked up by their ids.) So comparing
    /// 1% of two tables costs 1% of reading them. An archive has no segments: there, the sample is taken after reading.
    fn scanned(&self) -> (Vec<u32>, u32) {
        let segments = self.segments.clamp(1, MAX_SEGMENTS);
        if matches!(self.right, RightSide::Archive { .. }) || self.sample.is_all() {
            return ((0..segments).collect(), segments);
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let stride = ((1.0 / self.sample.share).round() as u32).clamp(1, MAX_SEGMENTS / segments);
        ((0..segments).map(|segment| segment * stride).collect(), segments * stride)
    }

    /// Reads a table and adds the digests. Returns their number. With `ignored`, the items are compared as the view
    /// reads them, and unknown attributes are counted there.
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
                let added = blocking(move || add_digests(items, sample, &digests, ignored.as_deref())).await?;
                let added = added.map_err(Error::Temporary)?;
                orders += added;
                count(added);
                Ok(())
            };
            table.scan(segment, total, false, page).await?;
            Ok::<_, Error>(orders)
        });
        scans.buffer_unordered(self.segments.max(1) as usize).try_fold(0, async |sum, orders| Ok(sum + orders)).await
    }
}

/// Adds the digests of some items. Returns their number.
fn add_digests(
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

/// An item without the attributes that the view does not know.
fn as_view(order_id: &str, item: &Item) -> Item {
    write_item(&VIEW, order_id, &read_item(&VIEW, item.clone()).state)
}

/// The orders whose digests differ or exist on one side only, and the number of further ones beyond the limit.
fn different_orders(left: &Digests, right: &Digests) -> std::io::Result<(Vec<String>, u64)> {
    let (mut different, mut more) = (Vec::new(), 0);
    for bucket in Digests::buckets() {
        let (left, mut right) = (left.read(bucket)?, right.read(bucket)?);
        let differing = left.into_iter().filter(|(order_id, digest)| right.remove(order_id) != Some(*digest));
        let mut found: Vec<_> = differing.map(|(order_id, _)| order_id).collect();
        found.extend(right.into_keys());
        found.sort_unstable();
        let room = found.len().min(MAX_LISTED.saturating_sub(different.len()));
        more += (found.len() - room) as u64;
        different.extend(found.into_iter().take(room));
    }
    Ok((different, more))
}

/// Both sides, to read orders by id.
struct Sides<'a> {
    left: &'a Source,
    right: RightReader<'a>,
}

enum RightReader<'a> {
    Table(&'a Source),
    Archive(Box<ArchivedViews>),
}

/// The items of an order on both sides.
type Pair = (Option<Item>, Option<Item>);

impl Sides<'_> {
    async fn compare_again(
        &mut self,
        different: Vec<String>,
        pause: Duration,
        compared: &mut Comparison,
        on_step: &(impl Fn(Step) + Send + Sync),
    ) -> Result<(), Error> {
        let mut before = BTreeMap::new();
        for some in different.chunks(ORDERS_PER_READ) {
            before.extend(self.get(some).await?.into_iter().filter(|(_, pair)| !is_equal(pair)));
        }
        compared.settled = (different.len() - before.len()) as u64;
        if before.is_empty() {
            return Ok(());
        }
        on_step(Step::LookAgain { orders: before.len() as u64, seconds: pause.as_secs() });
        tokio::time::sleep(pause).await;
        if let RightReader::Archive(archived) = &mut self.right {
            archived.fold_new_files(before.keys()).await?;
        }
        let orders: Vec<_> = before.keys().cloned().collect();
        for some in orders.chunks(ORDERS_PER_READ) {
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
            RightReader::Table(table) => table.get(order_ids).await?,
            RightReader::Archive(archived) => {
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

/// How an order differs, if one side still lacks data that the other side had before.
fn difference(before: &Pair, after: &Pair) -> Option<Difference> {
    if is_equal(after) {
        return None;
    }
    let difference = match after {
        (Some(_), None) => Difference::Missing,
        (None, Some(_)) => Difference::Extra,
        (None, None) => return None,
        (Some(left), Some(right)) => {
            let ((left_before, left_unreadable), (right_before, right_unreadable)) =
                (state(before.0.as_ref()), state(before.1.as_ref()));
            let ((left_now, _), (right_now, _)) = (state(Some(left)), state(Some(right)));
            let is_lag = covers(&right_now, left_before) && covers(&left_now, right_before);
            if is_lag && !left_unreadable && !right_unreadable && unknown_attributes(left) == unknown_attributes(right)
            {
                return None;
            }
            Difference::Changed { attributes: differing(left, right) }
        }
    };
    Some(difference)
}

/// The state that the view reads from an item, and whether something is unreadable.
fn state(item: Option<&Item>) -> (State, bool) {
    let Found { state, unreadable } = item.cloned().map(|item| read_item(&VIEW, item)).unwrap_or_default();
    (state, !unreadable.is_empty())
}

/// Whether `now` contains everything in `before`, or something later.
fn covers(now: &State, before: State) -> bool {
    let mut both = now.clone();
    both.merge(before).is_empty() && both == *now
}

/// The digest of the attributes that the view does not know.
fn unknown_attributes(item: &Item) -> normal::Digest {
    let unknown = item.iter().filter(|(name, _)| !is_known(name));
    digest(&unknown.map(|(name, value)| (name.clone(), value.clone())).collect())
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

    /// Whether the sample contains all orders.
    #[must_use]
    pub fn is_all(self) -> bool {
        self.share >= 1.0
    }
}

impl FromStr for Sample {
    type Err = InvalidSample;

    fn from_str(text: &str) -> Result<Self, InvalidSample> {
        let (number, divisor) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
        let share = number.trim().parse::<f64>().map_err(|_| InvalidSample)? / divisor;
        if share > 0.0 && share <= 1.0 { Ok(Self { share }) } else { Err(InvalidSample) }
    }
}

/// A folder that is removed when this value is dropped.
struct TemporaryFolder {
    path: PathBuf,
}

impl TemporaryFolder {
    fn new() -> Self {
        Self { path: env::temp_dir().join(format!("rebuild-verify-{}", Uuid::new_v4())) }
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // If this fails, only disk space is lost.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
