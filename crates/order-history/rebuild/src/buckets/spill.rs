//! Spills partial views by bucket.

use std::io;

use archive::Store;
use futures_util::{StreamExt, TryStreamExt, stream};
use projection::State;
use uuid::Uuid;

use super::lines::{FAST, Lines};
use super::{Buckets, blocking, name};
use crate::error::Error;
use crate::fold::Views;
use crate::verify::Sample;

/// The spilled partial views of a run: `<prefix>bucket=NNN/<batch>-<random>.ndjson.gz`.
///
/// Files are never overwritten: two processes with the same batch split its views into different parts, by their memory, so a part of one
/// must not replace a part of the other. Files of an earlier attempt may remain. They contain partial
/// views of the same events, so merging them too changes nothing.
#[derive(Debug, Clone)]
pub struct Spill {
    /// The location of the files.
    pub store: Store,
    /// The prefix of their keys, which ends with a slash.
    pub prefix: String,
    /// The number of buckets.
    pub buckets: Buckets,
    /// The orders to spill.
    pub sample: Sample,
}

/// The number of concurrent PUT requests.
const PUTS: usize = 16;

/// The partial views of one bucket, as a gzip file.
type Spilled = (u32, Vec<u8>);

impl Spill {
    /// A spill for all orders.
    #[must_use]
    pub fn new(store: Store, prefix: String, buckets: Buckets) -> Self {
        Self { store, prefix, buckets, sample: Sample::ALL }
    }

    /// Spills views of a batch.
    pub async fn store(&self, batch: &str, views: Views) -> Result<(), Error> {
        let spill = self.clone();
        let files = blocking(move || spill.compress(views)).await??;
        let part = Uuid::new_v4().simple();
        let puts = stream::iter(files).map(|(bucket, bytes)| async move {
            let key = format!("{}{}/{batch}-{part}.ndjson.gz", self.prefix, name(bucket));
            self.store.put(&key, bytes).await
        });
        Ok(puts.buffer_unordered(PUTS).try_collect().await?)
    }

    /// Sorts views into buckets and compresses them. This is CPU-bound.
    fn compress(&self, views: Views) -> Result<Vec<Spilled>, Error> {
        let mut views: Vec<_> = views
            .into_iter()
            .filter(|(order_id, _)| self.sample.has(order_id))
            .map(|(order_id, view)| (self.buckets.of(&order_id), order_id, view))
            .collect();
        views.sort_unstable_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
        let compressed = |views: &[(u32, String, State)]| {
            // A compressor needs 256 KB, so there is only one at a time.
            let mut lines = Lines::new(FAST);
            for (_, order_id, view) in views {
                lines.render(order_id, view);
                lines.add()?;
            }
            lines.finish()
        };
        let files = views.chunk_by(|left, right| left.0 == right.0).map(|views| Ok((views[0].0, compressed(views)?)));
        files.collect::<io::Result<_>>().map_err(Error::Compress)
    }

    /// The keys of the spilled files of a bucket.
    pub async fn files(&self, bucket: u32) -> Result<Vec<String>, Error> {
        let listed = self.store.list(&format!("{}{}/", self.prefix, name(bucket))).await?;
        Ok(listed.into_iter().map(|object| object.key).collect())
    }

    /// Removes all spilled files.
    pub async fn remove(&self) -> Result<(), Error> {
        // Bucket by bucket, because a listing of all of them may be larger than memory.
        for bucket in self.buckets.all() {
            for key in self.files(bucket).await? {
                self.store.delete(&key).await?;
            }
        }
        Ok(())
    }
}
