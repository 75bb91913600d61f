//! A gateway whose responses are set by the test.

use std::collections::BTreeSet;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use payment_gateway::{ChargeRequest, Gateway, GatewayFuture, Outcome, Unknown};
use payment_intents::{ChargeId, PaymentIntentId};
use tokio::sync::Semaphore;
use tokio::time::Instant;

type Charge = dyn Fn() -> Result<Outcome, Unknown> + Send + Sync;
type LookUp = dyn Fn() -> Result<Option<ChargeId>, Unknown> + Send + Sync;

/// Counts its calls, and answers as scripted.
pub(crate) struct Scripted {
    charge: Box<Charge>,
    look_up: Box<LookUp>,
    charges: AtomicUsize,
    requested: Mutex<BTreeSet<PaymentIntentId>>,
    look_ups: AtomicUsize,
    deadlines: Mutex<Vec<Instant>>,
    gate: Option<Gate>,
}

/// Each request waits at the gate until it is opened.
#[derive(Clone)]
pub(crate) struct Gate {
    arrived: Arc<Semaphore>,
    opened: Arc<Semaphore>,
}

impl Gate {
    /// Waits until a request is at the gate.
    pub(crate) async fn arrival(&self) {
        self.arrivals(1).await;
    }

    /// Waits until this many requests are at the gate.
    pub(crate) async fn arrivals(&self, requests: u32) {
        self.arrived.acquire_many(requests).await.unwrap().forget();
    }

    /// Lets one request pass.
    pub(crate) fn open(&self) {
        self.opened.add_permits(1);
    }

    /// Lets every request pass.
    pub(crate) fn open_for_all(&self) {
        self.opened.close();
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self { arrived: Arc::new(Semaphore::new(0)), opened: Arc::new(Semaphore::new(0)) }
    }
}

impl Scripted {
    /// A gateway that answers each charge like this, and each look-up with none.
    pub(crate) fn charging(charge: impl Fn() -> Result<Outcome, Unknown> + Send + Sync + 'static) -> Self {
        Self {
            charge: Box::new(charge),
            look_up: Box::new(|| Ok(None)),
            charges: AtomicUsize::default(),
            requested: Mutex::default(),
            look_ups: AtomicUsize::default(),
            deadlines: Mutex::default(),
            gate: None,
        }
    }

    /// A gateway that makes every charge, with this id.
    pub(crate) fn charged_as(charge_id: &str) -> Self {
        let charge_id = ChargeId::parse(charge_id).unwrap();
        Self::charging(move || Ok(Outcome::Charged { charge_id: charge_id.clone() }))
    }

    /// Sets the response to every look-up.
    pub(crate) fn finding(
        mut self,
        look_up: impl Fn() -> Result<Option<ChargeId>, Unknown> + Send + Sync + 'static,
    ) -> Self {
        self.look_up = Box::new(look_up);
        self
    }

    /// Every charge waits at this gate.
    pub(crate) fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    pub(crate) fn charges(&self) -> usize {
        self.charges.load(Ordering::SeqCst)
    }

    /// The intents whose charges were requested.
    pub(crate) fn requested(&self) -> BTreeSet<PaymentIntentId> {
        self.requested.lock().unwrap().clone()
    }

    pub(crate) fn look_ups(&self) -> usize {
        self.look_ups.load(Ordering::SeqCst)
    }

    /// The deadline of each request.
    pub(crate) fn deadlines(&self) -> Vec<Instant> {
        self.deadlines.lock().unwrap().clone()
    }
}

impl Gateway for Scripted {
    fn charge<'a>(&'a self, request: &'a ChargeRequest, until: Instant) -> GatewayFuture<'a, Outcome> {
        self.charges.fetch_add(1, Ordering::SeqCst);
        self.requested.lock().unwrap().insert(request.payment_intent_id);
        self.deadlines.lock().unwrap().push(until);
        Box::pin(async move {
            if let Some(gate) = &self.gate {
                gate.arrived.add_permits(1);
                if let Ok(opened) = gate.opened.acquire().await {
                    opened.forget();
                }
            }
            (self.charge)()
        })
    }

    fn look_up<'a>(
        &'a self,
        _: &'a ChargeRequest,
        until: Instant,
    ) -> Pin<Box<dyn Future<Output = Result<Option<ChargeId>, Unknown>> + Send + 'a>> {
        self.look_ups.fetch_add(1, Ordering::SeqCst);
        self.deadlines.lock().unwrap().push(until);
        Box::pin(async move { (self.look_up)() })
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}
