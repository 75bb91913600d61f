//! Processes a batch: fetches, folds and stores its files, all at the same time and with bounded memory.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use archive::Store;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::buckets::Spill;
use crate::error::Error;
use crate::estimate::Simulated;
use crate::filter::Filter;
use crate::fold::{Fold, Quarantined, Summary, Views};
use crate::plan::{Batch, SNAPSHOTS};
use crate::run::{BatchResult, Stored};
use crate::table::TableSink;

/// Processes batches, one or several at the same time.
#[derive(Debug, Clone)]
pub struct Processor {
    /// The location of the files.
    pub archive: Store,
    /// Which events are used.
    pub filter: Arc<Filter>,
    /// The target of the views.
    pub sink: Sink,
    /// The memory for the views of one batch, in bytes. Views are stored early if they need more.
    pub memory: usize,
    /// Counts the work.
    pub meter: Arc<Meter>,
}

/// Where views go.
#[derive(Debug, Clone)]
pub enum Sink {
    /// Into a table.
    Table(Arc<TableSink>),
    /// Spilled by bucket, to be merged after the last batch.
    Buckets(Arc<Spill>),
    /// Not stored: only the cost is calculated.
    Simulated(Arc<Mutex<Simulated>>),
}

/// Counts the work while it is done. A repeated batch is counted again.
#[derive(Debug, Default)]
#[allow(missing_docs)] // The names are clear.
pub struct Meter {
    pub bytes: AtomicU64,
    pub events: AtomicU64,
    pub views: AtomicU64,
    pub quarantined: AtomicU64,
    pub damaged: AtomicU64,
}

impl Processor {
    /// Processes a batch. If this returns `Ok`, everything in the result is stored. Writes nothing to the run's folder.
    pub async fn process(&self, batch: &Batch) -> Result<(BatchResult, Vec<Quarantined>), Error> {
        let begun = Instant::now();
        // One file waits while another is folded, and one part of the views while another is stored.
        let (fetched, mut files) = mpsc::channel::<(String, Option<Vec<u8>>)>(1);
        let (folded, mut parts) = mpsc::channel::<Part>(1);
        let (filter, memory, meter) = (Arc::clone(&self.filter), self.memory, Arc::clone(&self.meter));
        // There are views of three parts in memory: one is folded, one waits, and one is stored.
        let mut fold = Fold::new(filter, memory / 3);
        let folding = spawn_blocking(move || {
            // Bytes that were folded, but not yet sent with their views.
            let mut folded_bytes = 0;
            while let Some((key, bytes)) = files.blocking_recv() {
                let (events, quarantined, damaged) = counts(fold.summary());
                // The send fails if the batch was cancelled.
                let flush = |views| _ = folded.blocking_send(Part { views, bytes: std::mem::take(&mut folded_bytes) });
                match &bytes {
                    Some(bytes) if key.starts_with(SNAPSHOTS) => {
                        fold.views(bytes, flush).map_err(|source| Error::BadFile { key: key.clone(), source })?;
                    }
                    None if key.starts_with(SNAPSHOTS) => return Err(Error::Missing(key)),
                    Some(bytes) => fold.file(&key, bytes, flush),
                    None => fold.damaged(&key, "the file was listed but no longer exists"),
                }
                let now = counts(fold.summary());
                folded_bytes += bytes.map_or(0, |bytes| bytes.len() as u64);
                meter.events.fetch_add(now.0 - events, Ordering::Relaxed);
                meter.quarantined.fetch_add(now.1 - quarantined, Ordering::Relaxed);
                meter.damaged.fetch_add(now.2 - damaged, Ordering::Relaxed);
            }
            let (views, summary, quarantine) = fold.finish();
            let _ = folded.blocking_send(Part { views, bytes: folded_bytes });
            Ok((summary, quarantine))
        });
        let fetching = async {
            let keys: Vec<_> = batch.files.iter().map(|file| file.key.clone()).collect();
            let files = stream::iter(keys).map(|key| async move {
                let bytes = self.archive.get(&key).await?;
                Ok::<_, Error>((key, bytes))
            });
            let mut files = pin!(files.buffered(files_to_fetch_ahead(batch)));
            while let Some(file) = files.try_next().await? {
                if fetched.send(file).await.is_err() {
                    break;
                }
            }
            drop(fetched);
            Ok::<_, Error>(())
        };
        let storing = async {
            let (mut stored, mut found) = (Stored::default(), Summary::default());
            while let Some(Part { views, bytes }) = parts.recv().await {
                let mut progress =
                    ByteProgress { meter: &self.meter, bytes, of: views.len() as u64, stored: 0, counted: 0 };
                match &self.sink {
                    Sink::Table(table) => {
                        let each = |order: &str, contradictions| {
                            progress.view_stored();
                            found.add_contradictions(order, contradictions);
                        };
                        table.store(views, &mut stored, each).await?;
                    }
                    Sink::Buckets(spill) => {
                        stored.views += views.len() as u64;
                        self.meter.views.fetch_add(views.len() as u64, Ordering::Relaxed);
                        spill.store(&batch.id, views).await?;
                    }
                    Sink::Simulated(table) => table.lock().unwrap_or_else(PoisonError::into_inner).store(views),
                }
                progress.finish();
            }
            Ok::<_, Error>((stored, found))
        };
        let ((), (stored, found)) = tokio::try_join!(fetching, storing)?;
        let (mut summary, quarantine) = folding.await.map_err(|_| Error::Stopped)??;
        summary.add(found);
        let result = BatchResult {
            batch: batch.id.clone(),
            summary,
            stored,
            bytes: batch.bytes,
            files: batch.files.len() as u64,
            took_ms: begun.elapsed().as_millis().try_into().unwrap_or(u64::MAX),
        };
        Ok((result, quarantine))
    }
}

/// How many files are fetched in advance. S3 needs about ten milliseconds to answer, so without this, the
/// fold would mostly wait if the files are small.
fn files_to_fetch_ahead(batch: &Batch) -> usize {
    const MAX: u64 = 8;
    const BYTES: u64 = 8_000_000;
    let average = batch.bytes / (batch.files.len() as u64).max(1);
    usize::try_from((BYTES / average.max(1)).clamp(1, MAX)).unwrap_or(1)
}

/// Views to store, and the size of their files.
struct Part {
    views: Views,
    bytes: u64,
}

/// Counts bytes of files as done only when their views are stored.
struct ByteProgress<'a> {
    meter: &'a Meter,
    bytes: u64,
    of: u64,
    stored: u64,
    counted: u64,
}

impl ByteProgress<'_> {
    fn view_stored(&mut self) {
        self.stored += 1;
        self.meter.views.fetch_add(1, Ordering::Relaxed);
        self.count_to(self.bytes * self.stored / self.of.max(1));
    }

    fn finish(mut self) {
        self.count_to(self.bytes);
    }

    fn count_to(&mut self, bytes: u64) {
        self.meter.bytes.fetch_add(bytes - self.counted, Ordering::Relaxed);
        self.counted = bytes;
    }
}

fn counts(summary: &Summary) -> (u64, u64, u64) {
    (summary.events, summary.lines_quarantined(), summary.damaged.len() as u64)
}
