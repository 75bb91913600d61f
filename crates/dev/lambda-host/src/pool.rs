//! The processes of one function: one is started when none is idle, and is kept for the next event.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::lambda::{Function, InvokeError, InvokeResult, Kill, Settings};
use crate::processes::Observer;

/// A function's processes. They end with this value.
pub(crate) struct Pool {
    function: Settings,
    idle: Mutex<Vec<Function>>,
    busy: Mutex<HashMap<u64, Busy>>,
    /// The number of started invocations: the key of the next busy process.
    started: AtomicU64,
    finished: AtomicU64,
    failed: AtomicU64,
    observer: Mutex<Option<Arc<dyn Observer>>>,
}

/// A process that is handling an event.
#[derive(Debug)]
struct Busy {
    process_id: Option<u32>,
    kill: oneshot::Sender<()>,
}

impl Pool {
    /// Creates a pool without processes.
    pub(crate) fn new(function: Settings) -> Arc<Self> {
        Arc::new(Self {
            function,
            idle: Mutex::default(),
            busy: Mutex::default(),
            started: AtomicU64::default(),
            finished: AtomicU64::default(),
            failed: AtomicU64::default(),
            observer: Mutex::default(),
        })
    }

    /// Starts a process before it is needed, so that a missing binary is reported now.
    pub(crate) async fn warm_up(&self) -> io::Result<()> {
        let function = Function::start(self.function.clone()).await?;
        lock(&self.idle).push(function);
        Ok(())
    }

    /// Invokes the function in a process that does nothing else meanwhile. A process that ended or timed out is not
    /// used again. Neither is a process whose response was rejected, because its runtime then ends itself.
    pub(crate) async fn invoke(&self, event: Value) -> InvokeResult {
        self.invoke_with_id(Uuid::new_v4().to_string(), event).await
    }

    /// As [`Pool::invoke`], with a given request id.
    pub(crate) async fn invoke_with_id(&self, request_id: String, event: Value) -> InvokeResult {
        let observer = lock(&self.observer).clone();
        let observation = match observer {
            Some(observer) => observer.begin(&event).await,
            None => None,
        };
        let kill_after = observation.as_ref().and_then(|observation| observation.kill_after());
        let result = self.invoke_process(request_id, event, kill_after).await;
        self.finished.fetch_add(1, Ordering::Relaxed);
        self.failed.fetch_add(u64::from(result.is_err()), Ordering::Relaxed);
        if let Some(observation) = observation {
            observation.end(&result).await;
        }
        result
    }

    async fn invoke_process(&self, request_id: String, event: Value, kill_after: Option<Duration>) -> InvokeResult {
        let function = match self.take_idle().await {
            Some(function) => function,
            None => Function::start(self.function.clone()).await.map_err(InvokeError::NotStarted)?,
        };
        let (kill, signal) = oneshot::channel();
        let entry = self.add_busy(Busy { process_id: function.process_id(), kill });
        let result = function.invoke_with_id(request_id, event, Kill { signal: Some(signal), after: kill_after }).await;
        drop(entry);
        match result {
            Ok(_) | Err(InvokeError::Function(_)) => lock(&self.idle).push(function),
            Err(
                InvokeError::NotStarted(_)
                | InvokeError::Refused(_)
                | InvokeError::Exited { .. }
                | InvokeError::TimedOut(_),
            ) => drop(function),
        }
        result
    }

    /// Ends the idle processes.
    pub(crate) fn stop_idle(&self) {
        drop(mem::take(&mut *lock(&self.idle)));
    }

    /// Kills all processes, and returns how many there were.
    pub(crate) fn kill(&self) -> usize {
        let idle = mem::take(&mut *lock(&self.idle)).into_iter().filter(Function::seems_running).count();
        let busy = mem::take(&mut *lock(&self.busy)).into_values();
        // Sending fails if the process has just answered.
        idle + busy.filter_map(|busy| busy.kill.send(()).ok()).count()
    }

    pub(crate) fn process_ids(&self) -> Vec<u32> {
        let idle = lock(&self.idle);
        let idle = idle.iter().filter(|function| function.seems_running()).map(Function::process_id);
        idle.chain(lock(&self.busy).values().map(|busy| busy.process_id)).flatten().collect()
    }

    pub(crate) fn function_name(&self) -> &str {
        &self.function.name
    }

    pub(crate) fn invocations(&self) -> u64 {
        self.finished.load(Ordering::Relaxed)
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    pub(crate) fn set_observer(&self, observer: Option<Arc<dyn Observer>>) {
        *lock(&self.observer) = observer;
    }

    /// Skips processes that ended while they were idle, so that no invocation fails because of them.
    async fn take_idle(&self) -> Option<Function> {
        loop {
            let function = lock(&self.idle).pop()?;
            if function.is_running().await {
                return Some(function);
            }
        }
    }

    fn add_busy(&self, busy: Busy) -> Entry<'_> {
        let key = self.started.fetch_add(1, Ordering::Relaxed);
        lock(&self.busy).insert(key, busy);
        Entry { pool: self, key }
    }
}

/// Removes a process from the busy ones when it is dropped, also if the invocation is cancelled.
struct Entry<'a> {
    pool: &'a Pool,
    key: u64,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        lock(&self.pool.busy).remove(&self.key);
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("function", &self.function.name).finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
