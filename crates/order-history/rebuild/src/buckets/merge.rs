//! The views of one bucket, brought together and written once.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use archive::Store;
use flate2::Compression;
use futures_util::{StreamExt, TryStreamExt, stream};
use projection::{Contradiction, State};
use serde::{Deserialize, Serialize};

use super::lines::{self, BadFile, Lines};
use super::{Buckets, Slice, Spill, name};
use crate::error::Error;
use crate::filter::Filter;
use crate::fold::Summary;
use crate::item_size::{MOST, of_line};
use crate::verify::Sample;

/// Brings together what was put aside, bucket by bucket.
#[derive(Debug, Clone)]
pub struct Merge {
    /// What was put aside. When all buckets have results, it is needed no more.
    pub spill: Spill,
    /// What the keys of results begin with, beside what was put aside: it ends with a slash. `bucket=NNN.json` follows.
    pub results: String,
    /// Views that were written before, and belong to the result too.
    pub base: Option<Base>,
    /// Which orders are wanted.
    pub filter: Arc<Filter>,
    /// Where a bucket's file is put.
    pub out: Store,
    /// What the key of a bucket's file begins with: it ends with a slash. `bucket=NNN.ndjson.gz` follows.
    pub prefix: String,
    /// Whether orders that are larger than an item may be are left out, and named instead.
    pub only_items: bool,
    /// How many bytes of memory the views of all buckets that are merged at the same time may take.
    pub memory: usize,
    /// How many buckets are merged at the same time.
    pub workers: usize,
}

/// Files of views that were written before, by bucket.
#[derive(Debug, Clone)]
pub struct Base {
    /// Where they are.
    pub store: Store,
    /// How many buckets there are.
    pub buckets: Buckets,
    /// The keys of their files, with the number of orders in each, by bucket.
    pub files: Vec<(String, u64)>,
}

/// What became of a bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BucketResult {
    /// Which bucket.
    pub bucket: u32,
    /// How many orders its file has.
    pub orders: u64,
    /// The size of their lines before compression.
    pub bytes: u64,
    /// The size of the file.
    pub compressed: u64,
    /// The orders that were left out because `DynamoDB` takes no item of their size.
    pub too_large: BTreeSet<String>,
    /// What was found when views came together: contradictions.
    pub summary: Summary,
}

/// What became of all buckets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// By bucket.
    pub buckets: Vec<BucketResult>,
}

impl Merged {
    /// How many orders there are in all files.
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

/// A file of views, and how many there should be in it where that is known.
type Source = (Store, String, Option<u64>);

impl Merge {
    /// Merges every bucket that has no result yet, several at the same time; `each` is told of each that is done. After a crash, only
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

    /// Reads back the file of a bucket that was merged.
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
                let bad = |source| Error::BadFile { key: key.clone(), source };
                // A file that was listed, or that a manifest names, is there.
                let bytes = store.get(key).await?.ok_or_else(|| Error::Missing(key.clone()))?;
                let expected = *expected;
                let (back, read) = blocking(move || {
                    let read = merging.take_in(&bytes, expected);
                    (merging, read)
                })
                .await?;
                merging = back;
                read.map_err(bad)?;
            }
            merging = blocking(move || merging.write().map(|()| merging)).await?.map_err(Error::Compress)?;
        }
        let Merging { lines, mut result, .. } = merging;
        (result.orders, result.bytes) = (lines.count, lines.bytes);
        let file = blocking(move || lines.finish()).await?.map_err(Error::Compress)?;
        result.compressed = file.len() as u64;
        // A prefix that is imported must have no file that says nothing, and every order is known to be in no other bucket.
        if result.orders > 0 || !self.only_items {
            // One that is there has the same orders: it was written before a crash, or by another process with the same run, which
            // may even have removed by now what this one has read.
            self.out.put_if_absent(&self.key(bucket), file).await?;
        }
        let json = serde_json::to_vec(&result).map_err(Error::Write)?;
        self.spill.store.put_if_absent(&self.result_key(bucket), json).await?;
        Ok(self.result(bucket).await?.unwrap_or(result))
    }

    /// All that has views of a bucket.
    async fn sources(&self, bucket: u32) -> Result<Vec<Source>, Error> {
        let mut sources = Vec::new();
        if let Some(base) = &self.base {
            let slice = self.spill.buckets.slice(bucket);
            for (number, (key, orders)) in base.buckets.all().zip(&base.files) {
                // A filter by order makes most buckets needless to read.
                let of_base = base.buckets.slice(number);
                let wanted = &self.filter.orders;
                let is_wanted = wanted.is_empty()
                    || wanted.iter().any(|order| of_base.has(order.as_str()) && slice.has(order.as_str()));
                if of_base.meets(slice) && is_wanted {
                    sources.push((base.store.clone(), key.clone(), Some(*orders)));
                }
            }
        }
        let spilled = self.spill.files(bucket).await?;
        sources.extend(spilled.into_iter().map(|key| (self.spill.store.clone(), key, None)));
        Ok(sources)
    }
}

/// A bucket, or a part of it, on the way.
struct Merging {
    filter: Arc<Filter>,
    sample: Sample,
    only_items: bool,
    /// How many bytes the views may take.
    limit: usize,
    views: BTreeMap<String, State>,
    /// What they take.
    size: usize,
    /// The orders that are read now. The others are left for another pass over the same files.
    slice: Slice,
    /// The orders that are left.
    slices: Vec<Slice>,
    /// By order. What was found about an order that is left for another pass will be found again.
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
    fn take_in(&mut self, file: &[u8], expected: Option<u64>) -> Result<(), BadFile> {
        let found = lines::read(file, |order_id, view| self.merge(order_id, view))?;
        match expected {
            Some(expected) if expected != found => Err(BadFile::Count { expected, found }),
            _ => Ok(()),
        }
    }

    fn merge(&mut self, order_id: String, view: State) {
        if !self.slice.has(&order_id) || !self.sample.has(&order_id) || !self.filter.takes_order(&order_id) {
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
        // If these are too many orders, half of them are left for another pass over the same files: so any number of buckets works in
        // any memory. What is written already takes some of it, but more passes would not make that smaller.
        let limit = self.limit.saturating_sub(self.lines.memory()).max(self.limit / 2);
        while self.size > limit && self.views.len() > 1 && self.slice.can_halve() {
            self.slices.push(self.slice.halve());
            let slice = self.slice;
            self.views.retain(|order_id, _| slice.has(order_id));
            self.contradictions.retain(|(order_id, _)| slice.has(order_id));
            self.size = self.views.iter().map(|(order_id, view)| memory(order_id, view)).sum();
        }
    }

    /// Writes the views out, and leaves none.
    fn write(&mut self) -> std::io::Result<()> {
        self.size = 0;
        for (order_id, contradictions) in mem::take(&mut self.contradictions) {
            self.result.summary.note_contradictions(&order_id, contradictions);
        }
        for (order_id, view) in mem::take(&mut self.views) {
            let line = self.lines.render(&order_id, &view);
            if self.only_items && of_line(line) > MOST {
                self.result.too_large.insert(order_id);
                continue;
            }
            self.lines.add()?;
        }
        Ok(())
    }
}

/// What an order takes in memory.
fn memory(order_id: &str, view: &State) -> usize {
    view.size() + order_id.len() + mem::size_of::<(String, State)>()
}

/// Does what takes processor time, away from what waits for answers.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Error::Stopped)
}
