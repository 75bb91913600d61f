//! The number and the size of the archive's files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::problem::Problem;

/// The archive of all events.
pub(super) struct Archive {
    /// The folder of its bucket.
    folder: PathBuf,
    /// A count that is older is not used.
    max_age: Duration,
    /// The last count, and when it was made. Held during a count, so that there is only one at a time.
    counted: Mutex<Option<(Instant, ArchiveState)>>,
}

/// The shown values of the archive.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub(super) struct ArchiveState {
    files: u64,
    bytes: u64,
    /// The key of the file that was written last.
    #[serde(skip_serializing_if = "Option::is_none")]
    newest: Option<String>,
}

impl Archive {
    pub(super) fn new(folder: PathBuf, max_age: Duration) -> Self {
        Self { folder, max_age, counted: Mutex::default() }
    }

    pub(super) async fn state(&self) -> Result<ArchiveState, Problem> {
        let mut counted = self.counted.lock().await;
        if let Some((at, state)) = &*counted
            && at.elapsed() < self.max_age
        {
            return Ok(state.clone());
        }
        let folder = self.folder.clone();
        let state = spawn_blocking(move || count(&folder)).await?;
        *counted = Some((Instant::now(), state.clone()));
        Ok(state)
    }
}

fn count(folder: &Path) -> ArchiveState {
    let mut state = ArchiveState::default();
    let mut newest = SystemTime::UNIX_EPOCH;
    // Before the first event there is no folder. A file that disappears meanwhile is not counted.
    let _ = each_file(&folder.join("events"), &mut |path, length, modified| {
        state.files += 1;
        state.bytes += length;
        if modified >= newest {
            newest = modified;
            let key = path.strip_prefix(folder).unwrap_or(path);
            state.newest = Some(key.to_string_lossy().into_owned());
        }
    });
    state
}

fn each_file(folder: &Path, visit: &mut impl FnMut(&Path, u64, SystemTime)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_dir() {
            each_file(&entry.path(), visit)?;
        } else {
            visit(&entry.path(), about.len(), about.modified()?);
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failed unwrap fails the test.
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_are_counted_again_when_the_last_count_is_old() {
        let folder = std::env::temp_dir().join(format!("archive-{}", std::process::id()));
        let day = folder.join("events/dt=2026-01-01");
        fs::create_dir_all(&day).unwrap();
        fs::write(day.join("a"), "12").unwrap();
        let archives = [Duration::MAX, Duration::ZERO].map(|max_age| Archive::new(folder.clone(), max_age));
        for archive in &archives {
            let newest = Some("events/dt=2026-01-01/a".to_owned());
            assert_eq!(archive.state().await.unwrap(), ArchiveState { files: 1, bytes: 2, newest });
        }
        fs::write(day.join("b"), "3").unwrap();
        let [kept, again] = &archives;
        assert_eq!(kept.state().await.unwrap().files, 1);
        assert_eq!(again.state().await.unwrap().files, 2);
        fs::remove_dir_all(folder).unwrap();
    }
}
