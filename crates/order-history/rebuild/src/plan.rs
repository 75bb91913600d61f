//! What a rebuild reads: the files of the archive, in batches.

use std::collections::HashSet;

use archive::{Object, Store};
use clap::ValueEnum;
use order_events::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::filter::Filter;
use crate::snapshot::Choice;

/// Under the root of an archive, what runs keep of themselves.
pub const RUNS: &str = "runs/";
/// Under the root of an archive, the snapshots.
pub const SNAPSHOTS: &str = "snapshots/";

/// Some files of one day: the unit of work, of results, and of what is done again after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Its number, as text of a fixed width.
    pub id: String,
    /// The day on which the files arrived, such as `2026-03-01`; none if their names do not say it.
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
    /// Its key, relative to the root of the archive.
    pub key: String,
    /// Its size in bytes.
    pub size: u64,
}

/// What stands for a part of the archive: views that were folded before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Base {
    /// Its id.
    pub id: String,
    /// The files of views, under the root of the archive.
    pub views: Vec<File>,
    /// The keys of the archive's files that are folded into the views.
    pub consumed: HashSet<String>,
}

/// The files that a rebuild reads, and those that it need not read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The files to read, in the order of their keys.
    pub files: Vec<File>,
    /// How many arrived too long before the filter's beginning to have an event that it takes.
    pub too_early: u64,
    /// How many the snapshot stands for.
    pub in_snapshot: u64,
}

/// What a run has to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    /// The batches.
    pub batches: Vec<Batch>,
    /// The snapshot that it begins with.
    pub snapshot: Option<String>,
    /// What somebody who starts it should know.
    pub notes: Vec<String>,
}

/// Which snapshot a rebuild begins with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum SnapshotChoice {
    /// The latest that this version can use, and the files that are not in it
    #[default]
    Latest,
    /// None: all files are read
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
    /// Looks for the snapshot.
    pub async fn find(self, archive: &Store, filter: &Filter) -> Result<Choice, Error> {
        match self {
            Self::Latest => Choice::find(archive, filter).await,
            Self::None => Ok(Choice::default()),
        }
    }
}

/// A batch is cut when it has this many bytes: about half a million events, some seconds of work and a minute of writing.
pub const BATCH_BYTES: u64 = 50_000_000;
/// A batch is the input of a task, and Step Functions takes 256 KiB of it
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
            } else if arrival(&key).is_some_and(|arrival| !filter.may_take_from(arrival)) {
                listing.too_early += 1;
            } else {
                listing.files.push(File { key, size });
            }
        }
        Ok(listing)
    }

    /// What is left out, if anything is; an error if the archive has neither files of events nor a snapshot of them.
    pub fn note(&self, archive: &Store, base: Option<&Base>) -> Result<Option<String>, Error> {
        if self.files.is_empty() && base.is_none() && self.too_early == 0 {
            return Err(Error::Empty(archive.location().to_string()));
        }
        Ok((self.too_early > 0).then(|| {
            format!(
                "{} files arrived too long before --since to have an event of that time: they are not read",
                self.too_early
            )
        }))
    }

    /// The work: first the views of the snapshot, a batch for each file, then the events, a day after the other, in batches of at most `bytes`.
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

/// Whether a key of the archive is that of a file of events. A hidden file is half written, or not ours.
#[must_use]
pub fn is_of_events(key: &str) -> bool {
    !key.starts_with(RUNS) && !key.starts_with(SNAPSHOTS) && !key.split('/').any(|segment| segment.starts_with('.'))
}

/// The hour in which a file arrived, where its key says it: `…/dt=2026-03-01/hh=12/…` or, as Firehose writes it, `…/2026/03/01/12/…`.
#[must_use]
pub fn arrival(key: &str) -> Option<Timestamp> {
    let folders: Vec<_> = key.split('/').collect();
    let ours = folders.windows(2).find_map(|pair| Some((pair[0].strip_prefix("dt=")?, pair[1].strip_prefix("hh=")?)));
    if let Some((date, hour)) = ours {
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
