//! The settings of a store.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;

use crate::cache::Cache;
use crate::schema::{Schema, SortKey};
use crate::store::Settings;
use crate::{Attributes, IdempotencyStore, Observation};

/// A message can come back for as long as its queue and then its dead-letter queue keep it: 14 days each at most.
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>
const RETENTION: Duration = Duration::from_hours(28 * 24);

/// Settings of an [`IdempotencyStore`], each with a default; see [`IdempotencyStore::builder`].
#[must_use]
pub struct StoreBuilder(Settings);

impl StoreBuilder {
    pub(crate) fn new(client: Client, table: String) -> Self {
        Self(Settings {
            client,
            table,
            key_prefix: None,
            retention: RETENTION,
            schema: Schema { attributes: Attributes::default(), sort_key: None },
            cache: Cache::new(0),
            clock: Box::new(SystemTime::now),
            observer: Box::new(|_| {}),
        })
    }

    /// Makes a record's id `<prefix>#<key>`, so that several functions can share a table. Without it, the id is the key.
    ///
    /// Do not use `#` in a prefix, or two functions can have the same id: `orders` with the key `refund#1`, and `orders#refund` with `1`.
    ///
    /// The id may have
    /// [2,048 bytes in a partition key, and 1,024 in a sort key](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-partition-sort-keys).
    pub fn key_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.0.key_prefix = Some(prefix.into());
        self
    }

    /// How long a record is kept after its last write: as long as a duplicate can arrive. 28 days by default.
    pub fn retention(mut self, retention: Duration) -> Self {
        self.0.retention = retention;
        self
    }

    /// Remembers this many completed records, with their results, so that their duplicates cost no request.
    /// The least recently used one is removed first. Off by default. If you delete a record by hand, processes that remember it still refuse
    /// its key.
    ///
    /// A record can have
    /// [400 KB](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items), so the
    /// worst case is `max_entries` times as much memory. Records of work without a result are a few hundred bytes.
    pub fn cache(mut self, max_entries: usize) -> Self {
        self.0.cache = Cache::new(max_entries);
        self
    }

    /// Other attribute names than those of Powertools.
    pub fn attributes(mut self, attributes: Attributes) -> Self {
        self.0.schema.attributes = attributes;
        self
    }

    /// For a table with a sort key: `attribute` is the sort key and has the record's id, and the partition key
    /// ([`Attributes::id`]) has the same value, `partition`, in every record of this store.
    ///
    /// In Powertools for AWS Lambda these are `sort_key_attr` and `static_pk_value`, which is `idempotency#<function name>` by default.
    ///
    /// All records are then in one partition, which DynamoDB limits to
    /// [1,000 writes per second](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html)
    /// unless it can split the partition. New work is two writes. For more, use a table of its own without a sort key.
    pub fn sort_key(mut self, attribute: impl Into<String>, partition: impl Into<String>) -> Self {
        self.0.schema.sort_key = Some(SortKey { attribute: attribute.into(), partition: partition.into() });
        self
    }

    /// Another clock than the system's, for tests.
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.0.clock = Box::new(clock);
        self
    }

    /// Called with the outcome of every claim that did not fail, for metrics. It should be quick: the claim waits for it.
    pub fn observer(mut self, observer: impl Fn(Observation) + Send + Sync + 'static) -> Self {
        self.0.observer = Box::new(observer);
        self
    }

    /// The store.
    #[must_use]
    pub fn build(self) -> IdempotencyStore {
        IdempotencyStore { settings: Arc::new(self.0) }
    }
}

impl std::fmt::Debug for StoreBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
