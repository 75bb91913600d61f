//! Snapshots: views that stand for the files of the archive that are folded into them.
//!
//! | object | what it is |
//! |---|---|
//! | `snapshots/<id>/bucket=NNN.ndjson.gz` | the views, as lines of `DynamoDB` JSON, by a hash of the order's id |
//! | `snapshots/<id>/files.jsonl.gz` | the keys of the files that are folded into them, one JSON text a line |
//! | `snapshots/<id>/quarantine/…` | the lines of these files that could not be read |
//! | `snapshots/<id>/manifest.json` | the [`Manifest`], written when all of these are there |
//! | `snapshots/latest` | `{"id":…}` of the one to use, replaced last and only if it still is the one that was begun with |
//!
//! A snapshot is never changed, and old ones stay until somebody, or a lifecycle rule of the bucket, removes them.

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

pub use self::take::{Done, Options, Recipe, Step, Taken, take};
use crate::buckets::lines::BadFile;
use crate::buckets::{self, Buckets};
use crate::error::Error;
use crate::filter::Filter;
use crate::fold::Summary;
use crate::plan::{Base, File, SNAPSHOTS};

/// The key of the object that names the snapshot to use.
pub const LATEST: &str = "snapshots/latest";

/// What a snapshot is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Its id, which is that of the run that made it.
    pub id: String,
    /// The version of the rules that the events were folded by. Under other rules they would make other views.
    pub rules: u32,
    /// When it was made.
    pub created: Timestamp,
    /// The snapshot that it was made from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The tables whose items are in it, or in a snapshot that it was made from. The archive alone may not have all that they say.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tables: BTreeSet<String>,
    /// How many files of the archive it stands for.
    pub files: u64,
    /// The files of views, by bucket. Their number is a power of two.
    pub buckets: Vec<BucketFile>,
    /// How many lines of the archive's files could not be read, by the code of the reason. A rebuild that uses the snapshot reports
    /// them as if it had read the files itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub quarantined: BTreeMap<String, u64>,
    /// How many pairs of events had one id and different content.
    #[serde(default)]
    pub contradictions: u64,
}

/// The views of one bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketFile {
    /// How many orders there are.
    pub orders: u64,
    /// The size of their lines before compression.
    pub bytes: u64,
    /// The size of the file.
    pub size: u64,
}

impl Manifest {
    /// How many orders there are.
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
    /// What it is made of.
    pub manifest: Manifest,
}

/// Which snapshot a rebuild begins with, and what to tell about it.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// The latest, if there is one and it can be used.
    pub snapshot: Option<Snapshot>,
    /// Why one that is there cannot be used.
    pub note: Option<String>,
}

impl Choice {
    /// Looks for the latest snapshot of an archive, for a rebuild with this filter.
    pub async fn find(archive: &Store, filter: &Filter) -> Result<Self, Error> {
        let Some((Latest { id }, _)) = Latest::read(archive).await? else { return Ok(Self::default()) };
        if !filter.takes_whole_orders() {
            let note = format!(
                "snapshot {id} is not used: it has whole orders, and --since, --until and --types need the events themselves"
            );
            return Ok(Self { snapshot: None, note: Some(note) });
        }
        let manifest = Manifest::read(archive, &id).await?;
        if manifest.rules == RULES {
            return Ok(Self { snapshot: Some(Snapshot::new(archive, manifest)?), note: None });
        }
        let mut note = format!(
            "snapshot {id} is not used: it was made by version {} of the rules, and this program has version {RULES}; the events \
             are read instead",
            manifest.rules
        );
        if !manifest.tables.is_empty() {
            let tables = manifest.tables.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            note += ". It holds items of the table ";
            note += &tables;
            note += ": what happened before there was an archive is missing from what is built now";
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

    /// A certain snapshot, if it was made by the rules of this program.
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

    /// What it stands for, for a plan: the files that need not be read, and the files of views, of which those are left out that have
    /// none of the orders that the filter names.
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

    /// What a rebuild that uses it has to report, beside what it finds itself.
    #[must_use]
    pub fn remembered(&self) -> Summary {
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

/// The keys of the files that are folded into a snapshot.
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

/// These keys, one JSON text a line.
fn write_consumed<'a>(files: impl IntoIterator<Item = &'a String>) -> Result<Vec<u8>, Error> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    for file in files {
        serde_json::to_writer(&mut gzip, file).map_err(Error::Write)?;
        gzip.write_all(b"\n").map_err(Error::Compress)?;
    }
    gzip.finish().map_err(Error::Compress)
}
