//! The requests and decisions of each key.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use uuid::Uuid;

/// The body of a charge request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Order {
    pub(crate) payment_intent_id: String,
    pub(crate) order_id: String,
    /// In minor units, such as cents.
    pub(crate) amount: i64,
    pub(crate) currency: String,
}

/// A decided charge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Charge {
    /// The gateway's id of the charge.
    pub charge_id: String,
    /// The `Idempotency-Key` of the request.
    pub idempotency_key: String,
    /// The payment intent that the client named.
    pub payment_intent_id: String,
    /// The order that the client named.
    pub order_id: String,
    /// In minor units of the currency, such as cents.
    pub amount: i64,
    /// Such as `USD`.
    pub currency: String,
    /// The decision.
    pub status: Status,
    /// The time of the decision, in RFC 3339.
    pub created_at: String,
}

/// The decision on a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// The money was taken.
    Succeeded,
    /// No money was taken.
    Declined,
}

/// The handling of one request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The response is the charge.
    Decided(Charge),
    /// The charge was made; the response is lost.
    ResponseLost,
    /// The request fails, and nothing was charged.
    Failed,
    /// The request is slow: the caller calls [`Ledger::decide`] later.
    Slow,
    /// An earlier request with this key is still in progress.
    InProgress,
    /// The key was used with another body.
    OtherBody,
}

/// All keys that were ever used.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    decided: Vec<Charge>,
    /// Indexes in `decided`.
    by_key: HashMap<String, usize>,
    in_progress: HashMap<String, Order>,
    /// Keys whose first request failed.
    failed_once: HashSet<String>,
    file: Option<File>,
}

impl Ledger {
    /// Opens a ledger that is stored in a file. Earlier decisions are read first.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = File::options().create(true).append(true).open(path)?;
        let text = std::fs::read_to_string(path)?;
        // An incomplete last line is ignored: the process died before it answered that request.
        let complete_lines = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(complete_lines as u64)?;
        let mut ledger = Self::default();
        for line in text[..complete_lines].lines() {
            ledger.add(serde_json::from_str(line)?);
        }
        ledger.file = Some(file);
        Ok(ledger)
    }

    /// Starts a request. The last two digits of the amount choose the fault of a key's first request.
    pub(crate) fn begin(&mut self, key: &str, order: &Order) -> io::Result<Step> {
        if let Some(&place) = self.by_key.get(key) {
            let charge = self.decided[place].clone();
            return Ok(if order.matches(&charge) { Step::Decided(charge) } else { Step::OtherBody });
        }
        if let Some(first) = self.in_progress.get(key) {
            return Ok(if first == order { Step::InProgress } else { Step::OtherBody });
        }
        match order.amount % 100 {
            3 => self.decide(key, order).map(|_| Step::ResponseLost),
            5 if self.failed_once.insert(key.to_owned()) => Ok(Step::Failed),
            9 => {
                self.in_progress.insert(key.to_owned(), order.clone());
                Ok(Step::Slow)
            }
            _ => self.decide(key, order).map(Step::Decided),
        }
    }

    /// Decides on a charge, and stores the decision.
    pub(crate) fn decide(&mut self, key: &str, order: &Order) -> io::Result<Charge> {
        let charge = Charge {
            charge_id: format!("ch_{}", Uuid::new_v4().simple()),
            idempotency_key: key.to_owned(),
            payment_intent_id: order.payment_intent_id.clone(),
            order_id: order.order_id.clone(),
            amount: order.amount,
            currency: order.currency.clone(),
            status: if order.amount % 100 == 2 { Status::Declined } else { Status::Succeeded },
            created_at: OffsetDateTime::now_utc().format(&Rfc3339).map_err(io::Error::other)?,
        };
        if let Some(file) = &mut self.file {
            file.write_all(format!("{}\n", serde_json::to_string(&charge)?).as_bytes())?;
        }
        self.in_progress.remove(key);
        self.add(charge.clone());
        Ok(charge)
    }

    /// The successful charges, oldest first.
    pub(crate) fn charges(&self) -> impl Iterator<Item = &Charge> {
        self.decided.iter().filter(|charge| charge.status == Status::Succeeded)
    }

    fn add(&mut self, charge: Charge) {
        self.by_key.insert(charge.idempotency_key.clone(), self.decided.len());
        self.decided.push(charge);
    }
}

impl Order {
    fn matches(&self, charge: &Charge) -> bool {
        self.payment_intent_id == charge.payment_intent_id
            && self.order_id == charge.order_id
            && self.amount == charge.amount
            && self.currency == charge.currency
    }
}
