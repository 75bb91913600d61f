//! Objects in a folder or in a bucket, behind the same calls.

mod folder;
mod s3;

use std::path::PathBuf;

use aws_sdk_s3::Client;

use self::folder::Folder;
use self::s3::Bucket;
pub use self::s3::client;
use crate::{Error, Location};

/// Objects under one root: a folder, or a bucket or a part of it. A key is relative to the root, with slashes.
#[derive(Debug, Clone)]
pub struct Store(Place);

#[derive(Debug, Clone)]
enum Place {
    Folder(Folder),
    Bucket(Bucket),
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

impl Store {
    /// The objects in a folder. It is made when something is put into it.
    pub fn folder(root: impl Into<PathBuf>) -> Self {
        Self(Place::Folder(Folder::new(root.into())))
    }

    /// The objects of a bucket whose keys begin with `prefix`, which is empty or ends with a slash.
    pub fn s3(client: Client, bucket: impl Into<String>, prefix: impl Into<String>) -> Self {
        Self(Place::Bucket(Bucket::new(client, bucket.into(), prefix.into())))
    }

    /// The objects at a location. The client is asked for only if it is in S3.
    pub fn open(location: &Location, client: impl FnOnce() -> Client) -> Self {
        match location {
            Location::Folder(path) => Self::folder(path),
            Location::S3 { bucket, prefix } => Self::s3(client(), bucket, prefix),
        }
    }

    /// Where the objects are.
    #[must_use]
    pub fn location(&self) -> Location {
        match &self.0 {
            Place::Folder(folder) => folder.location(),
            Place::Bucket(bucket) => bucket.location(),
        }
    }

    /// All objects whose keys begin with `prefix`, in the order of their keys' bytes.
    ///
    /// Hidden ones are left out: those with a part of the key, between slashes, that begins with a dot. So are the empty objects
    /// whose keys end with a slash, which the S3 console makes for folders.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Object>, Error> {
        match &self.0 {
            Place::Folder(folder) => folder.list(prefix).await,
            Place::Bucket(bucket) => bucket.list(prefix).await,
        }
    }

    /// An object's content, or none if there is no such object.
    pub async fn get(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        match &self.0 {
            Place::Folder(folder) => folder.get(key).await,
            Place::Bucket(bucket) => Ok(bucket.get(key).await?.map(|(bytes, _)| bytes)),
        }
    }

    /// An object's content with what names it, for [`replace`](Self::replace).
    pub async fn get_versioned(&self, key: &str) -> Result<Option<(Vec<u8>, Version)>, Error> {
        match &self.0 {
            Place::Folder(folder) => folder.get_versioned(key).await,
            Place::Bucket(bucket) => bucket.get(key).await,
        }
    }

    /// Puts an object, in place of one that is there: the whole of it, or nothing.
    pub async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), Error> {
        match &self.0 {
            Place::Folder(folder) => folder.put(key, bytes).await,
            Place::Bucket(bucket) => bucket.put(key, bytes).await,
        }
    }

    /// Puts an object unless there is one under the key already; never changes one that is there.
    ///
    /// Returns whether the object there has this content now. That is true also if it had it before: whoever retries a request
    /// whose answer was lost finds its own object.
    pub async fn put_if_absent(&self, key: &str, bytes: Vec<u8>) -> Result<bool, Error> {
        match &self.0 {
            Place::Folder(folder) => folder.put_if_absent(key, bytes).await,
            Place::Bucket(bucket) => bucket.put_if(key, bytes, None).await,
        }
    }

    /// Replaces an object if it still has the content that was `seen`, or puts it if none was seen and there still is none.
    ///
    /// Returns whether the object there has this content now, as [`put_if_absent`](Self::put_if_absent) does.
    pub async fn replace(&self, key: &str, bytes: Vec<u8>, seen: Option<&Version>) -> Result<bool, Error> {
        match (&self.0, seen) {
            (_, None) => self.put_if_absent(key, bytes).await,
            (Place::Folder(folder), Some(seen)) => folder.replace(key, bytes, seen).await,
            (Place::Bucket(bucket), Some(seen)) => bucket.put_if(key, bytes, Some(seen)).await,
        }
    }

    /// Deletes an object. That there is none is no error.
    pub async fn delete(&self, key: &str) -> Result<(), Error> {
        match &self.0 {
            Place::Folder(folder) => folder.delete(key).await,
            Place::Bucket(bucket) => bucket.delete(key).await,
        }
    }
}

/// Whether listings leave this key out.
fn is_hidden(key: &str) -> bool {
    key.is_empty() || key.ends_with('/') || key.split('/').any(|part| part.starts_with('.'))
}
