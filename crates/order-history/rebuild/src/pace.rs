//! How fast the table is written: no faster than was asked for, and no faster than DynamoDB takes it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep};

/// Hands out turns to write. Shared by all who write to one table.
#[derive(Debug)]
pub struct Pace {
    turns: Semaphore,
    bucket: Mutex<Bucket>,
}

/// A turn to write. It ends when this is dropped.
#[derive(Debug)]
pub struct Turn<'a> {
    pace: &'a Pace,
    reserved: f64,
    _permit: Option<SemaphorePermit<'a>>,
}

/// A token bucket that may go below zero: who takes more than there is waits until it is filled again.
#[derive(Debug)]
struct Bucket {
    /// The units a second that were asked for.
    asked: Option<f64>,
    /// The units a second that DynamoDB takes, as far as it has throttled.
    taken: Option<f64>,
    balance: f64,
    filled: Instant,
    /// What a write takes, on average.
    average: f64,
    /// What was used in the second that began then.
    second: (Instant, f64),
    /// What was used in the second before, if there was one.
    before: Option<f64>,
    slowed: Option<Instant>,
}

/// How long a burst may be, in seconds' worth of units.
const BURST: f64 = 0.25;
/// Below this, in units a second, nothing is slowed further: some order must get through.
const SLOWEST: f64 = 1.0;

impl Pace {
    /// At most `turns` writes at once and, where a rate is given, `rate` write units a second.
    #[must_use]
    pub fn new(turns: usize, rate: Option<u32>) -> Self {
        let now = Instant::now();
        let bucket = Bucket {
            asked: rate.map(|rate| f64::from(rate).max(SLOWEST)),
            taken: None,
            balance: 0.0,
            filled: now,
            average: 2.0,
            second: (now, 0.0),
            before: None,
            slowed: None,
        };
        Self { turns: Semaphore::new(turns), bucket: Mutex::new(bucket) }
    }

    /// Waits for a turn.
    pub async fn turn(&self) -> Turn<'_> {
        // It is never closed.
        let permit = self.turns.acquire().await.ok();
        let (reserved, wait) = self.bucket().reserve(Instant::now());
        if !wait.is_zero() {
            sleep(wait).await;
        }
        Turn { pace: self, reserved, _permit: permit }
    }

    /// Slows down: DynamoDB has throttled a write.
    pub fn slow_down(&self) {
        self.bucket().slow_down(Instant::now());
    }

    /// The units a second to which throttling has slowed the writes down; none if it has not.
    #[must_use]
    pub fn slowed_to(&self) -> Option<f64> {
        self.bucket().taken
    }

    fn bucket(&self) -> MutexGuard<'_, Bucket> {
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn<'_> {
    /// Notes what the write took, in units.
    pub fn took(mut self, units: f64) {
        self.pace.bucket().settle(Instant::now(), self.reserved, units);
        self.reserved = 0.0;
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // A write that failed took nothing that is known.
        self.pace.bucket().balance += self.reserved;
    }
}

impl Bucket {
    fn rate(&self) -> Option<f64> {
        match (self.asked, self.taken) {
            (Some(asked), Some(taken)) => Some(asked.min(taken)),
            (asked, taken) => asked.or(taken),
        }
    }

    fn reserve(&mut self, now: Instant) -> (f64, Duration) {
        self.recover(now);
        let Some(rate) = self.rate() else { return (0.0, Duration::ZERO) };
        let passed = now.duration_since(self.filled).as_secs_f64();
        self.filled = now;
        self.balance = (self.balance + passed * rate).min(rate * BURST) - self.average;
        let wait = if self.balance < 0.0 { Duration::from_secs_f64(-self.balance / rate) } else { Duration::ZERO };
        (self.average, wait)
    }

    fn settle(&mut self, now: Instant, reserved: f64, units: f64) {
        self.balance += reserved - units;
        self.average += (units - self.average) / 50.0;
        self.tick(now);
        self.second.1 += units;
    }

    fn slow_down(&mut self, now: Instant) {
        self.tick(now);
        // One second's throttling is one sign, however many writes see it.
        if self.slowed.is_some_and(|slowed| now.duration_since(slowed) < Duration::from_secs(1)) {
            return;
        }
        self.slowed = Some(now);
        let speed = self.taken.unwrap_or(f64::INFINITY).min(self.speed(now));
        self.taken = Some((speed * 0.7).max(SLOWEST));
        self.filled = now;
        self.balance = self.balance.min(0.0);
    }

    /// The units a second that were used lately.
    fn speed(&self, now: Instant) -> f64 {
        let (begun, used) = self.second;
        // What a few milliseconds show says little.
        let passed = now.duration_since(begun).as_secs_f64().max(0.05);
        match self.before {
            Some(before) => (before + used) / (1.0 + passed),
            None => used / passed,
        }
    }

    /// A table that was throttled may take more again: a fifth more each second.
    fn recover(&mut self, now: Instant) {
        if let (Some(taken), Some(slowed)) = (self.taken, self.slowed)
            && now.duration_since(slowed) >= Duration::from_secs(1)
        {
            self.slowed = Some(now);
            self.taken = Some(taken * 1.2 + SLOWEST).filter(|taken| self.asked.is_none_or(|asked| *taken < asked));
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
