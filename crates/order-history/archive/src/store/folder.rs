//! Objects in a folder. Each object is a file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Object, Version, is_hidden};
use crate::{Error, Location};

#[derive(Debug, Clone)]
pub(super) struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    pub(super) fn location(&self) -> Location {
        Location::Folder(self.root.clone())
    }

    pub(super) async fn list(&self, prefix: &str) -> Result<Vec<Object>, Error> {
        let mut found = Vec::new();
        let folder = prefix.rfind('/').map_or("", |end| &prefix[..end]);
        let mut folders = vec![(self.path(folder), folder.to_owned())];
        while let Some((path, folder)) = folders.pop() {
            let file_error = |source| Error::File { path: path.clone(), source };
            let mut entries = match tokio::fs::read_dir(&path).await {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(file_error(error)),
            };
            while let Some(entry) = entries.next_entry().await.map_err(file_error)? {
                let name = entry.file_name();
                let name = name.to_str().ok_or_else(|| Error::File {
                    path: entry.path(),
                    source: io::Error::new(io::ErrorKind::InvalidData, "its name is not in UTF-8"),
                })?;
                let key = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
                if is_hidden(&key) {
                    continue;
                }
                // Follows links.
                let metadata = match tokio::fs::metadata(entry.path()).await {
                    Ok(metadata) => metadata,
                    // The file was removed after the folder was read.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(source) => return Err(Error::File { path: entry.path(), source }),
                };
                if metadata.is_dir() {
                    folders.push((entry.path(), key));
                } else if key.starts_with(prefix) {
                    found.push(Object { key, size: metadata.len() });
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path(key);
        match tokio::fs::read(&path).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::File { path, source }),
        }
    }

    pub(super) async fn get_versioned(&self, key: &str) -> Result<Option<(Vec<u8>, Version)>, Error> {
        Ok(self.get(key).await?.map(|bytes| {
            let version = version(&bytes);
            (bytes, version)
        }))
    }

    pub(super) async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let path = self.path(key);
        let put = move || {
            let part = write_beside(&path, &bytes)?;
            std::fs::rename(&part, &path).map_err(|source| Error::File { path, source })
        };
        blocking(put).await
    }

    pub(super) async fn put_if_absent(&self, key: &str, bytes: Vec<u8>) -> Result<bool, Error> {
        let path = self.path(key);
        let put = move || {
            let part = write_beside(&path, &bytes)?;
            // A hard link appears with all its content, and only if the name is free.
            let linked = std::fs::hard_link(&part, &path);
            std::fs::remove_file(&part).map_err(|source| Error::File { path: part, source })?;
            match linked {
                Ok(()) => Ok(true),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => has_content(&path, &bytes),
                Err(source) => Err(Error::File { path, source }),
            }
        };
        blocking(put).await
    }

    pub(super) async fn replace(&self, key: &str, bytes: Vec<u8>, expected: &Version) -> Result<bool, Error> {
        let (path, expected) = (self.path(key), expected.clone());
        let replace = move || {
            // If two processes replace the same object, one waits here for the other.
            let lock = lock_path(&path)?;
            let current = match std::fs::read(&path) {
                Ok(current) => current,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
                Err(source) => return Err(Error::File { path, source }),
            };
            if version(&current) != expected {
                return Ok(current == bytes);
            }
            let part = write_beside(&path, &bytes)?;
            std::fs::rename(&part, &path).map_err(|source| Error::File { path, source })?;
            drop(lock);
            Ok(true)
        };
        blocking(replace).await
    }

    pub(super) async fn delete(&self, key: &str) -> Result<(), Error> {
        let path = self.path(key);
        match tokio::fs::remove_file(&path).await {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::File { path, source }),
        }
        // Removes empty folders, because a bucket has none. Other folders cannot be removed.
        let mut folder = path.parent();
        while let Some(empty) = folder.filter(|folder| *folder != self.root) {
            if tokio::fs::remove_dir(empty).await.is_err() {
                break;
            }
            folder = empty.parent();
        }
        Ok(())
    }

    fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }
}

/// Runs a blocking task on its own thread.
async fn blocking<T: Send + 'static>(task: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    match tokio::task::spawn_blocking(task).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Error::File { path: PathBuf::new(), source: io::Error::other("the runtime is stopping") }),
        },
    }
}

/// Writes the content into the same folder, with a hidden name.
fn write_beside(path: &Path, bytes: &[u8]) -> Result<PathBuf, Error> {
    let folder = path.parent().unwrap_or(path);
    let part = folder.join(format!(".{}.part", Uuid::new_v4()));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&part, bytes));
    match written {
        Ok(()) => Ok(part),
        Err(source) => {
            // Frees the space, because the disk may be full.
            let _ = std::fs::remove_file(&part);
            Err(Error::File { path: part, source })
        }
    }
}

/// Whether the file has this content.
fn has_content(path: &Path, bytes: &[u8]) -> Result<bool, Error> {
    match std::fs::read(path) {
        Ok(now) => Ok(now == bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(Error::File { path: path.to_owned(), source }),
    }
}

/// Locks a path until the returned file is dropped, or the process ends.
fn lock_path(path: &Path) -> Result<File, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let path = path.with_file_name(format!(".{name}.lock"));
    let folder = path.parent().unwrap_or(&path);
    let lock = std::fs::create_dir_all(folder).and_then(|()| {
        let file = File::options().create(true).append(true).open(&path)?;
        file.lock()?;
        Ok(file)
    });
    lock.map_err(|source| Error::File { path, source })
}

fn version(bytes: &[u8]) -> Version {
    let digest = Sha256::digest(bytes);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    Version(digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect())
}
