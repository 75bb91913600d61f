//! The processes of one function: one is started when none is idle, and is kept for the next event.

use std::io;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use uuid::Uuid;

use crate::lambda::{Answer, Function, InvokeError, Settings};

/// A function's processes. They end with this value.
#[derive(Debug)]
pub(crate) struct Pool {
    function: Settings,
    idle: Mutex<Vec<Function>>,
}

impl Pool {
    /// No process yet.
    pub(crate) fn new(function: Settings) -> Self {
        Self { function, idle: Mutex::default() }
    }

    /// Starts a process before it is needed, so that a binary that is not there is found now.
    pub(crate) async fn warm_up(&self) -> io::Result<()> {
        let function = Function::start(self.function.clone()).await?;
        self.idle().push(function);
        Ok(())
    }

    /// Invokes the function in a process that does nothing else meanwhile. One that ended or timed out is not used again,
    /// nor is one whose answer was refused: a runtime ends itself then.
    pub(crate) async fn invoke(&self, event: Value) -> Answer {
        self.invoke_as(Uuid::new_v4().to_string(), event).await
    }

    /// As [`Pool::invoke`], for who must know the id of the request.
    pub(crate) async fn invoke_as(&self, request_id: String, event: Value) -> Answer {
        let function = match self.take_idle().await {
            Some(function) => function,
            None => Function::start(self.function.clone()).await.map_err(InvokeError::NotStarted)?,
        };
        let answer = function.invoke_as(request_id, event).await;
        match answer {
            Ok(_) | Err(InvokeError::Function(_)) => self.idle().push(function),
            Err(
                InvokeError::NotStarted(_)
                | InvokeError::Refused(_)
                | InvokeError::Exited { .. }
                | InvokeError::TimedOut(_),
            ) => drop(function),
        }
        answer
    }

    /// Ends the processes that do nothing.
    pub(crate) fn let_idle_go(&self) {
        drop(mem::take(&mut *self.idle()));
    }

    /// A process that ended while it was idle costs no event an invocation.
    async fn take_idle(&self) -> Option<Function> {
        loop {
            let function = self.idle().pop()?;
            if function.is_running().await {
                return Some(function);
            }
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Function>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
