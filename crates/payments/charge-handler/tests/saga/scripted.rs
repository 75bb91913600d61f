//! A gateway that answers as a test says.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use payment_gateway::{Answer, ChargeRequest, Gateway, Outcome, Unknown};
use payment_intents::ChargeId;
use tokio::sync::Notify;
use tokio::time::Instant;

type Charge = dyn Fn() -> Result<Outcome, Unknown> + Send + Sync;
type LookUp = dyn Fn() -> Result<Option<ChargeId>, Unknown> + Send + Sync;

/// Counts what it is asked, and answers as it was told to.
pub(crate) struct Scripted {
    charge: Box<Charge>,
    look_up: Box<LookUp>,
    charges: AtomicUsize,
    look_ups: AtomicUsize,
    untils: Mutex<Vec<Instant>>,
    gate: Option<Gate>,
}

/// Holds a request up until it is opened.
#[derive(Clone, Default)]
pub(crate) struct Gate {
    arrived: Arc<Notify>,
    opened: Arc<Notify>,
}

impl Gate {
    /// Waits until a request is held up.
    pub(crate) async fn arrival(&self) {
        self.arrived.notified().await;
    }

    pub(crate) fn open(&self) {
        self.opened.notify_one();
    }
}

impl Scripted {
    /// A gateway that answers each charge like this, and knows of none.
    pub(crate) fn charging(charge: impl Fn() -> Result<Outcome, Unknown> + Send + Sync + 'static) -> Self {
        Self {
            charge: Box::new(charge),
            look_up: Box::new(|| Ok(None)),
            charges: AtomicUsize::default(),
            look_ups: AtomicUsize::default(),
            untils: Mutex::default(),
            gate: None,
        }
    }

    /// A gateway that takes every charge, under this id.
    pub(crate) fn charged_as(charge_id: &str) -> Self {
        let charge_id = ChargeId::parse(charge_id).unwrap();
        Self::charging(move || Ok(Outcome::Charged { charge_id: charge_id.clone() }))
    }

    /// With this answer to every look-up.
    pub(crate) fn finding(
        mut self,
        look_up: impl Fn() -> Result<Option<ChargeId>, Unknown> + Send + Sync + 'static,
    ) -> Self {
        self.look_up = Box::new(look_up);
        self
    }

    /// With a gate that holds every charge up.
    pub(crate) fn behind(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    pub(crate) fn charges(&self) -> usize {
        self.charges.load(Ordering::SeqCst)
    }

    pub(crate) fn look_ups(&self) -> usize {
        self.look_ups.load(Ordering::SeqCst)
    }

    /// Until when each request was allowed to last.
    pub(crate) fn untils(&self) -> Vec<Instant> {
        self.untils.lock().unwrap().clone()
    }
}

impl Gateway for Scripted {
    fn charge<'a>(&'a self, _: &'a ChargeRequest, until: Instant) -> Answer<'a, Outcome> {
        self.charges.fetch_add(1, Ordering::SeqCst);
        self.untils.lock().unwrap().push(until);
        Box::pin(async move {
            if let Some(gate) = &self.gate {
                gate.arrived.notify_one();
                gate.opened.notified().await;
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
        self.untils.lock().unwrap().push(until);
        Box::pin(async move { (self.look_up)() })
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scripted")
    }
}
