//! Objects in a folder, behind the calls that S3 has.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// Objects under one root. A key is relative to the root, with slashes.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

/// An object as a listing shows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// Its key, relative to the root.
    pub key: String,
    /// Its size in bytes.
    pub size: u64,
}

/// Names the content that an object had when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(String);

/// Why an object was not read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the folder cannot be used.
    #[error("cannot use {}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl Store {
    /// The objects in a folder. It is made when something is put into it.
    pub fn folder(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// All objects whose keys begin with `prefix`, which is empty or ends with a slash, in the order of their keys.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Object>, Error> {
        let mut found = Vec::new();
        let mut folders = vec![self.path(prefix)];
        while let Some(folder) = folders.pop() {
            let mut entries = match tokio::fs::read_dir(&folder).await {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(source) => return Err(Error::File { path: folder, source }),
            };
            let cannot = |source| Error::File { path: folder.clone(), source };
            while let Some(entry) = entries.next_entry().await.map_err(cannot)? {
                let (path, about) = (entry.path(), entry.metadata().await.map_err(cannot)?);
                if about.is_dir() {
                    folders.push(path);
                } else if let Some(key) = self.key(&path) {
                    found.push(Object { key, size: about.len() });
                }
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// An object's content, or none if there is no such object.
    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path(key);
        match tokio::fs::read(&path).await {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(Error::File { path, source }),
        }
    }

    /// An object's content with what names it, for [`replace`](Self::replace).
    pub async fn get_versioned(&self, key: &str) -> Result<Option<(Vec<u8>, Version)>, Error> {
        Ok(self.get(key).await?.map(|bytes| {
            let version = version(&bytes);
            (bytes, version)
        }))
    }

    /// Puts an object: the whole of it, or nothing.
    pub async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), Error> {
        let (path, part) = (self.path(key), self.part(key, &bytes).await?);
        tokio::fs::rename(part, &path).await.map_err(|source| Error::File { path, source })
    }

    /// Puts an object unless there is one under the key already; says whether it did.
    pub async fn put_if_absent(&self, key: &str, bytes: Vec<u8>) -> Result<bool, Error> {
        let (path, part) = (self.path(key), self.part(key, &bytes).await?);
        // A link is made whole, and only if the name is free.
        let linked = tokio::fs::hard_link(&part, &path).await;
        tokio::fs::remove_file(&part).await.map_err(|source| Error::File { path: part, source })?;
        match linked {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(source) => Err(Error::File { path, source }),
        }
    }

    /// Replaces an object if it still has the content that was `seen`, or puts it if none was seen and there still is none; says
    /// whether it did. In a folder two processes that do so at the same moment are not kept apart.
    pub async fn replace(&self, key: &str, bytes: Vec<u8>, seen: Option<&Version>) -> Result<bool, Error> {
        let Some(seen) = seen else { return self.put_if_absent(key, bytes).await };
        let now = self.get_versioned(key).await?.map(|(_, version)| version);
        if now.as_ref() != Some(seen) {
            return Ok(false);
        }
        self.put(key, bytes).await.map(|()| true)
    }

    /// Writes the content beside where it is to be, under a name that no listing shows.
    async fn part(&self, key: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.root);
        let part = folder.join(format!(".{}.part", Uuid::new_v4()));
        let written = async {
            tokio::fs::create_dir_all(folder).await?;
            tokio::fs::write(&part, bytes).await
        };
        written.await.map_err(|source| Error::File { path: part.clone(), source })?;
        Ok(part)
    }

    fn path(&self, key: &str) -> PathBuf {
        self.root.join(key)
    }

    /// The key of a file, or none if it is hidden: half written, or not ours.
    fn key(&self, path: &Path) -> Option<String> {
        let key = path.strip_prefix(&self.root).ok()?.to_str()?;
        (!key.split('/').any(|segment| segment.starts_with('.'))).then(|| key.to_owned())
    }
}

fn version(bytes: &[u8]) -> Version {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Version(format!("{:016x}", hasher.finish()))
}
