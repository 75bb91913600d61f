//! Creates a snapshot.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use archive::Store;
use futures_util::{StreamExt, TryStreamExt, stream};
use lambda_boot::with_causes;
use order_view::{RULES, VIEW};
use projection::dynamodb::{Item, read_item};
use serde::{Deserialize, Serialize};

use super::{BucketFile, Choice, LATEST, Latest, Manifest, Snapshot, consumed, files_key, key, write_consumed};
use crate::batch::{Meter, Processor, Sink};
use crate::buckets::{Merge, Merged, Spill, blocking, buckets_for};
use crate::error::Error;
use crate::execution::execute;
use crate::filter::Filter;
use crate::fold::{Fold, Quarantined, Summary};
use crate::plan::{BATCH_BYTES, Listing};
use crate::run::{BatchResult, Plan, Report, Run, Target};
use crate::scan::{Source, is_known, order_id};

/// The input and the settings of a snapshot.
#[derive(Debug, Clone)]
pub struct Options {
    /// The archive with the files to fold. The snapshot is put there, too.
    pub archive: Store,
    /// Also include the items of this table, for events from before the archive existed.
    pub table: Option<Source>,
    /// The number of segments of the table that are read in parallel.
    pub segments: u32,
    /// Whether to start from the latest snapshot. Otherwise, all files are folded again.
    pub use_latest: bool,
    /// The memory for views, in bytes.
    pub memory: usize,
    /// The number of batches or buckets that are processed at the same time.
    pub workers: usize,
    /// The run to continue; none to start a new one.
    pub resume: Option<String>,
    /// Counts the work.
    pub meter: Arc<Meter>,
}

/// The progress of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A note for the user.
    Note(String),
    /// The plan. From now on, the run can be resumed.
    Begun(Box<Plan>),
    /// The number of merged buckets, and the number of all buckets.
    Merged(u32, u32),
}

/// The result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotResult {
    /// The archive has no new files, and no table was named.
    NothingNew {
        /// The latest snapshot, which stays.
        latest: String,
    },
    /// A new snapshot was created.
    Created(Box<NewSnapshot>),
}

/// A new snapshot, which is the latest now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSnapshot {
    /// The manifest.
    pub manifest: Manifest,
    /// The report of the run.
    pub report: Report,
    /// The number of items with an attribute that the view does not know, by attribute. It is not in the snapshot.
    pub ignored: BTreeMap<String, u64>,
    /// The orders whose items have unreadable attributes, with their names. They are not in the snapshot.
    pub unreadable: BTreeMap<String, BTreeSet<String>>,
}

/// The settings of a snapshot in the plan of its run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotSettings {
    /// The latest snapshot when the run was started: the one to replace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
    /// The table whose items are included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub table: Option<String>,
    /// The number of segments.
    pub segments: u32,
}

/// The result of a segment of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct SegmentResult {
    items: u64,
    ignored: BTreeMap<String, u64>,
    unreadable: BTreeMap<String, BTreeSet<String>>,
}

/// Creates a snapshot: merges the latest one, the files that are not in it, and the items of a table. It becomes the latest only if no
/// other one was created in the meantime.
pub async fn take(options: Options, on_step: impl Fn(Step) + Send + Sync) -> Result<SnapshotResult, Error> {
    let archive = &options.archive;
    let run = match &options.resume {
        Some(id) => Run::new(archive, id)?,
        None => Run::new(archive, &Run::new_id(SystemTime::now()))?,
    };
    if options.resume.is_none() && !begin(&options, &run, &on_step).await? {
        let latest = Latest::read(archive).await?.map(|(latest, _)| latest.id).unwrap_or_default();
        return Ok(SnapshotResult::NothingNew { latest });
    }
    let plan = run.plan().await?;
    plan.check_rules()?;
    let (Target::Snapshot(settings), Some(buckets)) = (&plan.into, plan.buckets) else {
        return Err(Error::OtherKind { run: run.id().to_owned() });
    };
    on_step(Step::Begun(Box::new(plan.clone())));
    let snapshot_run = SnapshotRun {
        base: match &plan.snapshot {
            Some(id) => Some(Snapshot::find(archive, id).await?),
            None => None,
        },
        spill: Spill::new(archive.clone(), run.key("spill/"), buckets),
        options: &options,
        run: &run,
        plan: &plan,
        settings,
    };
    snapshot_run.run(&on_step).await
}

/// Writes the plan. Returns whether there is something to do.
async fn begin(options: &Options, run: &Run, on_step: &(impl Fn(Step) + Sync)) -> Result<bool, Error> {
    let (archive, filter) = (&options.archive, Filter::default());
    let latest = Latest::read(archive).await?.map(|(latest, _)| latest.id);
    let choice = if options.use_latest { Choice::find(archive, &filter).await? } else { Choice::default() };
    if let Some(note) = choice.note {
        on_step(Step::Note(note));
    }
    let base = match &choice.snapshot {
        Some(snapshot) => Some(snapshot.base(&filter).await?),
        None => None,
    };
    let listing = Listing::read(archive, &filter, base.as_ref()).await?;
    if listing.files.is_empty() && options.table.is_none() && choice.snapshot.is_some() {
        return Ok(false);
    }
    let bytes = listing.files.iter().map(|file| file.size).sum();
    let table = match &options.table {
        Some(table) => table.size().await?.bytes,
        None => 0,
    };
    let buckets = buckets_for(bytes, choice.snapshot.as_ref(), table, options.memory, options.workers);
    let settings = SnapshotSettings {
        replaces: latest,
        table: options.table.as_ref().map(|table| table.name.clone()),
        segments: options.segments.max(1),
    };
    let plan = Plan {
        snapshot: choice.snapshot.map(|snapshot| snapshot.manifest.id),
        buckets: Some(buckets),
        ..Plan::new(run.id(), Target::Snapshot(settings), filter)
    };
    // The snapshot's views are read when buckets are merged.
    run.begin(plan, listing.batches(None, BATCH_BYTES)).await?;
    Ok(true)
}

struct SnapshotRun<'a> {
    options: &'a Options,
    run: &'a Run,
    plan: &'a Plan,
    settings: &'a SnapshotSettings,
    base: Option<Snapshot>,
    spill: Spill,
}

impl SnapshotRun<'_> {
    async fn run(&self, on_step: &(impl Fn(Step) + Send + Sync)) -> Result<SnapshotResult, Error> {
        let (archive, id) = (&self.options.archive, self.run.id());
        let seen = Latest::read(archive).await?;
        let latest = seen.as_ref().map(|(latest, _)| latest.id.clone());
        if latest.as_deref() != Some(id) && latest != self.settings.replaces {
            return Err(Error::Overtaken { run: id.to_owned(), by: latest });
        }
        self.fold().await?;
        let scanned = self.scan().await?;
        let manifest = match self.find_manifest().await? {
            Some(manifest) => manifest,
            None => self.write(on_step).await?,
        };
        let json = serde_json::to_vec(&Latest { id: id.to_owned() }).map_err(Error::Write)?;
        let version = seen.as_ref().map(|(_, version)| version);
        if latest.as_deref() != Some(id) && !archive.replace(LATEST, json, version).await? {
            let by = Latest::read(archive).await?.map(|(latest, _)| latest.id);
            return Err(Error::Overtaken { run: id.to_owned(), by });
        }
        if let Err(error) = self.spill.remove().await {
            on_step(Step::Note(format!(
                "the temporary files under {} could not be removed: {}",
                self.spill.prefix,
                with_causes(&error)
            )));
        }
        let report = self.run.report().await?;
        let SegmentResult { ignored, unreadable, .. } = scanned;
        Ok(SnapshotResult::Created(Box::new(NewSnapshot { manifest, report, ignored, unreadable })))
    }

    /// Folds the files that are not in the base.
    async fn fold(&self) -> Result<(), Error> {
        let processor = Processor {
            archive: self.options.archive.clone(),
            filter: Arc::new(self.plan.filter.clone()),
            sink: Sink::Buckets(Arc::new(self.spill.clone())),
            memory: self.options.memory / self.options.workers.max(1),
            meter: Arc::clone(&self.options.meter),
        };
        let missing = self.run.progress().await?.missing;
        execute(self.run, &processor, missing, self.options.workers, |_, _| ()).await
    }

    /// Includes the items of the table.
    async fn scan(&self) -> Result<SegmentResult, Error> {
        let mut all = SegmentResult::default();
        let Some(name) = &self.settings.table else { return Ok(all) };
        let table = self.options.table.as_ref().filter(|table| table.name == *name);
        let table = table.ok_or_else(|| Error::TableNeeded { run: self.run.id().to_owned(), table: name.clone() })?;
        let segments = stream::iter(0..self.settings.segments).map(|segment| self.scan_segment(table, segment));
        let mut segments = segments.buffer_unordered(self.settings.segments as usize);
        while let Some(SegmentResult { items, ignored, unreadable }) = segments.try_next().await? {
            all.items += items;
            for (name, count) in ignored {
                *all.ignored.entry(name).or_default() += count;
            }
            all.unreadable.extend(unreadable);
        }
        Ok(all)
    }

    async fn scan_segment(&self, table: &Source, segment: u32) -> Result<SegmentResult, Error> {
        let batch = format!("table-{segment:03}");
        let key = self.run.key(&format!("results/{batch}.json"));
        if let Some(bytes) = self.options.archive.get(&key).await? {
            return serde_json::from_slice(&bytes).map_err(|source| Error::Unreadable { key, source });
        }
        let memory = self.options.memory / self.settings.segments as usize;
        // The other half is for views that are being compressed and put.
        let mut fold = Some(Fold::new(Arc::new(Filter::default()), memory / 2));
        let mut result = SegmentResult::default();
        let page = async |items: Vec<Item>| {
            let Some(mut taking) = fold.take() else { return Ok(()) };
            let mut found = std::mem::take(&mut result);
            let (taking, found) = blocking(move || {
                for item in items {
                    found.add_item(item, &mut taking);
                }
                (taking, found)
            })
            .await?;
            result = found;
            let taking = fold.insert(taking);
            if taking.is_full() {
                self.spill.store(&batch, taking.take()).await?;
            }
            Ok(())
        };
        // A consistent read, because an event that was stored just now may not be in a file.
        table.scan(segment, self.settings.segments, true, page).await?;
        if let Some(mut fold) = fold {
            self.spill.store(&batch, fold.take()).await?;
        }
        let json = serde_json::to_vec(&result).map_err(Error::Write)?;
        self.options.archive.put_if_absent(&key, json).await?;
        Ok(result)
    }

    async fn find_manifest(&self) -> Result<Option<Manifest>, Error> {
        let key = key(self.run.id(), "manifest.json");
        let Some(bytes) = self.options.archive.get(&key).await? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|source| Error::Unreadable { key, source })
    }

    /// Writes the snapshot, but not `snapshots/latest`.
    async fn write(&self, on_step: &(impl Fn(Step) + Send + Sync)) -> Result<Manifest, Error> {
        let (archive, id) = (&self.options.archive, self.run.id());
        let count = self.spill.buckets.count();
        let done = std::sync::atomic::AtomicU32::new(0);
        let merge = Merge {
            spill: self.spill.clone(),
            results: self.run.key("merged/"),
            base: self.base.as_ref().map(Snapshot::views),
            filter: Arc::new(Filter::default()),
            out: archive.clone(),
            prefix: key(id, ""),
            only_items: false,
            memory: self.options.memory,
            workers: self.options.workers,
        };
        let Merged { buckets } = merge
            .run(|_| {
                let done = done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1;
                on_step(Step::Merged(done, count));
            })
            .await?;

        let mut found = self.base.as_ref().map(Snapshot::recorded_problems).unwrap_or_default();
        let results = self.run.progress().await?.done;
        for BatchResult { summary, .. } in results.into_values() {
            found.add(summary);
        }
        for bucket in &buckets {
            found.add(bucket.summary.clone());
        }
        self.keep_quarantine(&mut found).await?;
        let files = self.files(&found).await?;
        let mut tables = self.base.as_ref().map(|base| base.manifest.tables.clone()).unwrap_or_default();
        tables.extend(self.settings.table.clone());
        let file = |bucket: &crate::buckets::BucketResult| BucketFile {
            orders: bucket.orders,
            bytes: bucket.bytes,
            size: bucket.compressed,
        };
        let manifest = Manifest {
            id: id.to_owned(),
            rules: RULES,
            created: self.plan.created,
            base: self.plan.snapshot.clone(),
            tables,
            files: files.len() as u64,
            buckets: buckets.iter().map(file).collect(),
            quarantined: found.quarantined,
            contradictions: found.contradictions,
        };
        archive.put_if_absent(&files_key(id), blocking(move || write_consumed(&files)).await??).await?;
        let json = serde_json::to_vec_pretty(&manifest).map_err(Error::Write)?;
        // If two processes have the same run, the first manifest is used.
        archive.put_if_absent(&key(id, "manifest.json"), json).await?;
        Ok(self.find_manifest().await?.unwrap_or(manifest))
    }

    /// The files in the snapshot, sorted. Damaged files are left out: they are read again next time, and so are
    /// reported until they are restored.
    async fn files(&self, found: &Summary) -> Result<BTreeSet<String>, Error> {
        let damaged: HashSet<_> = found.damaged.iter().map(|damaged| damaged.file.as_str()).collect();
        let mut files: BTreeSet<_> = match &self.base {
            Some(base) => consumed(&self.options.archive, base.id()).await?.into_iter().collect(),
            None => BTreeSet::new(),
        };
        let batches = self.run.batches().await?;
        let new = batches.into_iter().flat_map(|batch| batch.files).map(|file| file.key);
        files.extend(new.filter(|file| !damaged.contains(file.as_str())));
        Ok(files)
    }

    /// Copies the lines that could not be read, of this run and of the base, into the snapshot.
    ///
    /// Lines of a damaged file are left out, and no longer counted as `found`: the file is read again next time.
    async fn keep_quarantine(&self, found: &mut Summary) -> Result<(), Error> {
        let (archive, run) = (&self.options.archive, self.run);
        let damaged: HashSet<_> = found.damaged.iter().map(|damaged| damaged.file.as_str()).collect();
        let of_base = self.base.as_ref().map(|base| key(base.id(), "quarantine/"));
        for from in of_base.into_iter().chain([run.key("quarantine/")]) {
            for object in archive.list(&from).await? {
                let name = object.key.strip_prefix(&from).unwrap_or_default();
                // The names in a base's folder begin with a run already.
                let name = if name.contains('/') { name.to_owned() } else { format!("{}/{name}", run.id()) };
                let Some(bytes) = archive.get(&object.key).await? else { continue };
                let mut kept = Vec::with_capacity(bytes.len());
                for line in bytes.split_inclusive(|byte| *byte == b'\n') {
                    let unreadable = |source| Error::Unreadable { key: object.key.clone(), source };
                    let Quarantined { file, code, .. } = serde_json::from_slice(line).map_err(unreadable)?;
                    if !damaged.contains(file.as_str()) {
                        kept.extend_from_slice(line);
                    } else if let Some(count) = found.quarantined.get_mut(&code) {
                        *count = count.saturating_sub(1);
                    }
                }
                if !kept.is_empty() {
                    archive.put(&key(run.id(), &format!("quarantine/{name}")), kept).await?;
                }
            }
        }
        found.quarantined.retain(|_, count| *count > 0);
        Ok(())
    }
}

impl SegmentResult {
    fn add_item(&mut self, item: Item, fold: &mut Fold) {
        let Some(order_id) = order_id(&item).map(str::to_owned) else { return };
        for name in item.keys().filter(|name| !is_known(name)) {
            *self.ignored.entry(name.clone()).or_default() += 1;
        }
        let found = read_item(&VIEW, item);
        if !found.unreadable.is_empty() {
            let names = found.unreadable.iter().map(|unreadable| unreadable.attribute.clone()).collect();
            self.unreadable.insert(order_id.clone(), names);
        }
        self.items += 1;
        let state = found.whole(&VIEW);
        let size = state.size();
        fold.view(&order_id, state, size);
    }
}
