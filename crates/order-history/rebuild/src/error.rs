//! Errors of a rebuild.

use order_view::RULES;

use crate::buckets::BadFile;

/// Why a rebuild stops. All stored results are correct, and the run can be resumed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages are the documentation.
pub enum Error {
    #[error(transparent)]
    Archive(#[from] archive::Error),
    #[error(transparent)]
    Table(#[from] projection::dynamodb::Error),
    #[error("a run's id may contain letters, digits, `-`, `_` and `.`, at most 100 characters")]
    RunId,
    #[error("run `{0}` does not exist in this archive: check the id and --from, or list the folder `runs/`")]
    NoRun(String),
    #[error("{key} was written by another version: use the version that started the run, or start a new run")]
    Unreadable { key: String, source: serde_json::Error },
    #[error("an object for the run's folder cannot be written as JSON: this is a bug in this program")]
    Write(#[source] serde_json::Error),
    #[error("{0} contains no files of events: check --from")]
    Empty(String),
    #[error("the process is being stopped")]
    Stopped,
    #[error("the table cannot be read")]
    Read(#[source] projection::dynamodb::Error),
    #[error(
        "{key} is damaged: if it belongs to a snapshot, use --snapshot none; if it belongs to a run, start a new run"
    )]
    BadFile { key: String, source: BadFile },
    #[error(
        "{0} is missing: if it belongs to a snapshot, use --snapshot none, or create a snapshot with --full; if it belongs to a run, start a new run"
    )]
    Missing(String),
    #[error(
        "{what} was created with version {theirs} of the rules, but this program has version {RULES}: start a new one"
    )]
    Rules { what: String, theirs: u32 },
    #[error("run `{run}` was started by another command: resume it with that command")]
    OtherKind { run: String },
    #[error("run `{run}` reads the table `{table}`: add --from-table {table}")]
    TableNeeded { run: String, table: String },
    #[error(
        "another snapshot was created in the meantime ({}): it stays the latest, and `{run}` is not used. The next snapshot starts \
         with it",
        by.as_deref().unwrap_or("the latest one was removed")
    )]
    Overtaken { run: String, by: Option<String> },
    #[error("{0} already exists and would be imported too: choose another --out, or empty it")]
    Occupied(String),
    #[error("a file cannot be compressed in memory")]
    Compress(#[source] std::io::Error),
    #[error("the temporary folder cannot be used: set TMPDIR to one with enough space")]
    Temporary(#[source] std::io::Error),
    #[error("run `{run}` is not finished: {} have no result; resume it with --resume {run}", list(batches))]
    Unfinished { run: String, batches: Vec<String> },
}

impl Error {
    /// Whether a retry may succeed without a correction by a person.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Stopped => true,
            Self::Archive(error) => error.is_retryable(),
            Self::Table(error) | Self::Read(error) => error.is_retryable(),
            Self::RunId
            | Self::NoRun(_)
            | Self::Empty(_)
            | Self::Unreadable { .. }
            | Self::Write(_)
            | Self::BadFile { .. }
            | Self::Missing(_)
            | Self::Rules { .. }
            | Self::OtherKind { .. }
            | Self::TableNeeded { .. }
            | Self::Overtaken { .. }
            | Self::Occupied(_)
            | Self::Compress(_)
            | Self::Temporary(_)
            | Self::Unfinished { .. } => false,
        }
    }
}

/// The first few ids, and their number.
fn list(batches: &[String]) -> String {
    const MAX: usize = 10;
    let named = batches.iter().take(MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    match batches.len() {
        1 => format!("batch {named}"),
        2..=MAX => format!("batches {named}"),
        count => format!("{count} batches ({named}, …)"),
    }
}
