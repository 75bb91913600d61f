//! Inspects a function's processes: how many there are, how many invocations they had, and how to end them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::lambda::InvokeResult;
use crate::pool::Pool;

/// The processes of one function. This value does not keep them running.
#[derive(Debug, Clone)]
pub struct Processes {
    function: String,
    pool: Weak<Pool>,
}

/// Observes a function's invocations.
#[async_trait]
pub trait Observer: Send + Sync {
    /// Called before a process gets an event. The event waits for the result. With `None` this invocation is not observed.
    async fn begin(self: Arc<Self>, event: &Value) -> Option<Box<dyn Observation>>;
}

/// The observation of one invocation. It is dropped without a call of `end` if the invocation is cancelled.
#[async_trait]
pub trait Observation: Send {
    /// The process is killed this long after it got the event, unless it has answered by then.
    fn kill_after(&self) -> Option<Duration> {
        None
    }

    /// Called with the result of the invocation, before the caller gets it.
    async fn end(self: Box<Self>, result: &InvokeResult);
}

/// Removes the observer when it is dropped.
#[derive(Debug)]
#[must_use]
pub struct ObserverGuard(Processes);

impl Processes {
    pub(crate) fn new(pool: &Arc<Pool>) -> Self {
        Self { function: pool.function_name().to_owned(), pool: Arc::downgrade(pool) }
    }

    /// The function's name.
    #[must_use]
    pub fn function(&self) -> &str {
        &self.function
    }

    /// The ids of the processes that run.
    #[must_use]
    pub fn ids(&self) -> Vec<u32> {
        self.pool.upgrade().map(|pool| pool.process_ids()).unwrap_or_default()
    }

    /// The number of finished invocations since the start, including failed ones.
    #[must_use]
    pub fn invocations(&self) -> u64 {
        self.pool.upgrade().map_or(0, |pool| pool.invocations())
    }

    /// The number of invocations without a response: the function failed or timed out, or its process ended.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.pool.upgrade().map_or(0, |pool| pool.failures())
    }

    /// Ends the running processes, as `kill -9` does, and returns how many there were. Their invocations fail.
    #[must_use]
    pub fn kill(&self) -> usize {
        self.pool.upgrade().map_or(0, |pool| pool.kill())
    }

    /// Observes all invocations that begin from now on. There is one observer at a time: a new one replaces the old one.
    pub fn observe(&self, observer: Arc<dyn Observer>) -> ObserverGuard {
        if let Some(pool) = self.pool.upgrade() {
            pool.set_observer(Some(observer));
        }
        ObserverGuard(self.clone())
    }
}

impl Drop for ObserverGuard {
    fn drop(&mut self) {
        if let Some(pool) = self.0.pool.upgrade() {
            pool.set_observer(None);
        }
    }
}
