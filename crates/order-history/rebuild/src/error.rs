//! Why a rebuild stops.

use order_view::RULES;

use crate::buckets::BadFile;

/// Why a rebuild stops. What it stored is right; the run can be resumed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // The messages are the documentation.
pub enum Error {
    #[error(transparent)]
    Archive(#[from] archive::Error),
    #[error(transparent)]
    Table(#[from] projection::dynamodb::Error),
    #[error("a run's id has letters, digits, `-`, `_` and `.`, and at most 100 of them")]
    RunId,
    #[error("there is no run `{0}` in this archive: check the id and --from, or list the folder `runs/`")]
    NoRun(String),
    #[error("{key} is not what this version writes: use the version that began the run, or begin another run")]
    Unreadable { key: String, source: serde_json::Error },
    #[error("what is to be written to the run's folder has no JSON form: this is a mistake in this program")]
    Write(#[source] serde_json::Error),
    #[error("there is no file of events in {0}: check --from")]
    Empty(String),
    #[error("the process is being stopped")]
    Stopped,
    #[error("the table cannot be read")]
    Read(#[source] projection::dynamodb::Error),
    #[error(
        "{key} is not as it was written: a snapshot with it cannot be used (--snapshot none), a run with it cannot be resumed"
    )]
    BadFile { key: String, source: BadFile },
    #[error(
        "{0} is missing. If it belongs to a snapshot, rebuild with --snapshot none, or make one with --full; if it belongs to a run, start a new run"
    )]
    Missing(String),
    #[error("{what} was made by version {theirs} of the rules, and this program has version {RULES}: begin another")]
    Rules { what: String, theirs: u32 },
    #[error("run `{run}` was begun by another command: resume it with that")]
    OtherKind { run: String },
    #[error("run `{run}` reads the table `{table}`: name it with --from-table")]
    TableNeeded { run: String, table: String },
    #[error(
        "another snapshot was made in the meantime ({}): it stays the latest, and `{run}` is not used. The next snapshot begins \
         with it",
        by.as_deref().unwrap_or("the latest was removed")
    )]
    Overtaken { run: String, by: Option<String> },
    #[error("{0} is there already, and would be imported too: choose another --out, or empty it")]
    Occupied(String),
    #[error("a file cannot be compressed in memory")]
    Compress(#[source] std::io::Error),
    #[error("the temporary folder cannot be used: set TMPDIR to one with enough space")]
    Temporary(#[source] std::io::Error),
    #[error("run `{run}` is not finished: {} have no result; resume it with --resume {run}", name(batches))]
    Unfinished { run: String, batches: Vec<String> },
}

impl Error {
    /// Whether the same may succeed later with nothing changed by hand.
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

/// The first few, and how many there are.
fn name(batches: &[String]) -> String {
    const MOST: usize = 10;
    let named = batches.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join(", ");
    match batches.len() {
        1 => format!("batch {named}"),
        2..=MOST => format!("batches {named}"),
        count => format!("{count} batches ({named}, …)"),
    }
}
