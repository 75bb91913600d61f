//! The folder that a system keeps its data in: the tables, the buckets, what was charged, how far streams were read, the functions' logs, and whether
//! the demo is still to be published.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use embedded_dynamodb::Engine;
use order_events::Timestamp;

use crate::stack::{StartError, loopback};

// The folder may have files of other people, and other names.
const LOCK: &str = "ftgo-order-history.lock";
const DEMO: &str = "ftgo-order-history.demo";

/// How long a lock may outlive its process: a child that was started just before the process was killed has the lock too, until it runs
/// its own program.
const AFTERLIFE: Duration = Duration::from_secs(2);

/// The folder of a system that runs. No other process can open it before this value is dropped or this process ends, even by
/// `kill -9`.
#[derive(Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Makes the folder if it is not there, and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, StartError> {
        let cannot_use = |source| StartError::DataDir { path: path.to_owned(), source };
        let mut lock = fs::create_dir_all(path)
            .and_then(|()| {
                let lock = path.join(LOCK);
                File::options().read(true).write(true).create(true).truncate(false).open(lock)
            })
            .map_err(cannot_use)?;
        match lock_soon(&lock) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // It may not have said yet who it is.
                let _ = lock.read_to_string(&mut holder);
                let holder = holder.trim().parse().ok();
                return Err(StartError::InUse { path: path.to_owned(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(cannot_use(error)),
        }
        lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(cannot_use)?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Whether there are tables yet.
    pub(crate) fn has_tables(&self) -> bool {
        self.tables().exists()
    }

    /// Opens the tables, with their API at a port.
    pub(crate) fn open_engine(&self, port: u16) -> Result<Engine, StartError> {
        let path = self.tables();
        Engine::open(&path, loopback(port)).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => StartError::PortTaken { port, variable: "DYNAMODB_PORT" },
            _ => StartError::NoTables { path, source },
        })
    }

    fn tables(&self) -> PathBuf {
        self.path.join("dynamodb.sqlite")
    }

    /// Where the buckets are: the archive of all events.
    pub(crate) fn buckets(&self) -> PathBuf {
        self.path.join("archive")
    }

    /// Where the payment gateway keeps what it charged.
    pub(crate) fn charges(&self) -> PathBuf {
        self.path.join("ftgo-payments-gateway.jsonl")
    }

    /// Where it is kept how far a function has read a stream.
    pub(crate) fn position(&self, function: &str) -> PathBuf {
        self.path.join(format!("{function}.position"))
    }

    /// Where the logs are.
    pub(crate) fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// Where a function's log is to be, without the one of an earlier run. What else is there is not ours.
    pub(crate) fn new_log(&self, function: &str) -> Result<PathBuf, StartError> {
        let log = self.logs().join(format!("{function}.log"));
        remove(&log)?;
        Ok(log)
    }

    /// Plans a demo of this moment. It stays planned, and of that moment, until it is finished: when a start is interrupted,
    /// the next one publishes the same events again, which the view takes for the duplicates that they are.
    pub(crate) fn plan_demo(&self, now: Timestamp) -> Result<(), StartError> {
        // Renamed, so that it is there as a whole or not at all.
        let (plan, part) = (self.demo(), self.path.join(format!("{DEMO}.part")));
        let planned = fs::write(&part, now.to_string()).and_then(|()| fs::rename(part, &plan));
        planned.map_err(|source| StartError::Io { what: format!("write {}", plan.display()), source })
    }

    /// The moment of the demo that is planned, if one is.
    pub(crate) fn planned_demo(&self) -> Option<Timestamp> {
        Timestamp::parse_rfc3339(&fs::read_to_string(self.demo()).ok()?).ok()
    }

    /// The demo is there.
    pub(crate) fn finish_demo(&self) -> Result<(), StartError> {
        remove(&self.demo())
    }

    fn demo(&self) -> PathBuf {
        self.path.join(DEMO)
    }
}

/// Removes a file, which may not be there.
fn remove(file: &Path) -> Result<(), StartError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StartError::Io { what: format!("remove {}", file.display()), source: error })
        }
        _ => Ok(()),
    }
}

fn lock_soon(lock: &File) -> Result<(), TryLockError> {
    let give_up = Instant::now() + AFTERLIFE;
    loop {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < give_up => thread::sleep(Duration::from_millis(20)),
            locked => return locked,
        }
    }
}
