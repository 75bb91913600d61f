//! The folder with all data of a system: the tables, the buckets, the gateway's charges, the positions in streams, the functions' logs, and the
//! planned demo.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use embedded_dynamodb::Engine;
use order_events::Timestamp;

use crate::stack::{StartError, loopback};

// The names start with the system's name, because the folder may contain other files.
const LOCK: &str = "ftgo-order-history.lock";
const DEMO: &str = "ftgo-order-history.demo";

/// How long a lock can stay after its process was killed: a child process that was just started holds the lock until it runs its own
/// program.
const LOCK_GRACE: Duration = Duration::from_secs(2);

/// The folder of a system that runs. No other process can open it before this value is dropped or this process ends, even by
/// `kill -9`.
#[derive(Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
    _lock: File,
}

impl DataDir {
    /// Creates the folder if it is missing, and locks it.
    pub(crate) fn open(path: &Path) -> Result<Self, StartError> {
        let cannot_use = |source| StartError::DataDir { path: path.to_owned(), source };
        let mut lock = fs::create_dir_all(path)
            .and_then(|()| {
                let lock = path.join(LOCK);
                File::options().read(true).write(true).create(true).truncate(false).open(lock)
            })
            .map_err(cannot_use)?;
        match lock_with_retries(&lock) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The holder may not have written its id yet.
                let _ = lock.read_to_string(&mut holder);
                let holder = holder.trim().parse().ok();
                return Err(StartError::InUse { path: path.to_owned(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(cannot_use(error)),
        }
        lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(cannot_use)?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Whether the file with the tables exists.
    pub(crate) fn has_tables(&self) -> bool {
        self.tables().exists()
    }

    /// Opens the tables, and serves their API at a port.
    pub(crate) fn open_engine(&self, port: u16) -> Result<Engine, StartError> {
        let path = self.tables();
        Engine::open(&path, loopback(port)).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => StartError::PortTaken { port, variable: "DYNAMODB_PORT" },
            _ => StartError::UnreadableTables { path, source },
        })
    }

    fn tables(&self) -> PathBuf {
        self.path.join("dynamodb.sqlite")
    }

    /// The folder of the buckets, with the archive of all events.
    pub(crate) fn buckets(&self) -> PathBuf {
        self.path.join("archive")
    }

    /// The file with the payment gateway's charges.
    pub(crate) fn charges(&self) -> PathBuf {
        self.path.join("ftgo-payments-gateway.jsonl")
    }

    /// The file with a function's position in its stream.
    pub(crate) fn position(&self, function: &str) -> PathBuf {
        self.path.join(format!("{function}.position"))
    }

    /// The folder of the logs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.path.join("logs")
    }

    /// The path of a function's log. The log of an earlier run is removed.
    pub(crate) fn new_log(&self, function: &str) -> Result<PathBuf, StartError> {
        let log = self.logs().join(format!("{function}.log"));
        remove(&log)?;
        Ok(log)
    }

    /// Plans a demo with this start time. It stays planned until it is finished: if a start is interrupted, the next one
    /// publishes the same events again, and the view recognizes them as duplicates.
    pub(crate) fn plan_demo(&self, now: Timestamp) -> Result<(), StartError> {
        // A rename, so that the file is never half written.
        let (plan, part) = (self.demo(), self.path.join(format!("{DEMO}.part")));
        let planned = fs::write(&part, now.to_string()).and_then(|()| fs::rename(part, &plan));
        planned.map_err(|source| StartError::Io { what: format!("write {}", plan.display()), source })
    }

    /// The start time of the planned demo, if there is one.
    pub(crate) fn planned_demo(&self) -> Option<Timestamp> {
        Timestamp::parse_rfc3339(&fs::read_to_string(self.demo()).ok()?).ok()
    }

    /// Removes the plan of the demo.
    pub(crate) fn finish_demo(&self) -> Result<(), StartError> {
        remove(&self.demo())
    }

    fn demo(&self) -> PathBuf {
        self.path.join(DEMO)
    }
}

/// Removes a file if it exists.
fn remove(file: &Path) -> Result<(), StartError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(StartError::Io { what: format!("remove {}", file.display()), source: error })
        }
        _ => Ok(()),
    }
}

fn lock_with_retries(lock: &File) -> Result<(), TryLockError> {
    let give_up = Instant::now() + LOCK_GRACE;
    loop {
        match lock.try_lock() {
            Err(TryLockError::WouldBlock) if Instant::now() < give_up => thread::sleep(Duration::from_millis(20)),
            locked => return locked,
        }
    }
}
