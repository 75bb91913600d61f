//! The functions: their processes, and their logs.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use lambda_host::processes::Processes;
use order_events::Timestamp;
use serde::Serialize;
use tokio::task::spawn_blocking;

use super::problem::Problem;

/// The largest number of bytes of a log that are read for its last line, and for its last lines.
const LAST_LINE: u64 = 64 * 1024;
const LAST_LINES: u64 = 8 * 1024 * 1024;

/// All functions.
pub(super) struct Functions(Arc<[Function]>);

/// A function. Its log's path is set only here, so that no request can name another file.
pub(super) struct Function {
    processes: Processes,
    log: PathBuf,
}

/// The shown values of a function.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FunctionState {
    name: String,
    processes: usize,
    invocations: u64,
    failures: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_line: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_line_at: Option<String>,
}

impl Functions {
    pub(super) fn new(functions: Vec<Processes>, logs: &Path) -> Self {
        let function = |processes: Processes| {
            let log = logs.join(format!("{}.log", processes.function()));
            Function { processes, log }
        };
        Self(functions.into_iter().map(function).collect())
    }

    pub(super) fn named(&self, name: &str) -> Result<&Function, Problem> {
        let found = self.0.iter().find(|function| function.processes.function() == name);
        found.ok_or_else(|| Problem::not_found("there is no function with this name"))
    }

    pub(super) async fn state(&self) -> Result<Vec<FunctionState>, Problem> {
        let functions = Arc::clone(&self.0);
        Ok(spawn_blocking(move || functions.iter().map(Function::state).collect()).await?)
    }
}

impl Function {
    fn state(&self) -> FunctionState {
        // A function without output has no log.
        let last_line = tail(&self.log, LAST_LINE).unwrap_or_default().pop();
        let last_line_at = std::fs::metadata(&self.log).and_then(|about| about.modified()).ok();
        FunctionState {
            name: self.processes.function().to_owned(),
            processes: self.processes.ids().len(),
            invocations: self.processes.invocations(),
            failures: self.processes.failures(),
            last_line_at: last_line.is_some().then(|| last_line_at.map(rfc3339)).flatten(),
            last_line,
        }
    }

    /// The last lines of its log, the oldest first.
    pub(super) async fn last_lines(&self, most: usize) -> Result<Vec<String>, Problem> {
        let mut lines = self.log_lines().await?;
        Ok(lines.split_off(lines.len().saturating_sub(most)))
    }

    /// The lines of its log, the oldest first. A long log is cut at the start.
    pub(super) async fn log_lines(&self) -> Result<Vec<String>, Problem> {
        let log = self.log.clone();
        Ok(spawn_blocking(move || tail(&log, LAST_LINES).unwrap_or_default()).await?)
    }

    /// Kills its processes, and returns how many there were.
    pub(super) fn kill(&self) -> usize {
        self.processes.kill()
    }
}

pub(super) fn rfc3339(time: SystemTime) -> String {
    Timestamp::from(time).to_string()
}

/// The whole lines among the last bytes of a file.
fn tail(path: &Path, bytes: u64) -> io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(bytes);
    file.seek(SeekFrom::Start(start))?;
    let mut content = Vec::new();
    file.take(bytes).read_to_end(&mut content)?;
    let text = String::from_utf8_lossy(&content);
    // The first line may be incomplete.
    let lines = text.lines().skip(usize::from(start > 0));
    Ok(lines.map(str::to_owned).collect())
}
