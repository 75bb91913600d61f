//! The settings of locks.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;

use crate::locks::{Placement, Settings};
use crate::{Attributes, Locks, Observation, RetryPolicy, Takeover};

const LEASE: Duration = Duration::from_secs(10);
/// Leases are counted in milliseconds.
const SHORTEST_LEASE: Duration = Duration::from_millis(1);
/// A thousand years: practically no end, but it can still be added to any time without overflow.
const LONGEST_LEASE: Duration = Duration::from_hours(1000 * 365 * 24);
const MAX_SKEW: Duration = Duration::from_secs(1);
const FIRST_PAUSE: Duration = Duration::from_millis(25);
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// Settings of [`Locks`], each with a default; see [`Locks::builder`].
#[must_use]
pub struct LocksBuilder {
    settings: Settings,
    attributes: Option<Attributes>,
}

impl LocksBuilder {
    pub(crate) fn new(client: Client, table: String) -> Self {
        Self {
            settings: Settings {
                client,
                table,
                attributes: Attributes::default(),
                placement: Placement::Record { retention: None },
                name: None,
                lease: LEASE,
                takeover: Takeover::ByClock { max_skew: MAX_SKEW },
                polling: RetryPolicy { attempts: 0, first_pause: FIRST_PAUSE, max_pause: MAX_PAUSE },
                clock: Box::new(SystemTime::now),
                observer: Box::new(|_| {}),
            },
            attributes: None,
        }
    }

    /// Puts the lock among the attributes of the item that it protects, instead of into a record of its own. A lock then
    /// never creates an item, and its attributes have the names of [`Attributes::prefixed`] with `lock`, unless
    /// [`attributes`](Self::attributes) sets others.
    ///
    /// Change such items with `UpdateItem`: a `PutItem` replaces the whole item, and so erases the lock with its owner and fence.
    pub fn in_place(mut self) -> Self {
        self.settings.placement = Placement::InPlace;
        self
    }

    /// Lets the table's time to live delete a record when it has not been used for this long. Without a retention, records stay. Locks
    /// in place have no record, so it has no effect on them.
    ///
    /// A deleted record frees its lock, whatever the rule of takeover is: with [`Takeover::Never`], this long after the lease.
    ///
    /// The fence of a record that comes back starts at the clock's milliseconds, so it is higher than before unless the
    /// lock was taken more than once a millisecond on average, or the clock is behind by more than the retention.
    pub fn retention(mut self, retention: Duration) -> Self {
        if let Placement::Record { retention: kept } = &mut self.settings.placement {
            *kept = Some(retention);
        }
        self
    }

    /// Other attribute names than the default ones.
    pub fn attributes(mut self, attributes: Attributes) -> Self {
        self.attributes = Some(attributes);
        self
    }

    /// The name of this caller, for people who look at a lock: it becomes the first part of the owner's token. No name by default.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = Some(name.into());
        self
    }

    /// How long a lock is held without a heartbeat. This is also how long the lock of a dead holder blocks others.
    /// [`hold`](crate::Lock::hold) sends a heartbeat every third of it. 10 seconds by default.
    pub fn lease(mut self, lease: Duration) -> Self {
        self.settings.lease = lease.clamp(SHORTEST_LEASE, LONGEST_LEASE);
        self
    }

    /// When a lock that was not released may be taken over. By default by the clock, with a skew of at most 1 second.
    pub fn takeover(mut self, takeover: Takeover) -> Self {
        self.settings.takeover = takeover;
        self
    }

    /// How long to pause between two tries while waiting for a lock. The pause doubles from `first` to `max`, with jitter; it
    /// is shorter where the record says that the lock can be taken over sooner. 25 milliseconds to 1 second by default.
    pub fn polling(mut self, first: Duration, max: Duration) -> Self {
        self.settings.polling = RetryPolicy { attempts: 0, first_pause: first, max_pause: max };
        self
    }

    /// Replaces the system clock, for tests.
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.settings.clock = Box::new(clock);
        self
    }

    /// A function that is called for everything that happens to a lock, for metrics. It should be quick: the caller waits for it.
    pub fn observer(mut self, observer: impl Fn(Observation) + Send + Sync + 'static) -> Self {
        self.settings.observer = Box::new(observer);
        self
    }

    /// Creates the locks. It sends no request.
    #[must_use]
    pub fn build(self) -> Locks {
        let attributes = self.attributes.unwrap_or_else(|| match self.settings.placement {
            Placement::Record { .. } => Attributes::default(),
            Placement::InPlace => Attributes::prefixed("lock"),
        });
        Locks { settings: Arc::new(Settings { attributes, ..self.settings }), deadline: None }
    }
}

impl fmt::Debug for LocksBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings.fmt(f)
    }
}
