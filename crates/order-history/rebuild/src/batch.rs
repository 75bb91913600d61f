//! One batch: its files are fetched, folded and stored, all at the same time and in bounded memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use archive::Store;
use futures_util::{StreamExt, TryStreamExt, stream};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use crate::buckets::Spill;
use crate::error::Error;
use crate::filter::Filter;
use crate::fold::{Fold, Quarantined, Summary, Views};
use crate::plan::{Batch, SNAPSHOTS};
use crate::run::{BatchResult, Run, Stored};
use crate::table::TableSink;

/// What processes batches, one or several at once.
#[derive(Debug, Clone)]
pub struct Processor {
    /// Where the files are.
    pub archive: Store,
    /// Which events are used.
    pub filter: Arc<Filter>,
    /// Where the views go.
    pub sink: Sink,
    /// How many bytes the views of one batch may take before they are stored early.
    pub memory: usize,
    /// Counts what is done.
    pub meter: Arc<Meter>,
}

/// Where views go.
#[derive(Debug, Clone)]
pub enum Sink {
    /// Into a table.
    Table(Arc<TableSink>),
    /// Put aside by bucket, to be merged when all batches are done.
    Buckets(Arc<Spill>),
}

/// Counts what is done, while it is done. A batch that is done again counts again.
#[derive(Debug, Default)]
#[allow(missing_docs)] // They are what they say.
pub struct Meter {
    pub bytes: AtomicU64,
    pub events: AtomicU64,
    pub views: AtomicU64,
    pub quarantined: AtomicU64,
    pub damaged: AtomicU64,
}

impl Processor {
    /// Processes the batches of a run that have no result, several at the same time, and notes the results.
    pub async fn process_all(&self, run: &Run, workers: usize) -> Result<(), Error> {
        let batches = stream::iter(run.progress().await?.missing).map(Ok::<_, Error>);
        let process = |batch: Batch| async move {
            let (result, quarantine) = self.process(&batch).await?;
            run.finish(&result, &quarantine).await
        };
        batches.try_for_each_concurrent(workers.max(1), process).await
    }

    /// Processes a batch. When this returns `Ok`, all that the result says is stored; nothing is noted in the run's folder.
    pub async fn process(&self, batch: &Batch) -> Result<(BatchResult, Vec<Quarantined>), Error> {
        let begun = Instant::now();
        // One file waits while another is folded, and one part of the views while another is stored.
        let (fetched, mut files) = mpsc::channel::<(String, Option<Vec<u8>>)>(1);
        let (folded, mut parts) = mpsc::channel::<Views>(1);
        let (filter, memory, meter) = (Arc::clone(&self.filter), self.memory, Arc::clone(&self.meter));
        // Views can be in three places: folded into, waiting, and being stored.
        let mut fold = Fold::new(filter, memory / 3);
        let folding = spawn_blocking(move || {
            while let Some((key, bytes)) = files.blocking_recv() {
                let (events, quarantined, damaged) = counts(fold.summary());
                // Nobody takes them over if the batch was given up.
                let flush = |views| _ = folded.blocking_send(views);
                match &bytes {
                    Some(bytes) if key.starts_with(SNAPSHOTS) => {
                        fold.views(bytes, flush).map_err(|source| Error::BadFile { key: key.clone(), source })?
                    }
                    None if key.starts_with(SNAPSHOTS) => return Err(Error::Missing(key)),
                    Some(bytes) => fold.file(&key, bytes, flush),
                    None => fold.damaged(&key, "the file was listed and is gone"),
                }
                let now = counts(fold.summary());
                meter.bytes.fetch_add(bytes.map_or(0, |bytes| bytes.len() as u64), Ordering::Relaxed);
                meter.events.fetch_add(now.0 - events, Ordering::Relaxed);
                meter.quarantined.fetch_add(now.1 - quarantined, Ordering::Relaxed);
                meter.damaged.fetch_add(now.2 - damaged, Ordering::Relaxed);
            }
            let (views, summary, quarantine) = fold.finish();
            let _ = folded.blocking_send(views);
            Ok((summary, quarantine))
        });
        let fetching = async {
            for file in &batch.files {
                let bytes = self.archive.get(&file.key).await?;
                if fetched.send((file.key.clone(), bytes)).await.is_err() {
                    break;
                }
            }
            drop(fetched);
            Ok::<_, Error>(())
        };
        let storing = async {
            let (mut stored, mut found) = (Stored::default(), Summary::default());
            let mut part = 0;
            while let Some(views) = parts.recv().await {
                let before = stored.views;
                match &self.sink {
                    Sink::Table(table) => {
                        let contradicted = |order: &str, those| found.note_contradictions(order, those);
                        table.store(views, &mut stored, contradicted).await?;
                    }
                    Sink::Buckets(spill) => {
                        stored.views += views.len() as u64;
                        spill.store(&batch.id, part, views).await?;
                    }
                }
                part += 1;
                self.meter.views.fetch_add(stored.views - before, Ordering::Relaxed);
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

fn counts(summary: &Summary) -> (u64, u64, u64) {
    (summary.events, summary.lines_quarantined(), summary.damaged.len() as u64)
}
