//! The archive's side of a comparison: its events are folded in buckets in a temporary folder.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use archive::Store;
use futures_util::{StreamExt, TryStreamExt, stream};
use order_events::OrderId;
use order_view::VIEW;
use projection::State;
use projection::dynamodb::{Item, write_item};

use super::digests::Digests;
use super::normal::digest;
use super::{Options, Step};
use crate::batch::{Meter, Processor, Sink};
use crate::buckets::{Merge, Merged, Spill, blocking, buckets_for};
use crate::error::Error;
use crate::filter::Filter;
use crate::fold::{Fold, Summary, Views};
use crate::plan::{BATCH_BYTES, Listing};
use crate::snapshot::Choice;

/// The archive's views, in files by bucket.
pub(super) struct ArchivedViews {
    archive: Store,
    merge: Merge,
    merged: Merged,
    /// The files that were folded into the views.
    folded: HashSet<String>,
    /// Views of some orders, from files that arrived later.
    fresh: Views,
    pub(super) summary: Summary,
}

impl ArchivedViews {
    pub(super) async fn build(
        options: &Options,
        archive: &Store,
        use_snapshot: bool,
        work: Store,
        on_step: &(impl Fn(Step) + Send + Sync),
    ) -> Result<Self, Error> {
        let filter = Arc::new(Filter::default());
        let choice = if use_snapshot { Choice::find(archive, &filter).await? } else { Choice::default() };
        if let Some(message) = choice.note {
            on_step(Step::Note { message });
        }
        let (plan_base, merge_base) = match &choice.snapshot {
            Some(snapshot) => (Some(snapshot.base(&filter).await?), Some(snapshot.views())),
            None => (None, None),
        };
        let listing = Listing::read(archive, &filter, plan_base.as_ref()).await?;
        let mut folded: HashSet<_> = listing.files.iter().map(|file| file.key.clone()).collect();
        let bytes = listing.files.iter().map(|file| file.size).sum();
        let buckets = buckets_for(bytes, choice.snapshot.as_ref(), 0, options.memory, options.workers);
        let spill = Spill { store: work.clone(), prefix: "spill/".to_owned(), buckets, sample: options.sample };
        let processor = Processor {
            archive: archive.clone(),
            filter: Arc::clone(&filter),
            sink: Sink::Buckets(Arc::new(spill.clone())),
            memory: options.memory / options.workers.max(1),
            meter: Arc::new(Meter::default()),
        };
        // The snapshot's views are read when buckets are merged.
        let batches = listing.batches(None, BATCH_BYTES);
        let processor = &processor;
        let processed = stream::iter(&batches).map(|batch| processor.process(batch));
        let mut processed = processed.buffer_unordered(options.workers.max(1));
        let mut summary = Summary::default();
        while let Some((result, _)) = processed.try_next().await? {
            summary.add(result.summary);
        }
        if let Some(snapshot) = &choice.snapshot {
            summary.add(snapshot.recorded_problems());
        }
        let merge = Merge {
            spill,
            results: "merged/".to_owned(),
            base: merge_base,
            filter,
            out: work,
            prefix: "views/".to_owned(),
            only_items: false,
            memory: options.memory,
            workers: options.workers,
        };
        let merged = merge.run(|_| ()).await?;
        merge.spill.remove().await?;
        folded.extend(plan_base.into_iter().flat_map(|base| base.consumed));
        Ok(Self { archive: archive.clone(), merge, merged, folded, fresh: Views::new(), summary })
    }

    /// Adds the digests of all orders. Returns their number.
    pub(super) async fn digests(
        &self,
        digests: &Arc<Digests>,
        count: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<u64, Error> {
        for bucket in &self.merged.buckets {
            let digests = Arc::clone(digests);
            let add = move |added: &mut std::io::Result<()>, order_id: String, view: State| {
                if added.is_ok() {
                    *added = digests.add(&order_id, digest(&write_item(&VIEW, &order_id, &view)));
                }
            };
            self.merge.read(bucket.bucket, Ok(()), add).await?.map_err(Error::Temporary)?;
            count(bucket.orders);
        }
        Ok(self.merged.orders())
    }

    /// Folds the files that arrived since the archive was listed, for these orders only.
    pub(super) async fn fold_new_files(&mut self, order_ids: impl Iterator<Item = &String>) -> Result<(), Error> {
        let orders: BTreeSet<_> = order_ids.filter_map(|order_id| OrderId::parse(order_id.as_str()).ok()).collect();
        // A filter without orders would accept all of them.
        if orders.is_empty() {
            return Ok(());
        }
        let filter = Arc::new(Filter { orders, ..Filter::default() });
        for file in Listing::read(&self.archive, &filter, None).await?.files {
            if !self.folded.insert(file.key.clone()) {
                continue;
            }
            let Some(bytes) = self.archive.get(&file.key).await? else { continue };
            let mut fold = Fold::new(Arc::clone(&filter), usize::MAX);
            let (views, summary, _) = blocking(move || {
                fold.file(&file.key, &bytes, |_| ());
                fold.finish()
            })
            .await?;
            for (order_id, view) in views {
                self.fresh.entry(order_id).or_default().merge(view);
            }
            self.summary.add(summary);
        }
        Ok(())
    }

    /// The views of these orders. Orders that the archive does not contain are left out.
    pub(super) async fn get(&self, order_ids: &[String]) -> Result<BTreeMap<String, Item>, Error> {
        let wanted: Arc<HashSet<_>> = Arc::new(order_ids.iter().cloned().collect());
        let buckets: BTreeSet<_> = order_ids.iter().map(|order_id| self.merge.spill.buckets.of(order_id)).collect();
        let mut views = BTreeMap::<String, State>::new();
        for bucket in buckets {
            let wanted = Arc::clone(&wanted);
            let keep = move |views: &mut BTreeMap<String, State>, order_id: String, view: State| {
                if wanted.contains(&order_id) {
                    views.insert(order_id, view);
                }
            };
            views = self.merge.read(bucket, views, keep).await?;
        }
        for order_id in order_ids {
            if let Some(fresh) = self.fresh.get(order_id) {
                views.entry(order_id.clone()).or_default().merge(fresh.clone());
            }
        }
        Ok(views.iter().map(|(order_id, view)| (order_id.clone(), write_item(&VIEW, order_id, view))).collect())
    }
}
