//! Objects in a folder or in a bucket, with the same methods.

mod folder;
mod s3;

use std::path::PathBuf;

use aws_sdk_s3::Client;

use self::folder::Folder;
use self::s3::Bucket;
pub use self::s3::client;
use crate::{Error, Location};

/// Objects in a folder, or in a bucket or a part of it. Keys are relative to this root, with slashes.
#[derive(Debug, Clone)]
pub struct Store(Backend);

#[derive(Debug, Clone)]
enum Backend {
    Folder(Folder),
    Bucket(Bucket),
}

/// An object in a listing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// The key, relative to the root.
    pub key: String,
    /// The size in bytes.
    pub size: u64,
}

/// Identifies the content of an object when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(String);

impl Store {
    /// The objects in a folder. The first put creates the folder.
    pub fn folder(root: impl Into<PathBuf>) -> Self {
        Self(Backend::Folder(Folder::new(root.into())))
    }

    /// The objects of a bucket whose keys start with `prefix`, which is empty or ends with a slash.
    pub fn s3(client: Client, bucket: impl Into<String>, prefix: impl Into<String>) -> Self {
        Self(Backend::Bucket(Bucket::new(client, bucket.into(), prefix.into())))
    }

    /// The objects at a location. `client` is called only for S3.
    pub fn open(location: &Location, client: impl FnOnce() -> Client) -> Self {
        match location {
            Location::Folder(path) => Self::folder(path),
            Location::S3 { bucket, prefix } => Self::s3(client(), bucket, prefix),
        }
    }

    /// The location of the objects.
    #[must_use]
    pub fn location(&self) -> Location {
        match &self.0 {
            Backend::Folder(folder) => folder.location(),
            Backend::Bucket(bucket) => bucket.location(),
        }
    }

    /// All objects whose keys start with `prefix`, sorted by the bytes of their keys.
    ///
    /// Hidden objects are left out: a part of their key, between slashes, starts with a dot. So are the empty objects
    /// whose keys end with a slash, which the S3 console creates for folders.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Object>, Error> {
        match &self.0 {
            Backend::Folder(folder) => folder.list(prefix).await,
            Backend::Bucket(bucket) => bucket.list(prefix).await,
        }
    }

    /// An object's content; none if the object does not exist.
    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        match &self.0 {
            Backend::Folder(folder) => folder.get(key).await,
            Backend::Bucket(bucket) => Ok(bucket.get(key).await?.map(|(bytes, _)| bytes)),
        }
    }

    /// An object's content and its version, for [`replace`](Self::replace).
    pub async fn get_versioned(&self, key: &str) -> Result<Option<(Vec<u8>, Version)>, Error> {
        match &self.0 {
            Backend::Folder(folder) => folder.get_versioned(key).await,
            Backend::Bucket(bucket) => bucket.get(key).await,
        }
    }

    /// Puts an object and replaces an existing one. The object is written completely or not at all.
    pub async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), Error> {
        match &self.0 {
            Backend::Folder(folder) => folder.put(key, bytes).await,
            Backend::Bucket(bucket) => bucket.put(key, bytes).await,
        }
    }

    /// Puts an object if the key is free. Never changes an existing object.
    ///
    /// Returns whether the object has this content now. This is also true if it had the content before: a retry of a request
    /// whose response was lost finds its own object.
    pub async fn put_if_absent(&self, key: &str, bytes: Vec<u8>) -> Result<bool, Error> {
        match &self.0 {
            Backend::Folder(folder) => folder.put_if_absent(key, bytes).await,
            Backend::Bucket(bucket) => bucket.put_if(key, bytes, None).await,
        }
    }

    /// Replaces an object if its version is still `expected`. Without `expected`, puts the object if the key is free.
    ///
    /// Returns whether the object has this content now, like [`put_if_absent`](Self::put_if_absent).
    pub async fn replace(&self, key: &str, bytes: Vec<u8>, expected: Option<&Version>) -> Result<bool, Error> {
        match (&self.0, expected) {
            (_, None) => self.put_if_absent(key, bytes).await,
            (Backend::Folder(folder), Some(expected)) => folder.replace(key, bytes, expected).await,
            (Backend::Bucket(bucket), Some(expected)) => bucket.put_if(key, bytes, Some(expected)).await,
        }
    }

    /// Deletes an object. It need not exist.
    pub async fn delete(&self, key: &str) -> Result<(), Error> {
        match &self.0 {
            Backend::Folder(folder) => folder.delete(key).await,
            Backend::Bucket(bucket) => bucket.delete(key).await,
        }
    }
}

/// Whether listings leave this key out.
fn is_hidden(key: &str) -> bool {
    key.is_empty() || key.ends_with('/') || key.split('/').any(|part| part.starts_with('.'))
}
