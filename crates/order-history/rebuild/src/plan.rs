//! Lists the files of the archive and groups them into batches.

use std::collections::HashSet;

use archive::{Object, Store};
use clap::ValueEnum;
use order_events::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::filter::Filter;
use crate::snapshot::Choice;

/// The folder of the runs in an archive.
pub const RUNS: &str = "runs/";
/// The folder of the snapshots in an archive.
pub const SNAPSHOTS: &str = "snapshots/";

/// Some files of one day. They are processed together, have one result, and are repeated together after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// The number, as a text of fixed width.
    pub id: String,
    /// The day on which the files arrived, such as `2026-03-01`; none if their names do not contain it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// Their size in the archive.
    pub bytes: u64,
    /// The files.
    pub files: Vec<File>,
}

/// A file of the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The key, relative to the root of the archive.
    pub key: String,
    /// The size in bytes.
    pub size: u64,
}

/// Views that replace a part of the archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Base {
    /// Its id.
    pub id: String,
    /// The files of views, under the root of the archive.
    pub views: Vec<File>,
    /// The keys of the archive's files that are folded into the views.
    pub consumed: HashSet<String>,
}

/// The files that a rebuild reads, and the number of those that it skips.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The files to read, sorted by key.
    pub files: Vec<File>,
    /// The number of files that arrived too long before the filter's start.
    pub too_early: u64,
    /// The number of files in the snapshot.
    pub in_snapshot: u64,
}

/// The work of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    /// The batches.
    pub batches: Vec<Batch>,
    /// The snapshot that it starts from.
    pub snapshot: Option<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// The snapshot that a rebuild starts from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SnapshotChoice {
    /// The latest snapshot that this version can use, and the files that are not in it
    #[default]
    Latest,
    /// No snapshot: read all files
    None,
}

impl Work {
    /// Lists an archive, for views that go into a table, in batches of at most `batch_bytes`.
    pub async fn list(
        archive: &Store,
        filter: &Filter,
        choice: SnapshotChoice,
        batch_bytes: u64,
    ) -> Result<Self, Error> {
        let Choice { snapshot, note } = choice.find(archive, filter).await?;
        let base = match &snapshot {
            Some(snapshot) => Some(snapshot.base(filter).await?),
            None => None,
        };
        let listing = Listing::read(archive, filter, base.as_ref()).await?;
        let mut notes: Vec<_> = note.into_iter().collect();
        notes.extend(listing.note(archive, base.as_ref())?);
        Ok(Self { batches: listing.batches(base.as_ref(), batch_bytes), snapshot: base.map(|base| base.id), notes })
    }
}

impl SnapshotChoice {
    /// Finds the snapshot.
    pub async fn find(self, archive: &Store, filter: &Filter) -> Result<Choice, Error> {
        match self {
            Self::Latest => Choice::find(archive, filter).await,
            Self::None => Ok(Choice::default()),
        }
    }
}

/// The largest batch, in bytes: about half a million events, a few seconds of folding and a minute of writing.
pub const BATCH_BYTES: u64 = 50_000_000;
/// A batch is the input of a task, which Step Functions limits to 256 KiB
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html>).
const BATCH_LINE: usize = 100_000;

impl Listing {
    /// Lists the events' files of an archive.
    pub async fn read(archive: &Store, filter: &Filter, base: Option<&Base>) -> Result<Self, Error> {
        let mut listing = Self::default();
        for Object { key, size } in archive.list("").await? {
            if !is_of_events(&key) {
                continue;
            }
            if base.is_some_and(|base| base.consumed.contains(&key)) {
                listing.in_snapshot += 1;
            } else if arrival(&key).is_some_and(|arrival| !filter.may_accept_from(arrival)) {
                listing.too_early += 1;
            } else {
                listing.files.push(File { key, size });
            }
        }
        Ok(listing)
    }

    /// A note about skipped files, if there are any. An error if the archive contains neither event files nor a snapshot.
    pub fn note(&self, archive: &Store, base: Option<&Base>) -> Result<Option<String>, Error> {
        if self.files.is_empty() && base.is_none() && self.too_early == 0 {
            return Err(Error::Empty(archive.location().to_string()));
        }
        Ok((self.too_early > 0)
            .then(|| format!("{} files are not read: they arrived too long before --since", self.too_early)))
    }

    /// The batches: first the views of the snapshot, one batch per file, then the events, day by day, in batches of at most `bytes`.
    #[must_use]
    pub fn batches(mut self, base: Option<&Base>, bytes: u64) -> Vec<Batch> {
        let mut batches = Vec::new();
        for file in base.into_iter().flat_map(|base| base.views.iter().cloned()) {
            batches.push(Batch { id: String::new(), day: None, bytes: file.size, files: vec![file] });
        }
        self.files.sort_by_cached_key(|file| (day(&file.key), file.key.clone()));
        let mut line = 0;
        let mut is_cut = true;
        for file in self.files {
            let day = day(&file.key);
            line += file.key.len() + 40;
            match batches.last_mut() {
                Some(batch)
                    if !is_cut && batch.day == day && batch.bytes + file.size <= bytes && line <= BATCH_LINE =>
                {
                    batch.bytes += file.size;
                    batch.files.push(file);
                }
                _ => {
                    line = file.key.len() + 40;
                    is_cut = false;
                    batches.push(Batch { id: String::new(), day, bytes: file.size, files: vec![file] });
                }
            }
        }
        for (place, batch) in batches.iter_mut().enumerate() {
            batch.id = format!("{place:05}");
        }
        batches
    }
}

/// Whether the key is that of an event file. A hidden file is incomplete, or not part of the archive.
#[must_use]
pub fn is_of_events(key: &str) -> bool {
    !key.starts_with(RUNS) && !key.starts_with(SNAPSHOTS) && !key.split('/').any(|segment| segment.starts_with('.'))
}

/// The hour in which a file arrived, if its key contains it: `…/dt=2026-03-01/hh=12/…` or, as Firehose writes it, `…/2026/03/01/12/…`.
#[must_use]
pub fn arrival(key: &str) -> Option<Timestamp> {
    let folders: Vec<_> = key.split('/').collect();
    let date_and_hour =
        folders.windows(2).find_map(|pair| Some((pair[0].strip_prefix("dt=")?, pair[1].strip_prefix("hh=")?)));
    if let Some((date, hour)) = date_and_hour {
        return Timestamp::parse(&format!("{date}T{hour}:00:00Z")).ok();
    }
    folders.windows(4).find_map(|parts| {
        let [year, month, day, hour] = parts else { return None };
        let is_date = [4, 2, 2, 2]
            .iter()
            .zip(parts)
            .all(|(length, part)| part.len() == *length && part.bytes().all(|byte| byte.is_ascii_digit()));
        is_date.then(|| Timestamp::parse(&format!("{year}-{month}-{day}T{hour}:00:00Z")).ok()).flatten()
    })
}

fn day(key: &str) -> Option<String> {
    arrival(key).map(|arrival| arrival.to_string()[..10].to_owned())
}
