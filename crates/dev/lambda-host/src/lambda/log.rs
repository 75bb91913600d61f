//! The output of a function's process.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The output of a process: the last lines in memory, and all lines in the file if there is one.
#[derive(Debug)]
pub(super) struct Log {
    lines: VecDeque<String>,
    file: Option<LogFile>,
}

#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    file: File,
}

/// A process may print without limit. The last lines say why it ended.
const KEPT_LINES: usize = 10_000;

impl LogFile {
    fn open(path: PathBuf) -> Option<Self> {
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        let opened = folder.and_then(|()| File::options().create(true).append(true).open(&path));
        opened
            .inspect_err(|error| {
                let error = error as &dyn std::error::Error;
                tracing::warn!(path = %path.display(), error, "cannot open the log file");
            })
            .ok()
            .map(|file| Self { path, file })
    }

    /// The same file, or a new one if somebody has deleted it.
    fn reopened(self) -> Option<Self> {
        if self.path.exists() { Some(self) } else { Self::open(self.path) }
    }
}

/// Reads to the end, also output that is not UTF-8: a process blocks when nobody reads its output.
pub(super) async fn keep_lines(output: impl AsyncRead + Unpin, log: Arc<Mutex<Log>>) {
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned();
        log.lock().unwrap_or_else(PoisonError::into_inner).keep(text);
        line.clear();
    }
}

impl Log {
    /// Creates an empty log. All lines are also written to `file`, if given.
    pub(super) fn new(file: Option<PathBuf>) -> Self {
        Self { lines: VecDeque::new(), file: file.and_then(LogFile::open) }
    }

    /// Removes and returns the last lines.
    pub(super) fn take_lines(&mut self) -> Vec<String> {
        self.lines.drain(..).collect()
    }

    fn keep(&mut self, line: String) {
        self.file = self.file.take().and_then(LogFile::reopened);
        if let Some(LogFile { file, .. }) = &mut self.file {
            // One write per line, because the function's other processes write to the same file. A full disk must not stop
            // the function.
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
        if self.lines.len() == KEPT_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}
