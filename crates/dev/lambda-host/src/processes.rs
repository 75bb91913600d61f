//! A function's processes, for who looks on from outside: how many there are, what they did, and how to end them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;

use crate::lambda::Answer;
use crate::pool::Pool;

/// The processes of one function. They do not live longer for this value.
#[derive(Debug, Clone)]
pub struct Processes {
    function: String,
    pool: Weak<Pool>,
}

/// Looks on at a function's invocations.
#[async_trait]
pub trait Observer: Send + Sync {
    /// Called before a process gets an event, which waits for it. Without an observation nobody looks on at this invocation.
    async fn begin(self: Arc<Self>, event: &Value) -> Option<Box<dyn Observation>>;
}

/// One invocation that somebody looks on at. It is dropped without an end if the invocation is given up.
#[async_trait]
pub trait Observation: Send {
    /// The process is killed so long after it got the event, unless it has answered by then.
    fn kill_after(&self) -> Option<Duration> {
        None
    }

    /// Called with what came of the invocation, before anybody acts on it.
    async fn end(self: Box<Self>, answer: &Answer);
}

/// An observer that looks on until this value is dropped.
#[derive(Debug)]
#[must_use]
pub struct Observing(Processes);

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

    /// How many invocations have ended, well or not, since the start.
    #[must_use]
    pub fn invocations(&self) -> u64 {
        self.pool.upgrade().map_or(0, |pool| pool.invocations())
    }

    /// How many of them gave no response: the function failed or timed out, or its process ended.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.pool.upgrade().map_or(0, |pool| pool.failures())
    }

    /// Ends the processes that run now, as `kill -9` does, and gives how many. What they were doing fails.
    #[must_use]
    pub fn kill(&self) -> usize {
        self.pool.upgrade().map_or(0, |pool| pool.kill())
    }

    /// Lets `observer` look on at the invocations that begin from now on. Only one can: it takes the place of an earlier one.
    pub fn observe(&self, observer: Arc<dyn Observer>) -> Observing {
        if let Some(pool) = self.pool.upgrade() {
            pool.set_observer(Some(observer));
        }
        Observing(self.clone())
    }
}

impl Drop for Observing {
    fn drop(&mut self) {
        if let Some(pool) = self.0.pool.upgrade() {
            pool.set_observer(None);
        }
    }
}
