//! Partial views of more orders than fit into memory, brought together by a hash of the order's id.
//!
//! A batch's partial views are *spilled*: each goes into a file of the bucket that its order belongs to. Then each bucket is
//! *merged* by itself, with everything that belongs to it, and written once. So every order stands in the result exactly once,
//! whatever the number of orders, and no more than a bucket at a time is in memory. Import files, snapshots and the archive's
//! side of a comparison are all made this way.

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

/// A number of buckets: a power of two, so that the buckets of one number are parts of, or made of, those of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct Buckets {
    bits: u32,
}

/// Some of the orders: those whose hashes end with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    rest: u64,
    bits: u32,
}

/// A number that cannot be a number of buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a number of buckets: expected a power of two, at most 512")]
pub struct NotBuckets(u32);

impl Buckets {
    /// One bucket for all orders.
    pub const ONE: Self = Self { bits: 0 };
    /// Every part of a batch writes a file for each bucket, and to put an object costs as much as to get it twelve times: for 100
    /// million orders, so many buckets cost $15 to write and as much to read twice. A bucket that does not fit into memory is merged in
    /// several passes, so the number is never too small to work.
    pub const MOST: Self = Self { bits: 9 };

    /// So many that a bucket fits into `memory` bytes, if all views together take `expected` bytes of memory.
    #[must_use]
    pub fn for_size(expected: u64, memory: u64) -> Self {
        let wanted = expected.div_ceil(memory.max(1)).max(1).next_power_of_two();
        Self { bits: wanted.trailing_zeros() }.min(Self::MOST)
    }

    /// How many there are.
    #[must_use]
    pub fn count(self) -> u32 {
        1 << self.bits
    }

    /// Each of them, by its number.
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
    /// Whether an order is one of these.
    #[must_use]
    pub fn has(self, order_id: &str) -> bool {
        order_hash(order_id) & mask(self.bits) == self.rest
    }

    /// Whether some order may be both one of these and one of those.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        let both = mask(self.bits.min(other.bits));
        self.rest & both == other.rest & both
    }

    /// Keeps one half of these; returns the other.
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

/// How many buckets are needed for what a run reads, so that the views of one bucket fit into the memory of one of the workers: for
/// `archive` bytes of files of events as they are listed, the views of a snapshot, and `table` bytes of a table's items.
#[must_use]
pub fn buckets_for(archive: u64, snapshot: Option<&Snapshot>, table: u64, memory: usize, workers: usize) -> Buckets {
    // Measured: events compress to a tenth and ten of them make a view of 3.5 KB in memory; a line of a snapshot takes three times its
    // length in memory. A wrong guess costs time, not memory.
    let expected = archive * 8 + snapshot.map_or(0, |snapshot| snapshot.manifest.bytes() * 3) + table * 4;
    // Half of the memory, because the hash does not make all buckets equally large.
    let memory = memory / workers.max(1) / 2;
    Buckets::for_size(expected, memory as u64)
}

/// The name of a bucket, as it stands in keys.
#[must_use]
pub fn name(bucket: u32) -> String {
    format!("bucket={bucket:03}")
}

impl TryFrom<u32> for Buckets {
    type Error = NotBuckets;

    fn try_from(count: u32) -> Result<Self, NotBuckets> {
        let buckets = Self { bits: count.trailing_zeros() };
        if count.is_power_of_two() && buckets <= Self::MOST { Ok(buckets) } else { Err(NotBuckets(count)) }
    }
}

impl From<Buckets> for u32 {
    fn from(buckets: Buckets) -> Self {
        buckets.count()
    }
}
