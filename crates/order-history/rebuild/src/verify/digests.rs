//! The digests of the orders of one side, in files of about 40 bytes per order.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::normal::Digest;
use crate::buckets::Buckets;

/// The digests of the orders of one side, in files by bucket, so that one bucket at a time has to be in memory.
#[derive(Debug)]
pub(crate) struct Digests {
    folder: PathBuf,
    /// The entries that are not in the bucket's file yet.
    buffers: Vec<Mutex<Vec<u8>>>,
}

/// With 100 million orders, a bucket has 400,000.
const BUCKETS: u32 = 256;
const BUFFER: usize = 1 << 16;

impl Digests {
    pub(crate) fn new(folder: PathBuf) -> io::Result<Self> {
        fs::create_dir_all(&folder)?;
        Ok(Self { folder, buffers: (0..BUCKETS).map(|_| Mutex::default()).collect() })
    }

    /// The numbers of all buckets.
    pub(crate) fn buckets() -> impl Iterator<Item = usize> {
        0..BUCKETS as usize
    }

    /// Adds an order.
    pub(crate) fn add(&self, order_id: &str, digest: Digest) -> io::Result<()> {
        let buckets = Buckets::try_from(BUCKETS).unwrap_or(Buckets::ONE);
        let bucket = buckets.of(order_id) as usize;
        let mut buffer = self.buffers[bucket].lock().unwrap_or_else(PoisonError::into_inner);
        buffer.extend_from_slice(&digest);
        // A key has at most 2,048 bytes.
        let length = u16::try_from(order_id.len()).map_err(io::Error::other)?;
        buffer.extend_from_slice(&length.to_le_bytes());
        buffer.extend_from_slice(order_id.as_bytes());
        if buffer.len() >= BUFFER {
            let path = self.path(bucket);
            OpenOptions::new().create(true).append(true).open(path)?.write_all(&buffer)?;
            buffer.clear();
        }
        Ok(())
    }

    /// The orders of a bucket.
    pub(crate) fn read(&self, bucket: usize) -> io::Result<HashMap<String, Digest>> {
        let mut bytes = match fs::read(self.path(bucket)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        bytes.extend_from_slice(&self.buffers[bucket].lock().unwrap_or_else(PoisonError::into_inner));
        let mut digests = HashMap::new();
        let mut rest = bytes.as_slice();
        while let Some((digest, after)) = rest.split_first_chunk::<16>() {
            let (length, after) = after.split_first_chunk::<2>().ok_or(io::ErrorKind::UnexpectedEof)?;
            let length = usize::from(u16::from_le_bytes(*length));
            let (order_id, after) = after.split_at_checked(length).ok_or(io::ErrorKind::UnexpectedEof)?;
            digests.insert(String::from_utf8(order_id.to_vec()).map_err(io::Error::other)?, *digest);
            rest = after;
        }
        Ok(digests)
    }

    fn path(&self, bucket: usize) -> PathBuf {
        self.folder.join(format!("{bucket:03}"))
    }
}
