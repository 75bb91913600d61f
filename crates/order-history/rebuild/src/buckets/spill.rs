//! Partial views, put aside by bucket.

use std::io;

use archive::Store;
use projection::State;

use super::lines::{Lines, QUICK};
use super::{Buckets, blocking, name};
use crate::error::Error;
use crate::fold::Views;
use crate::verify::Sample;

/// Where the partial views of a run are put aside: `<prefix>bucket=NNN/<batch>-<part>.ndjson.gz`.
///
/// A batch that was begun again may leave files of the first attempt beside those of the second. They hold partial views of the
/// same events, so it makes no difference whether they are merged too.
#[derive(Debug, Clone)]
pub struct Spill {
    /// Where the files are put.
    pub store: Store,
    /// What their keys begin with: it ends with a slash.
    pub prefix: String,
    /// How many buckets there are.
    pub buckets: Buckets,
    /// Which orders are put aside.
    pub sample: Sample,
}

/// The partial views of one bucket, as a gzip file.
type Spilled = (u32, Vec<u8>);

impl Spill {
    /// A place for all orders.
    #[must_use]
    pub fn new(store: Store, prefix: String, buckets: Buckets) -> Self {
        Self { store, prefix, buckets, sample: Sample::ALL }
    }

    /// Puts the views of a part of a batch aside.
    pub async fn store(&self, batch: &str, part: usize, views: Views) -> Result<(), Error> {
        let spill = self.clone();
        let files = blocking(move || spill.compress(views)).await??;
        self.put(batch, part, files).await
    }

    /// Sorts views into buckets and compresses them. This takes processor time and waits for nothing.
    fn compress(&self, views: Views) -> Result<Vec<Spilled>, Error> {
        let mut views: Vec<_> = views
            .into_iter()
            .filter(|(order_id, _)| self.sample.has(order_id))
            .map(|(order_id, view)| (self.buckets.of(&order_id), order_id, view))
            .collect();
        views.sort_unstable_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
        let compressed = |views: &[(u32, String, State)]| {
            // A compressor takes a quarter of a megabyte, so there is one at a time.
            let mut lines = Lines::new(QUICK);
            for (_, order_id, view) in views {
                lines.render(order_id, view);
                lines.add()?;
            }
            lines.finish()
        };
        let files = views.chunk_by(|left, right| left.0 == right.0).map(|views| Ok((views[0].0, compressed(views)?)));
        files.collect::<io::Result<_>>().map_err(Error::Compress)
    }

    /// Puts the files of a part of a batch.
    async fn put(&self, batch: &str, part: usize, files: Vec<Spilled>) -> Result<(), Error> {
        for (bucket, bytes) in files {
            let key = format!("{}{}/{batch}-{part:03}.ndjson.gz", self.prefix, name(bucket));
            self.store.put(&key, bytes).await?;
        }
        Ok(())
    }

    /// The keys of what was put aside for a bucket.
    pub async fn files(&self, bucket: u32) -> Result<Vec<String>, Error> {
        let listed = self.store.list(&format!("{}{}/", self.prefix, name(bucket))).await?;
        Ok(listed.into_iter().map(|object| object.key).collect())
    }

    /// Removes everything that was put aside.
    pub async fn remove(&self) -> Result<(), Error> {
        // A listing of all buckets may be larger than memory.
        for bucket in self.buckets.all() {
            for key in self.files(bucket).await? {
                self.store.delete(&key).await?;
            }
        }
        Ok(())
    }
}
