//! Merges the views of one bucket and writes them once.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use archive::Store;
use flate2::Compression;
use futures_util::{StreamExt, TryStreamExt, stream};
use order_view::VIEW;
use projection::dynamodb::{item_size, write_item};
use projection::{Contradiction, State};
use serde::{Deserialize, Serialize};

use super::lines::{self, BadFile, Lines};
use super::{Buckets, Slice, Spill, name};
use crate::error::Error;
use crate::filter::Filter;
use crate::fold::Summary;
use crate::verify::Sample;

/// Merges the spilled views, bucket by bucket.
#[derive(Debug, Clone)]
pub struct Merge {
    /// The spilled views. They are not needed after all buckets have results.
    pub spill: Spill,
    /// The prefix of the results' keys, which ends with a slash. `bucket=NNN.json` follows.
    pub results: String,
    /// Existing views that are part of the result.
    pub base: Option<Base>,
    /// The orders to include.
    pub filter: Arc<Filter>,
    /// The target of the buckets' files.
    pub out: Store,
    /// The prefix of the files' keys, which ends with a slash. `bucket=NNN.ndjson.gz` follows.
    pub prefix: String,
    /// Whether orders that exceed the size limit of an item are left out and reported.
    pub only_items: bool,
    /// The memory for the views of all buckets that are merged at the same time, in bytes.
    pub memory: usize,
    /// The number of buckets that are merged at the same time.
    pub workers: usize,
}

/// Existing files of views, by bucket.
#[derive(Debug, Clone)]
pub struct Base {
    /// The location of the files.
    pub store: Store,
    /// The number of buckets.
    pub buckets: Buckets,
    /// The keys of the files and the number of orders in each, by bucket.
    pub files: Vec<(String, u64)>,
}

/// The result of a bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BucketResult {
    /// The number of the bucket.
    pub bucket: u32,
    /// The number of orders in its file.
    pub orders: u64,
    /// The size of their lines before compression.
    pub bytes: u64,
    /// The size of the file.
    pub compressed: u64,
    /// The orders that were left out because they exceed `DynamoDB`'s item size.
    pub too_large: BTreeSet<String>,
    /// The contradictions that were found during the merge.
    pub summary: Summary,
}

/// The result of all buckets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// By bucket.
    pub buckets: Vec<BucketResult>,
}

impl Merged {
    /// The number of orders in all files.
    #[must_use]
    pub fn orders(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.orders).sum()
    }

    /// The size of all lines before compression.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.bytes).sum()
    }
}

/// A file of views, and the expected number of views if it is known.
type Source = (Store, String, Option<u64>);

impl Merge {
    /// Merges every bucket that has no result yet, several at the same time. Calls `each` after each bucket. After a crash, only
    /// the buckets without a result are merged again.
    pub async fn run(&self, each: impl Fn(&BucketResult) + Sync) -> Result<Merged, Error> {
        let each = &each;
        let merged = stream::iter(self.spill.buckets.all()).map(|bucket| async move {
            let result = match self.result(bucket).await? {
                Some(result) => result,
                None => self.bucket(bucket).await?,
            };
            each(&result);
            Ok::<_, Error>(result)
        });
        let buckets = merged.buffered(self.workers.max(1)).try_collect().await?;
        Ok(Merged { buckets })
    }

    /// Reads the file of a merged bucket.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        bucket: u32,
        mut kept: T,
        each: impl Fn(&mut T, String, State) + Send + 'static,
    ) -> Result<T, Error> {
        let key = self.key(bucket);
        let bytes = self.out.get(&key).await?.ok_or_else(|| Error::Missing(key.clone()))?;
        let read =
            blocking(move || lines::read(&bytes, |order_id, view| each(&mut kept, order_id, view)).map(|_| kept));
        read.await?.map_err(|source| Error::BadFile { key, source })
    }

    /// The key of a bucket's file.
    #[must_use]
    pub fn key(&self, bucket: u32) -> String {
        format!("{}{}.ndjson.gz", self.prefix, name(bucket))
    }

    fn result_key(&self, bucket: u32) -> String {
        format!("{}{}.json", self.results, name(bucket))
    }

    async fn result(&self, bucket: u32) -> Result<Option<BucketResult>, Error> {
        let key = self.result_key(bucket);
        let Some(bytes) = self.spill.store.get(&key).await? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|source| Error::Unreadable { key, source })
    }

    async fn bucket(&self, bucket: u32) -> Result<BucketResult, Error> {
        let sources = self.sources(bucket).await?;
        let mut merging = Merging::new(self, bucket);
        while let Some(slice) = merging.slices.pop() {
            merging.slice = slice;
            for (store, key, expected) in &sources {
                let bad_file = |source| Error::BadFile { key: key.clone(), source };
                // A file that was listed, or that a manifest names, must exist.
                let bytes = store.get(key).await?.ok_or_else(|| Error::Missing(key.clone()))?;
                let expected = *expected;
                let (returned, read) = blocking(move || {
                    let read = merging.merge_file(&bytes, expected);
                    (merging, read)
                })
                .await?;
                merging = returned;
                read.map_err(bad_file)?;
            }
            merging = blocking(move || merging.write().map(|()| merging)).await?.map_err(Error::Compress)?;
        }
        let Merging { lines, mut result, .. } = merging;
        (result.orders, result.bytes) = (lines.count, lines.bytes);
        let file = blocking(move || lines.finish()).await?.map_err(Error::Compress)?;
        result.compressed = file.len() as u64;
        // An import must not contain an empty file.
        if result.orders > 0 || !self.only_items {
            // An existing file has the same orders: it was written before a crash, or by another process with the same run, which
            // may already have removed the spilled views.
            self.out.put_if_absent(&self.key(bucket), file).await?;
        }
        let json = serde_json::to_vec(&result).map_err(Error::Write)?;
        self.spill.store.put_if_absent(&self.result_key(bucket), json).await?;
        Ok(self.result(bucket).await?.unwrap_or(result))
    }

    /// All files with views of a bucket.
    async fn sources(&self, bucket: u32) -> Result<Vec<Source>, Error> {
        let mut sources = Vec::new();
        if let Some(base) = &self.base {
            let slice = self.spill.buckets.slice(bucket);
            for (number, (key, orders)) in base.buckets.all().zip(&base.files) {
                // With a filter by order, most buckets need not be read.
                let of_base = base.buckets.slice(number);
                let wanted = &self.filter.orders;
                let is_wanted = wanted.is_empty()
                    || wanted.iter().any(|order| of_base.has(order.as_str()) && slice.has(order.as_str()));
                if of_base.overlaps(slice) && is_wanted {
                    sources.push((base.store.clone(), key.clone(), Some(*orders)));
                }
            }
        }
        let spilled = self.spill.files(bucket).await?;
        sources.extend(spilled.into_iter().map(|key| (self.spill.store.clone(), key, None)));
        Ok(sources)
    }
}

/// A bucket, or a part of it, during the merge.
struct Merging {
    filter: Arc<Filter>,
    sample: Sample,
    only_items: bool,
    /// The memory limit for the views, in bytes.
    limit: usize,
    views: BTreeMap<String, State>,
    /// The memory of the views, in bytes.
    size: usize,
    /// The orders of this pass. The others are left for another pass over the same files.
    slice: Slice,
    /// The orders that are left for other passes.
    slices: Vec<Slice>,
    /// By order. Contradictions of an order that is left for another pass will be found again.
    contradictions: Vec<(String, Vec<Contradiction>)>,
    lines: Lines,
    result: BucketResult,
}

impl Merging {
    fn new(merge: &Merge, bucket: u32) -> Self {
        let slice = merge.spill.buckets.slice(bucket);
        Self {
            filter: Arc::clone(&merge.filter),
            sample: merge.spill.sample,
            only_items: merge.only_items,
            limit: merge.memory / merge.workers.max(1),
            views: BTreeMap::new(),
            size: 0,
            slice,
            slices: vec![slice],
            contradictions: Vec::new(),
            lines: Lines::new(Compression::default()),
            result: BucketResult { bucket, ..BucketResult::default() },
        }
    }

    /// Merges the views of a file.
    fn merge_file(&mut self, file: &[u8], expected: Option<u64>) -> Result<(), BadFile> {
        let found = lines::read(file, |order_id, view| self.merge(order_id, view))?;
        match expected {
            Some(expected) if expected != found => Err(BadFile::Count { expected, found }),
            _ => Ok(()),
        }
    }

    fn merge(&mut self, order_id: String, view: State) {
        if !self.slice.has(&order_id) || !self.sample.has(&order_id) || !self.filter.accepts_order(&order_id) {
            return;
        }
        if let Some(known) = self.views.get_mut(&order_id) {
            let before = known.size();
            let contradictions = known.merge(view);
            self.size += known.size().saturating_sub(before);
            if !contradictions.is_empty() {
                self.contradictions.push((order_id, contradictions));
            }
        } else {
            self.size += memory(&order_id, &view);
            self.views.insert(order_id, view);
        }
        // If these are too many orders, half of them are left for another pass over the same files. So any number of buckets works with
        // any memory. The written lines need memory too, but more passes would not reduce it.
        let limit = self.limit.saturating_sub(self.lines.memory()).max(self.limit / 2);
        while self.size > limit && self.views.len() > 1 && self.slice.can_halve() {
            self.slices.push(self.slice.halve());
            let slice = self.slice;
            self.views.retain(|order_id, _| slice.has(order_id));
            self.contradictions.retain(|(order_id, _)| slice.has(order_id));
            self.size = self.views.iter().map(|(order_id, view)| memory(order_id, view)).sum();
        }
    }

    /// Writes and removes all views.
    fn write(&mut self) -> std::io::Result<()> {
        self.size = 0;
        for (order_id, contradictions) in mem::take(&mut self.contradictions) {
            self.result.summary.add_contradictions(&order_id, contradictions);
        }
        for (order_id, view) in mem::take(&mut self.views) {
            let line = self.lines.render(&order_id, &view);
            // A short line needs no calculation, because a line is never shorter than its item.
            let may_be_too_large = self.only_items && line.len() > MAX_ITEM;
            if may_be_too_large && item_size(&write_item(&VIEW, &order_id, &view)) > MAX_ITEM {
                self.result.too_large.insert(order_id);
                continue;
            }
            self.lines.add()?;
        }
        Ok(())
    }
}

/// The largest size of an item, in bytes
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items>).
const MAX_ITEM: usize = 400 * 1024;

/// The memory of an order, in bytes.
fn memory(order_id: &str, view: &State) -> usize {
    view.size() + order_id.len() + mem::size_of::<(String, State)>()
}

/// Runs CPU-bound work on another thread.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Stopped)
}
