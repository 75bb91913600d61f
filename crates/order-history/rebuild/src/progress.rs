//! The progress of a run: one line that is rewritten on a terminal, otherwise a JSON line every ten seconds; errors on
//! separate lines.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::batch::Meter;
use crate::fold::Quarantined;
use crate::run::BatchResult;
use crate::text::{bytes, count, duration};

/// Shows progress and errors on standard error.
#[derive(Debug)]
pub(crate) struct Progress {
    run: String,
    /// Bytes of the archive that were done before this process started.
    done_before: AtomicU64,
    /// Bytes of the archive in the whole run.
    total: AtomicU64,
    started: Instant,
    is_terminal: bool,
    is_line_shown: Mutex<bool>,
    /// The number of errors of each kind that were shown.
    shown: Mutex<[usize; 5]>,
}

/// The largest number of errors of one kind that are shown. All are in the run's folder.
const MAX_SHOWN: usize = 20;

impl Progress {
    /// The progress of a run of `total` bytes.
    #[must_use]
    pub(crate) fn new(run: &str, total: u64) -> Self {
        Self {
            run: run.to_owned(),
            done_before: AtomicU64::new(0),
            total: AtomicU64::new(total),
            started: Instant::now(),
            is_terminal: stderr().is_terminal(),
            is_line_shown: Mutex::new(false),
            shown: Mutex::new([0; 5]),
        }
    }

    /// Sets the bytes that were done before this process started.
    pub(crate) fn set_done_before(&self, bytes: u64) {
        self.done_before.store(bytes, Ordering::Relaxed);
    }

    /// Sets the bytes of the whole run.
    pub(crate) fn set_total(&self, bytes: u64) {
        self.total.store(bytes, Ordering::Relaxed);
    }

    /// The interval for calls of [`show`](Self::show).
    #[must_use]
    pub(crate) fn interval(&self) -> Duration {
        if self.is_terminal { Duration::from_millis(250) } else { Duration::from_secs(10) }
    }

    /// Shows the progress.
    pub(crate) fn show(&self, meter: &Meter) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (now, events, views) = (read(&meter.bytes), read(&meter.events), read(&meter.views));
        let (quarantined, damaged) = (read(&meter.quarantined), read(&meter.damaged));
        let total = read(&self.total);
        let done = (read(&self.done_before) + now).min(total);
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let (percent, speed, left) = {
            let percent = if total == 0 { 100.0 } else { done as f64 / total as f64 * 100.0 };
            let left = (now > 0).then(|| seconds * (total - done) as f64 / now as f64);
            (percent, (events as f64 / seconds) as u64, left.map(|left| left.ceil() as u64))
        };
        if self.is_terminal {
            let left = left.map_or_else(|| "?".to_owned(), duration);
            let line = format!(
                "{percent:3.0} % of {}  {} events/s  {} orders  {} quarantined  ETA {left}",
                bytes(total),
                count(speed),
                count(views),
                count(quarantined),
            );
            let mut shown = lock(&self.is_line_shown);
            let _ = write!(stderr(), "\r\x1b[2K{line}");
            *shown = true;
        } else {
            let line = json!({
                "message": "progress", "run": self.run, "percent": (percent * 10.0).round() / 10.0, "bytes": done,
                "of_bytes": total, "events": events, "events_per_second": speed, "views": views,
                "quarantined": quarantined, "damaged": damaged, "eta_seconds": left,
            });
            let _ = writeln!(stderr(), "{line}");
        }
    }

    /// Shows a message on a separate line.
    pub(crate) fn print(&self, level: &str, message: &str) {
        if self.is_terminal {
            let mut shown = lock(&self.is_line_shown);
            let clear = if std::mem::take(&mut *shown) { "\r\x1b[2K" } else { "" };
            let prefix = if level == "INFO" { String::new() } else { format!("{}: ", level.to_ascii_lowercase()) };
            let _ = writeln!(stderr(), "{clear}{prefix}{message}");
        } else {
            let _ = writeln!(stderr(), "{}", json!({"level": level, "message": message, "run": self.run}));
        }
    }

    /// Shows the errors of a batch: file, line and reason, but no customer data.
    pub(crate) fn print_errors(&self, result: &BatchResult, quarantine: &[Quarantined]) {
        for line in quarantine {
            self.error(0, || format!("{}, line {}: {}", line.file, line.line, line.reason));
        }
        for damaged in &result.summary.damaged {
            self.error(1, || format!("{}: {}", damaged.file, damaged.reason));
        }
        for order in &result.stored.too_large {
            self.error(2, || format!("order {order} would exceed DynamoDB's 400 KB: its item was not changed"));
        }
        for order in &result.stored.corrupt {
            self.error(3, || {
                format!(
                    "the item of order {order} has an attribute that this version did not write: it was not changed"
                )
            });
        }
        for contradicted in &result.summary.contradicted {
            let (order, event) = (&contradicted.order_id, &contradicted.event_id);
            self.error(4, || format!("order {order}: two events with the id {event} have different content"));
        }
    }

    fn error(&self, kind: usize, message: impl FnOnce() -> String) {
        let mut shown = lock(&self.shown);
        let Some(shown) = shown.get_mut(kind) else { return };
        *shown += 1;
        if *shown <= MAX_SHOWN {
            self.print("ERROR", &message());
        } else if *shown == MAX_SHOWN + 1 {
            self.print(
                "ERROR",
                &format!("more errors of this kind are not shown: see runs/{}/ in the archive", self.run),
            );
        }
    }

    /// Ends the progress line.
    pub(crate) fn end(&self) {
        if std::mem::take(&mut *lock(&self.is_line_shown)) {
            let _ = writeln!(stderr());
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
