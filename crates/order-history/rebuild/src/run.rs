//! The objects of a run, under `runs/<id>/` in the archive. With them, another process can continue the run.
//!
//! | object | what it is |
//! |---|---|
//! | `batches.jsonl` | the work, one [`Batch`] per line |
//! | `plan.json` | the [`Plan`]; written after the batches, so that a run that has one is complete |
//! | `quarantine/<batch>.ndjson` | the lines that cannot be read, one [`Quarantined`] per line |
//! | `results/<batch>.json` | a [`BatchResult`], put once, after all of the batch is stored |
//! | `report.json` | the [`Report`], written last |

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::SystemTime;

use archive::Store;
use futures_util::{StreamExt, TryStreamExt, stream};
use order_events::Timestamp;
use order_view::RULES;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::buckets::Buckets;
use crate::error::Error;
use crate::files::Import;
use crate::filter::Filter;
use crate::fold::{Quarantined, Summary};
use crate::plan::{Batch, RUNS};
use crate::snapshot::{Snapshot, SnapshotSettings};

/// The plan of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The run's id.
    pub run: String,
    /// The time of planning.
    pub created: Timestamp,
    /// The target of the views.
    pub into: Target,
    /// Which events are used.
    #[serde(default)]
    pub filter: Filter,
    /// The snapshot that it starts from, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// The version of the rules that fold the events.
    #[serde(default)]
    pub rules: u32,
    /// For files and snapshots: the number of buckets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Buckets>,
    /// The write units per second that each process may use; none for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    /// The number of batches.
    pub batches: u64,
    /// The number of files.
    pub files: u64,
    /// The size of the files in the archive.
    pub bytes: u64,
}

/// Where the views go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Target {
    /// Merged into this table.
    Table(String),
    /// Into files of `DynamoDB` JSON, which a new table can be imported from.
    Files(Import),
    /// Into a snapshot of the same archive.
    Snapshot(SnapshotSettings),
}

/// The result of a batch. It is written after everything is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BatchResult {
    /// The id of the batch.
    pub batch: String,
    /// The summary of its files.
    pub summary: Summary,
    /// What was stored.
    pub stored: Stored,
    /// The size of its files in the archive.
    pub bytes: u64,
    /// The number of its files.
    pub files: u64,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// What was stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stored {
    /// The number of partial views. An order that is in several batches or parts is counted several times.
    pub views: u64,
    /// The number of requests to the table.
    pub requests: u64,
    /// The write units, in thousandths.
    pub milliunits: u64,
    /// The orders that would exceed `DynamoDB`'s 400 KB. Their items were not changed.
    pub too_large: BTreeSet<String>,
    /// The orders whose items have an unknown or unreadable attribute. The items were not changed.
    pub corrupt: BTreeSet<String>,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The id of the run.
    pub run: String,
    /// The number of batches.
    pub batches: u64,
    /// The number of files.
    pub files: u64,
    /// Their size in the archive.
    pub bytes: u64,
    /// The summary of the files.
    pub summary: Summary,
    /// What was stored.
    pub stored: Stored,
    /// The sum of the batches' durations, in milliseconds.
    pub took_ms: u64,
}

impl Plan {
    /// Creates a plan with the current time and without sizes.
    #[must_use]
    pub fn new(run: &str, into: Target, filter: Filter) -> Self {
        Self {
            run: run.to_owned(),
            created: SystemTime::now().into(),
            into,
            filter,
            snapshot: None,
            rules: RULES,
            buckets: None,
            rate: None,
            batches: 0,
            files: 0,
            bytes: 0,
        }
    }

    /// Checks that the run uses the rules of this program, because views of two versions must not be mixed.
    pub fn check_rules(&self) -> Result<(), Error> {
        if self.rules == RULES {
            return Ok(());
        }
        Err(Error::Rules { what: format!("run `{}`", self.run), theirs: self.rules })
    }

    /// The plan with the counts of these batches.
    #[must_use]
    pub fn with_size_of(self, batches: &[Batch]) -> Self {
        Self {
            batches: batches.len() as u64,
            files: batches.iter().map(|batch| batch.files.len() as u64).sum(),
            bytes: batches.iter().map(|batch| batch.bytes).sum(),
            ..self
        }
    }
}

/// The objects of one run.
#[derive(Debug, Clone)]
pub struct Run {
    archive: Store,
    id: String,
}

/// The progress of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The batches that have a result, with their results.
    pub done: BTreeMap<String, BatchResult>,
    /// The batches without a result.
    pub missing: Vec<Batch>,
}

/// The number of results that are read at the same time. There can be thousands.
const CONCURRENT_READS: usize = 32;

impl Run {
    /// The run `id` of an archive. It need not exist yet.
    pub fn new(archive: &Store, id: &str) -> Result<Self, Error> {
        // The id becomes part of keys and of a shell command.
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if id.is_empty() || id.len() > 100 || id.starts_with('.') || !id.bytes().all(is_name) {
            return Err(Error::RunId);
        }
        Ok(Self { archive: archive.clone(), id: id.to_owned() })
    }

    /// An id for a new run: the time and some random digits.
    #[must_use]
    pub fn new_id(now: SystemTime) -> String {
        let time: String = Timestamp::from(now).to_string().chars().filter(char::is_ascii_digit).take(14).collect();
        let (date, time) = time.split_at(8);
        format!("{date}T{time}Z-{}", &Uuid::new_v4().simple().to_string()[..6])
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The key of one of its objects.
    #[must_use]
    pub fn key(&self, name: &str) -> String {
        format!("{RUNS}{}/{name}", self.id)
    }

    /// Starts the run, unless it was started before. Returns its plan and its batches.
    pub async fn begin(&self, plan: Plan, batches: Vec<Batch>) -> Result<(Plan, Vec<Batch>), Error> {
        if let Some(existing) = self.find_plan().await? {
            return Ok((existing, self.batches().await?));
        }
        // If two processes start the run at the same time, perhaps with different listings, one of them puts the
        // batches and both use them: the id of a batch must mean the same files in both.
        let is_first = self.archive.put_if_absent(&self.key("batches.jsonl"), lines(&batches)?).await?;
        let batches = if is_first { batches } else { self.batches().await? };
        let plan = plan.with_size_of(&batches);
        self.archive.put_if_absent(&self.key("plan.json"), json(&plan)?).await?;
        Ok((self.plan().await?, batches))
    }

    /// The plan; an error if the run does not exist.
    pub async fn plan(&self) -> Result<Plan, Error> {
        self.find_plan().await?.ok_or_else(|| Error::NoRun(self.id.clone()))
    }

    /// The batches.
    pub async fn batches(&self) -> Result<Vec<Batch>, Error> {
        let key = self.key("batches.jsonl");
        let bytes = self.archive.get(&key).await?.ok_or_else(|| Error::NoRun(self.id.clone()))?;
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| parse(&key, line)).collect()
    }

    /// Which batches are done, and which are missing.
    pub async fn progress(&self) -> Result<Progress, Error> {
        self.progress_of(self.batches().await?).await
    }

    /// Which of these batches are done, and which are missing.
    pub async fn progress_of(&self, batches: Vec<Batch>) -> Result<Progress, Error> {
        let mut progress = Progress { done: BTreeMap::new(), missing: Vec::new() };
        let results: BTreeSet<_> =
            self.archive.list(&self.key("results/")).await?.into_iter().map(|object| object.key).collect();
        let results = &results;
        let read = |batch: Batch| async move {
            let key = self.result_key(&batch.id);
            let result = if results.contains(&key) { self.read(&key).await? } else { None };
            Ok::<_, Error>((batch, result))
        };
        let mut read = pin!(stream::iter(batches).map(read).buffered(CONCURRENT_READS));
        while let Some((batch, result)) = read.try_next().await? {
            match result {
                Some(result) => _ = progress.done.insert(batch.id, result),
                None => progress.missing.push(batch),
            }
        }
        Ok(progress)
    }

    /// The result of a batch, if it is done.
    pub async fn result(&self, batch: &str) -> Result<Option<BatchResult>, Error> {
        self.read(&self.result_key(batch)).await
    }

    /// Writes the result of a batch. If the batch already has a result, that result is kept.
    pub async fn finish(&self, result: &BatchResult, quarantine: &[Quarantined]) -> Result<(), Error> {
        if !quarantine.is_empty() {
            let key = self.key(&format!("quarantine/{}.ndjson", result.batch));
            self.archive.put(&key, lines(quarantine)?).await?;
        }
        self.archive.put_if_absent(&self.result_key(&result.batch), json(result)?).await?;
        Ok(())
    }

    /// Sums the results and writes the report. The error names batches without a result.
    pub async fn report(&self) -> Result<Report, Error> {
        self.report_with(Summary::default(), Stored::default()).await
    }

    /// Sums the results and these additions, and writes the report.
    pub async fn report_with(&self, found: Summary, stored: Stored) -> Result<Report, Error> {
        let Progress { done, missing } = self.progress().await?;
        if !missing.is_empty() {
            return Err(Error::Unfinished {
                run: self.id.clone(),
                batches: missing.into_iter().map(|batch| batch.id).collect(),
            });
        }
        let mut report = Report::of(&self.id, done.into_values());
        report.summary.add(found);
        report.stored.add(stored);
        let plan = self.plan().await?;
        if let (Target::Table(_) | Target::Files(_), Some(snapshot)) = (plan.into, plan.snapshot) {
            report.summary.add(Snapshot::find(&self.archive, &snapshot).await?.recorded_problems());
        }
        self.archive.put(&self.key("report.json"), json(&report)?).await?;
        Ok(report)
    }

    /// The report, if the run is finished.
    pub async fn find_report(&self) -> Result<Option<Report>, Error> {
        self.read(&self.key("report.json")).await
    }

    pub(crate) async fn find_plan(&self) -> Result<Option<Plan>, Error> {
        self.read(&self.key("plan.json")).await
    }

    fn result_key(&self, batch: &str) -> String {
        self.key(&format!("results/{batch}.json"))
    }

    async fn read<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, Error> {
        self.archive.get(key).await?.map(|bytes| parse(key, &bytes)).transpose()
    }
}

impl Report {
    /// The sum of results.
    pub fn of(run: &str, results: impl IntoIterator<Item = BatchResult>) -> Self {
        let mut report = Self {
            run: run.to_owned(),
            batches: 0,
            files: 0,
            bytes: 0,
            summary: Summary::default(),
            stored: Stored::default(),
            took_ms: 0,
        };
        for result in results {
            report.batches += 1;
            report.files += result.files;
            report.bytes += result.bytes;
            report.summary.add(result.summary);
            report.stored.add(result.stored);
            report.took_ms += result.took_ms;
        }
        report
    }

    /// Whether every line was read and every order was stored.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let Self { summary, stored, .. } = self;
        summary.quarantined.is_empty()
            && summary.damaged.is_empty()
            && stored.too_large.is_empty()
            && stored.corrupt.is_empty()
    }
}

impl Stored {
    /// Adds another result.
    pub fn add(&mut self, other: Self) {
        self.views += other.views;
        self.requests += other.requests;
        self.milliunits += other.milliunits;
        self.too_large.extend(other.too_large);
        self.corrupt.extend(other.corrupt);
    }
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(Error::Write)?;
    bytes.push(b'\n');
    Ok(bytes)
}

fn lines(values: &[impl Serialize]) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    for value in values {
        serde_json::to_writer(&mut bytes, value).map_err(Error::Write)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

fn parse<T: DeserializeOwned>(key: &str, bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|source| Error::Unreadable { key: key.to_owned(), source })
}
