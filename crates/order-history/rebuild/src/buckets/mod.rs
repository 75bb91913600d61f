//! Merges partial views of more orders than fit into memory, in buckets by a hash of the order's id.
//!
//! A batch's partial views are *spilled*: each is written to a file of its order's bucket. Then each bucket is
//! *merged* separately and written once. So every order is in the result exactly once,
//! and only one bucket at a time is in memory. Import files, snapshots and the archive's
//! side of a comparison are created this way.

mod hash;
pub(crate) mod lines;
mod merge;
mod spill;

use serde::{Deserialize, Serialize};

use crate::snapshot::Snapshot;

pub use hash::order_hash;
pub use lines::BadFile;
pub(crate) use merge::blocking;
pub use merge::{Base, BucketResult, Merge, Merged};
pub use spill::Spill;

/// A number of buckets: a power of two, so that each bucket of a larger number is part of one bucket of a smaller number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Buckets {
    bits: u32,
}

/// The orders whose hashes end with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    rest: u64,
    bits: u32,
}

/// The number is not a valid number of buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a number of buckets: expected a power of two, at most 512")]
pub struct InvalidBucketCount(u32);

impl Buckets {
    /// One bucket for all orders.
    pub const ONE: Self = Self { bits: 0 };
    /// Every part of a batch writes a file for each bucket, and a PUT costs twelve times as much as a GET: for 100
    /// million orders, this many buckets cost $15 to write. A bucket that does not fit into memory is merged in
    /// several passes, so no number is too small.
    pub const MAX: Self = Self { bits: 9 };

    /// The number with which a bucket fits into `memory` bytes, if all views together need `expected` bytes.
    #[must_use]
    pub fn for_size(expected: u64, memory: u64) -> Self {
        let wanted = expected.div_ceil(memory.max(1)).max(1).next_power_of_two();
        Self { bits: wanted.trailing_zeros() }.min(Self::MAX)
    }

    /// The number of buckets.
    #[must_use]
    pub fn count(self) -> u32 {
        1 << self.bits
    }

    /// The numbers of all buckets.
    pub fn all(self) -> impl Iterator<Item = u32> {
        0..self.count()
    }

    /// The bucket of an order.
    #[must_use]
    pub fn of(self, order_id: &str) -> u32 {
        let number = order_hash(order_id) & (u64::from(self.count()) - 1);
        u32::try_from(number).unwrap_or_default()
    }

    /// The orders of a bucket.
    #[must_use]
    pub fn slice(self, bucket: u32) -> Slice {
        Slice { rest: bucket.into(), bits: self.bits }
    }
}

impl Slice {
    /// Whether the slice contains an order.
    #[must_use]
    pub fn has(self, order_id: &str) -> bool {
        order_hash(order_id) & mask(self.bits) == self.rest
    }

    /// Whether both slices may contain the same order.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        let both = mask(self.bits.min(other.bits));
        self.rest & both == other.rest & both
    }

    /// Keeps one half and returns the other.
    fn halve(&mut self) -> Self {
        let other = Self { rest: self.rest | 1 << self.bits, bits: self.bits + 1 };
        self.bits += 1;
        other
    }

    fn can_halve(self) -> bool {
        self.bits < u64::BITS - 1
    }
}

fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// The expected memory of the views of a bucket is at most this: about 50,000 orders.
const MAX_BUCKET_BYTES: usize = 170 << 20;

/// The number of buckets for a run, so that the views of one bucket fit into the memory of one worker: for
/// `archive` bytes of compressed event files, the views of a snapshot, and `table` bytes of a table's items.
#[must_use]
pub fn buckets_for(archive: u64, snapshot: Option<&Snapshot>, table: u64, memory: usize, workers: usize) -> Buckets {
    // Measured: events compress to a tenth, and ten of them make a view of 3.5 KB in memory. A line of a snapshot needs three times its
    // length in memory. A wrong estimate costs time, not memory.
    let expected = archive * 8 + snapshot.map_or(0, |snapshot| snapshot.manifest.bytes() * 3) + table * 4;
    // Half of the memory, because buckets differ in size. And no more than a Lambda function writes to a table in a few
    // minutes, because a bucket of a snapshot is one batch.
    let memory = (memory / workers.max(1) / 2).min(MAX_BUCKET_BYTES);
    Buckets::for_size(expected, memory as u64)
}

/// The name of a bucket in keys.
#[must_use]
pub fn name(bucket: u32) -> String {
    format!("bucket={bucket:03}")
}

impl TryFrom<u32> for Buckets {
    type Error = InvalidBucketCount;

    fn try_from(count: u32) -> Result<Self, InvalidBucketCount> {
        let buckets = Self { bits: count.trailing_zeros() };
        if count.is_power_of_two() && buckets <= Self::MAX { Ok(buckets) } else { Err(InvalidBucketCount(count)) }
    }
}

impl From<Buckets> for u32 {
    fn from(buckets: Buckets) -> Self {
        buckets.count()
    }
}
