//! Faults at any request of the API, the relay, the handler, the sweeper or the reconciler.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use embedded_dynamodb::{Disturbance, Wire};
use outbox::{EventRow, Publisher};
use payment_gateway::{ChargeRequest, Gateway, GatewayFuture, Outcome, Unknown};
use payment_intents::ChargeId;
use tokio::sync::Notify;
use tokio::time::Instant;

/// A fault of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// The request has no effect, and its sender gets an error.
    FailBefore,
    /// The request takes effect, and its response is lost.
    LoseResponse,
    /// The sender crashes before the request takes effect.
    CrashBefore,
    /// The sender crashes after the request took effect.
    CrashAfter,
}

pub(crate) const FAULTS: [Fault; 4] = [Fault::FailBefore, Fault::LoseResponse, Fault::CrashBefore, Fault::CrashAfter];

type Script = dyn Fn(usize) -> Option<Fault> + Send + Sync;

/// Counts the requests of all processes, and disturbs those that its script selects. One process runs at a time.
#[derive(Clone)]
pub(crate) struct Chaos {
    script: Arc<Script>,
    operations: Arc<Mutex<Vec<String>>>,
    is_crashed: Arc<AtomicBool>,
    crash_signal: Arc<Notify>,
}

impl Chaos {
    /// The first request is number 1.
    pub(crate) fn new(script: impl Fn(usize) -> Option<Fault> + Send + Sync + 'static) -> Self {
        Self {
            script: Arc::new(script),
            operations: Arc::default(),
            is_crashed: Arc::default(),
            crash_signal: Arc::default(),
        }
    }

    /// The operations so far.
    pub(crate) fn operations(&self) -> Vec<String> {
        self.operations.lock().unwrap().clone()
    }

    pub(crate) fn wire(&self) -> Wire {
        let chaos = self.clone();
        Wire::disturbed(move |request| chaos.on_request(&request.operation))
    }

    /// Runs a process. Returns `None` if it crashed.
    pub(crate) async fn run<T>(&self, process: impl Future<Output = T>) -> Option<T> {
        let crashed = async {
            // A permit may be left from an earlier process.
            while !self.is_crashed.load(Ordering::SeqCst) {
                self.crash_signal.notified().await;
            }
        };
        let output = tokio::select! {
            output = process => Some(output),
            () = crashed => None,
        };
        // The next process has not crashed.
        let is_crashed = self.is_crashed.swap(false, Ordering::SeqCst);
        output.filter(|_| !is_crashed)
    }

    fn on_request(&self, operation: &str) -> Disturbance {
        if self.is_crashed.load(Ordering::SeqCst) {
            return self.crash();
        }
        let number = {
            let mut operations = self.operations.lock().unwrap();
            operations.push(operation.to_owned());
            operations.len()
        };
        match (self.script)(number) {
            None => Disturbance::None,
            Some(Fault::FailBefore) => Disturbance::FailBefore,
            Some(Fault::LoseResponse) => Disturbance::LoseResponse,
            Some(Fault::CrashBefore) => self.crash(),
            Some(Fault::CrashAfter) => {
                // It crashes at its next request.
                self.is_crashed.store(true, Ordering::SeqCst);
                Disturbance::LoseResponse
            }
        }
    }

    fn crash(&self) -> Disturbance {
        self.is_crashed.store(true, Ordering::SeqCst);
        self.crash_signal.notify_one();
        Disturbance::Stall
    }

    /// Runs `work` as a request, which may be disturbed. `Err`: it failed, or its response was lost.
    async fn disturb<T>(&self, operation: &str, work: impl Future<Output = T>) -> Result<T, &'static str> {
        match self.on_request(operation) {
            Disturbance::None => Ok(work.await),
            Disturbance::FailBefore => Err("disturbed"),
            Disturbance::LoseResponse => {
                work.await;
                Err("disturbed")
            }
            _ => std::future::pending().await,
        }
    }
}

/// A gateway whose requests are disturbed.
pub(crate) struct DisturbedGateway {
    pub(crate) chaos: Chaos,
    pub(crate) gateway: Arc<dyn Gateway>,
}

impl Gateway for DisturbedGateway {
    fn charge<'a>(&'a self, request: &'a ChargeRequest, until: Instant) -> GatewayFuture<'a, Outcome> {
        Box::pin(async move {
            let response = self.chaos.disturb("Charge", self.gateway.charge(request, until)).await;
            response.unwrap_or_else(|lost| Err(Unknown::Unreachable(lost.into())))
        })
    }

    fn look_up<'a>(
        &'a self,
        request: &'a ChargeRequest,
        until: Instant,
    ) -> Pin<Box<dyn Future<Output = Result<Option<ChargeId>, Unknown>> + Send + 'a>> {
        Box::pin(async move {
            let response = self.chaos.disturb("LookUp", self.gateway.look_up(request, until)).await;
            response.unwrap_or_else(|lost| Err(Unknown::Unreachable(lost.into())))
        })
    }
}

impl std::fmt::Debug for DisturbedGateway {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DisturbedGateway")
    }
}

/// A topic that keeps the published events.
#[derive(Clone)]
pub(crate) struct Topic {
    chaos: Chaos,
    published: Arc<Mutex<Vec<EventRow>>>,
}

impl Topic {
    pub(crate) fn new(chaos: &Chaos) -> Self {
        Self { chaos: chaos.clone(), published: Arc::default() }
    }

    /// All published events, including duplicates.
    pub(crate) fn published(&self) -> Vec<EventRow> {
        self.published.lock().unwrap().clone()
    }
}

impl Publisher for Topic {
    async fn publish(&self, rows: &[EventRow]) -> Vec<Result<(), outbox::Error>> {
        let publish = async { self.published.lock().unwrap().extend_from_slice(rows) };
        let response = self.chaos.disturb("Publish", publish).await;
        let one = |_| response.map_err(|lost| outbox::Error::TopicUnavailable(lost.into()));
        rows.iter().map(one).collect()
    }
}
