//! The archive: how many files it has.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;

/// The archive of all events.
pub(super) struct Archive {
    /// The folder of its bucket.
    pub(super) folder: PathBuf,
}

/// What is shown of the archive.
#[derive(Debug, Default, Serialize)]
pub(super) struct ArchiveState {
    files: u64,
    bytes: u64,
    /// The key of the file that was written last.
    #[serde(skip_serializing_if = "Option::is_none")]
    newest: Option<String>,
}

impl Archive {
    pub(super) fn state(&self) -> ArchiveState {
        let mut state = ArchiveState::default();
        let mut newest = SystemTime::UNIX_EPOCH;
        // Before the first event there is no folder. A file that disappears meanwhile is no longer a part of it.
        let _ = each_file(&self.folder.join("events"), &mut |path, length, modified| {
            state.files += 1;
            state.bytes += length;
            if modified >= newest {
                newest = modified;
                let key = path.strip_prefix(&self.folder).unwrap_or(path);
                state.newest = Some(key.to_string_lossy().into_owned());
            }
        });
        state
    }
}

fn each_file(folder: &Path, look: &mut impl FnMut(&Path, u64, SystemTime)) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_dir() {
            each_file(&entry.path(), look)?;
        } else {
            look(&entry.path(), about.len(), about.modified()?);
        }
    }
    Ok(())
}
