//! Snapshots: views that replace the files of the archive that were folded into them.
//!
//! | object | what it is |
//! |---|---|
//! | `snapshots/<id>/bucket=NNN.ndjson.gz` | the views, as lines of `DynamoDB` JSON, by a hash of the order's id |
//! | `snapshots/<id>/files.jsonl.gz` | the keys of the files that were folded into them, one JSON text per line |
//! | `snapshots/<id>/quarantine/…` | the lines of these files that could not be read |
//! | `snapshots/<id>/manifest.json` | the [`Manifest`], written after all of these |
//! | `snapshots/latest` | `{"id":…}` of the snapshot to use, replaced last, and only if it has not changed since the start |
//!
//! A snapshot never changes. Old ones stay until a person or a lifecycle rule of the bucket removes them.

mod take;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::{BufRead, BufReader, Write};

use archive::{Store, Version};
use flate2::Compression;
use flate2::bufread::MultiGzDecoder;
use flate2::write::GzEncoder;
use order_events::Timestamp;
use order_view::RULES;
use serde::{Deserialize, Serialize};

pub use self::take::{NewSnapshot, Options, SnapshotResult, SnapshotSettings, Step, take};
use crate::buckets::lines::BadFile;
use crate::buckets::{self, Buckets};
use crate::error::Error;
use crate::filter::Filter;
use crate::fold::Summary;
use crate::plan::{Base, File, SNAPSHOTS};

/// The key of the object that names the snapshot to use.
pub const LATEST: &str = "snapshots/latest";

/// The manifest of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The id, which is that of the run that created it.
    pub id: String,
    /// The version of the rules that folded the events. Other rules would make other views.
    pub rules: u32,
    /// The time of creation.
    pub created: Timestamp,
    /// The snapshot that it started from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The tables whose items are in it, or in an earlier snapshot. The archive may not contain all their data.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tables: BTreeSet<String>,
    /// The number of files of the archive in it.
    pub files: u64,
    /// The files of views, by bucket. Their number is a power of two.
    pub buckets: Vec<BucketFile>,
    /// The number of lines that could not be read, by the code of the reason. A rebuild from the snapshot reports
    /// them as if it had read the files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quarantined: BTreeMap<String, u64>,
    /// The number of pairs of events with the same id and different content.
    #[serde(default)]
    pub contradictions: u64,
}

/// The views of one bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketFile {
    /// The number of orders.
    pub orders: u64,
    /// The size of their lines before compression.
    pub bytes: u64,
    /// The size of the file.
    pub size: u64,
}

impl Manifest {
    /// The number of orders.
    #[must_use]
    pub fn orders(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.orders).sum()
    }

    /// The size of their lines before compression.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.bytes).sum()
    }
}

/// A snapshot that can be used.
#[derive(Debug, Clone)]
pub struct Snapshot {
    store: Store,
    buckets: Buckets,
    /// The manifest.
    pub manifest: Manifest,
}

/// The snapshot that a rebuild starts from, and a note about it.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// The latest snapshot, if it exists and can be used.
    pub snapshot: Option<Snapshot>,
    /// Why the latest snapshot cannot be used.
    pub note: Option<String>,
}

impl Choice {
    /// Finds the latest snapshot of an archive, for a rebuild with this filter.
    pub async fn find(archive: &Store, filter: &Filter) -> Result<Self, Error> {
        let Some((Latest { id }, _)) = Latest::read(archive).await? else { return Ok(Self::default()) };
        if !filter.accepts_whole_orders() {
            let note = format!(
                "snapshot {id} is not used: it contains whole orders, but --since, --until and --types need the events"
            );
            return Ok(Self { snapshot: None, note: Some(note) });
        }
        let manifest = Manifest::read(archive, &id).await?;
        if manifest.rules == RULES {
            return Ok(Self { snapshot: Some(Snapshot::new(archive, manifest)?), note: None });
        }
        let mut note = format!(
            "snapshot {id} is not used: it was created with version {} of the rules, but this program has version {RULES}; the events \
             are read instead",
            manifest.rules
        );
        if !manifest.tables.is_empty() {
            let tables = manifest.tables.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            note += ". It contains items of the table ";
            note += &tables;
            note += ": data from before the archive existed will be missing in the result";
        }
        Ok(Self { snapshot: None, note: Some(note) })
    }
}

impl Snapshot {
    fn new(store: &Store, manifest: Manifest) -> Result<Self, Error> {
        let count = u32::try_from(manifest.buckets.len()).unwrap_or(u32::MAX);
        let buckets = count.try_into().map_err(|_| Error::Missing(key(&manifest.id, "manifest.json")))?;
        Ok(Self { store: store.clone(), buckets, manifest })
    }

    /// Reads a snapshot. It must use the rules of this program.
    pub async fn find(store: &Store, id: &str) -> Result<Self, Error> {
        let manifest = Manifest::read(store, id).await?;
        if manifest.rules != RULES {
            return Err(Error::Rules { what: format!("snapshot `{id}`"), theirs: manifest.rules });
        }
        Self::new(store, manifest)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.manifest.id
    }

    /// For a plan: the files that need not be read, and the files of views, without those that contain
    /// none of the orders in the filter.
    pub async fn base(&self, filter: &Filter) -> Result<Base, Error> {
        let wanted = |bucket: u32| {
            filter.orders.is_empty() || filter.orders.iter().any(|order| self.buckets.of(order.as_str()) == bucket)
        };
        let file = |bucket: u32| {
            let size = self.manifest.buckets.get(bucket as usize).map_or(0, |bucket| bucket.size);
            File { key: self.bucket_key(bucket), size }
        };
        let views = self.buckets.all().filter(|bucket| wanted(*bucket)).map(file).collect();
        let files = consumed(&self.store, self.id()).await?;
        if files.len() as u64 != self.manifest.files {
            let source = BadFile::Count { expected: self.manifest.files, found: files.len() as u64 };
            return Err(Error::BadFile { key: files_key(self.id()), source });
        }
        Ok(Base { id: self.id().to_owned(), views, consumed: files })
    }

    /// Its files of views, to be merged with others.
    #[must_use]
    pub fn views(&self) -> buckets::Base {
        let file = |bucket: u32| (self.bucket_key(bucket), self.manifest.buckets[bucket as usize].orders);
        buckets::Base {
            store: self.store.clone(),
            buckets: self.buckets,
            files: self.buckets.all().map(file).collect(),
        }
    }

    /// The lines and contradictions that a rebuild from it must report.
    #[must_use]
    pub fn recorded_problems(&self) -> Summary {
        Summary {
            quarantined: self.manifest.quarantined.clone(),
            contradictions: self.manifest.contradictions,
            ..Summary::default()
        }
    }

    fn bucket_key(&self, bucket: u32) -> String {
        key(self.id(), &format!("{}.ndjson.gz", buckets::name(bucket)))
    }
}

impl Manifest {
    async fn read(store: &Store, id: &str) -> Result<Self, Error> {
        let key = key(id, "manifest.json");
        let bytes = store.get(&key).await?.ok_or_else(|| Error::Missing(key.clone()))?;
        serde_json::from_slice(&bytes).map_err(|source| Error::Unreadable { key, source })
    }
}

/// The object that names the snapshot to use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Latest {
    id: String,
}

impl Latest {
    async fn read(store: &Store) -> Result<Option<(Self, Version)>, Error> {
        let Some((bytes, version)) = store.get_versioned(LATEST).await? else { return Ok(None) };
        let key = || LATEST.to_owned();
        let latest = serde_json::from_slice(&bytes).map_err(|source| Error::Unreadable { key: key(), source })?;
        Ok(Some((latest, version)))
    }
}

fn key(id: &str, name: &str) -> String {
    format!("{SNAPSHOTS}{id}/{name}")
}

fn files_key(id: &str) -> String {
    key(id, "files.jsonl.gz")
}

/// The keys of the files that were folded into a snapshot.
async fn consumed(store: &Store, id: &str) -> Result<HashSet<String>, Error> {
    let key = files_key(id);
    let bytes = store.get(&key).await?.ok_or_else(|| Error::Missing(key.clone()))?;
    let mut files = HashSet::new();
    for line in BufReader::new(MultiGzDecoder::new(bytes.as_slice())).lines() {
        let line = line.map_err(|error| Error::BadFile { key: key.clone(), source: error.into() })?;
        let file = serde_json::from_str(&line).map_err(|source| Error::Unreadable { key: key.clone(), source })?;
        files.insert(file);
    }
    Ok(files)
}

/// Writes these keys, one JSON text per line.
fn write_consumed<'a>(files: impl IntoIterator<Item = &'a String>) -> Result<Vec<u8>, Error> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    for file in files {
        serde_json::to_writer(&mut gzip, file).map_err(Error::Write)?;
        gzip.write_all(b"\n").map_err(Error::Compress)?;
    }
    gzip.finish().map_err(Error::Compress)
}
