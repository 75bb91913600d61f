//! Limits the speed of writes to the requested rate, and to the rate that DynamoDB accepts.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep};

/// Limits writes. All writers of a table share it.
#[derive(Debug)]
pub struct Pace {
    permits: Semaphore,
    bucket: Mutex<Bucket>,
}

/// Permission for one write, until it is dropped.
#[derive(Debug)]
pub struct WritePermit<'a> {
    pace: &'a Pace,
    reserved: f64,
    _permit: Option<SemaphorePermit<'a>>,
}

/// A token bucket that may go below zero: then the next write waits until it is filled again.
#[derive(Debug)]
struct Bucket {
    /// The requested units per second.
    requested: Option<f64>,
    /// The units per second that DynamoDB accepts; none if it has not throttled.
    accepted: Option<f64>,
    balance: f64,
    filled: Instant,
    /// The average units of a write.
    average: f64,
    /// The start of the current second, and the units used in it.
    second: (Instant, f64),
    /// The units used in the previous second.
    before: Option<f64>,
    slowed: Option<Instant>,
}

/// The largest burst, in seconds of the rate.
const BURST: f64 = 0.1;
/// The lowest rate, in units per second: some writes must always be possible.
const MIN_RATE: f64 = 1.0;
/// The units per second of one partition of a table: the first rate after throttling if nothing was stored yet
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html>).
const PARTITION_RATE: f64 = 1_000.0;
const MAX_WAIT: Duration = Duration::from_millis(200);

impl Pace {
    /// At most `concurrent` writes at the same time, and `rate` write units per second if a rate is given.
    #[must_use]
    pub fn new(concurrent: usize, rate: Option<u32>) -> Self {
        let now = Instant::now();
        let bucket = Bucket {
            requested: rate.map(|rate| f64::from(rate).max(MIN_RATE)),
            accepted: None,
            balance: 0.0,
            filled: now,
            average: 2.0,
            second: (now, 0.0),
            before: None,
            slowed: None,
        };
        Self { permits: Semaphore::new(concurrent), bucket: Mutex::new(bucket) }
    }

    /// Waits until a write may start.
    pub async fn permit(&self) -> WritePermit<'_> {
        // The semaphore is never closed.
        let permit = self.permits.acquire().await.ok();
        let reserved = loop {
            let reserved = self.bucket().reserve(Instant::now());
            match reserved {
                Ok(reserved) => break reserved,
                // In short steps, because the rate may rise.
                Err(wait) => sleep(wait.min(MAX_WAIT)).await,
            }
        };
        WritePermit { pace: self, reserved, _permit: permit }
    }

    /// Slows down after DynamoDB has throttled a write.
    pub fn slow_down(&self) {
        self.bucket().slow_down(Instant::now());
    }

    /// The units per second after throttling; none without throttling.
    #[must_use]
    pub fn throttled_rate(&self) -> Option<f64> {
        self.bucket().accepted
    }

    fn bucket(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WritePermit<'_> {
    /// Reports the units of the write. Without a report, an average write is counted.
    pub fn used(self, units: f64) {
        self.pace.bucket().settle(Instant::now(), self.reserved, units);
    }
}

impl Bucket {
    fn rate(&self) -> Option<f64> {
        match (self.requested, self.accepted) {
            (Some(requested), Some(accepted)) => Some(requested.min(accepted)),
            (requested, accepted) => requested.or(accepted),
        }
    }

    /// Takes the units of an average write, or returns how long to wait. The bucket may go below zero by one write; then the next write
    /// waits.
    fn reserve(&mut self, now: Instant) -> Result<f64, Duration> {
        self.recover(now);
        let Some(rate) = self.rate() else { return Ok(0.0) };
        let passed = now.duration_since(self.filled).as_secs_f64();
        self.filled = now;
        self.balance = (self.balance + passed * rate).min(rate * BURST);
        if self.balance < 0.0 {
            return Err(Duration::from_secs_f64(-self.balance / rate));
        }
        self.balance -= self.average;
        Ok(self.average)
    }

    fn settle(&mut self, now: Instant, reserved: f64, units: f64) {
        self.balance += reserved - units;
        self.average += (units - self.average) / 50.0;
        self.tick(now);
        self.second.1 += units;
    }

    fn slow_down(&mut self, now: Instant) {
        self.tick(now);
        // All throttled writes of one second count once.
        if self.slowed.is_some_and(|slowed| now.duration_since(slowed) < Duration::from_secs(1)) {
            return;
        }
        self.slowed = Some(now);
        let speed = self.accepted.unwrap_or_else(|| self.speed(now));
        self.accepted = Some((speed * 0.7).max(MIN_RATE));
        self.filled = now;
        self.balance = self.balance.min(0.0);
    }

    /// The recent units per second.
    fn speed(&self, now: Instant) -> f64 {
        let (begun, used) = self.second;
        // A few milliseconds are not representative.
        let passed = now.duration_since(begun).as_secs_f64().max(0.05);
        let speed = match self.before {
            Some(before) => (before + used) / (1.0 + passed),
            None => used / passed,
        };
        if speed > 0.0 { speed } else { PARTITION_RATE }
    }

    /// Raises the rate of a throttled table by a fifth each second.
    fn recover(&mut self, now: Instant) {
        if let (Some(accepted), Some(slowed)) = (self.accepted, self.slowed)
            && now.duration_since(slowed) >= Duration::from_secs(1)
        {
            self.slowed = Some(now);
            self.accepted = Some(accepted * 1.2 + MIN_RATE)
                .filter(|accepted| self.requested.is_none_or(|requested| *accepted < requested));
        }
    }

    fn tick(&mut self, now: Instant) {
        let passed = now.duration_since(self.second.0);
        if passed >= Duration::from_secs(1) {
            self.before = Some(if passed < Duration::from_secs(2) { self.second.1 } else { 0.0 });
            self.second = (now, 0.0);
        }
    }
}
