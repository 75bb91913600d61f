//! The results of a batch, or of a run of the reconciler: one log line for each failure, and one line with the metrics.

use std::collections::BTreeSet;
use std::time::SystemTime;

use lambda_boot::{Line, cut, is_logged, with_causes};
use payment_intents::PaymentIntentId;
use tracing::Level;

use crate::{ChargeResult, Failure, Role};

/// The line names at most this many intents.
const MAX_NAMED: usize = 5;

/// Counts the results of charges.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    role: Role,
    request_id: &'a str,
    charged: usize,
    declined: usize,
    expired: usize,
    nothing_to_do: usize,
    gave_back: usize,
    held: Vec<String>,
    gateway_unknown: usize,
    gateway_refused_us: usize,
    malformed: usize,
    failed: usize,
    reasons: BTreeSet<&'static str>,
}

/// The charge whose failure is reported.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// None in the reconciler.
    pub(crate) message_id: Option<&'a str>,
    /// None if the message could not be read.
    pub(crate) intent: Option<PaymentIntentId>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(role: Role, request_id: &'a str) -> Self {
        Self {
            role,
            request_id,
            charged: 0,
            declined: 0,
            expired: 0,
            nothing_to_do: 0,
            gave_back: 0,
            held: Vec::new(),
            gateway_unknown: 0,
            gateway_refused_us: 0,
            malformed: 0,
            failed: 0,
            reasons: BTreeSet::new(),
        }
    }

    pub(crate) fn count_result(&mut self, intent: PaymentIntentId, result: ChargeResult) {
        match result {
            ChargeResult::Charged => self.charged += 1,
            ChargeResult::Declined => self.declined += 1,
            ChargeResult::Expired => self.expired += 1,
            ChargeResult::Nothing => self.nothing_to_do += 1,
            ChargeResult::HeldByAnother => {
                self.gave_back += 1;
                if self.held.len() < MAX_NAMED {
                    self.held.push(intent.to_string());
                }
            }
        }
    }

    /// Counts a failure and logs it.
    pub(crate) fn count_failure(&mut self, subject: Subject<'_>, failure: &Failure) {
        match failure {
            Failure::Malformed(_) | Failure::NotAnIntent => self.malformed += 1,
            Failure::Gateway(unknown) => {
                self.gateway_unknown += 1;
                self.gateway_refused_us += usize::from(unknown.needs_correction());
            }
            Failure::Undecided => self.gateway_unknown += 1,
            Failure::WrongType(_)
            | Failure::NoSuchIntent
            | Failure::Store(_)
            | Failure::Lock(_)
            | Failure::Superseded
            | Failure::OutOfTime => self.failed += 1,
        }
        self.reasons.insert(failure.code());
        tracing::error!(
            request_id = self.request_id,
            message_id = subject.message_id.map(cut),
            payment_intent_id = subject.intent.map(tracing::field::display),
            reason = failure.code(),
            retryable = failure.is_retryable(),
            error = with_causes(failure),
            "charge not finished"
        );
    }

    /// The number of charges that failed.
    pub(crate) fn failures(&self) -> usize {
        self.gateway_unknown + self.malformed + self.failed
    }

    /// The distinct reasons of the failures.
    pub(crate) fn reasons(&self) -> Vec<&'static str> {
        self.reasons.iter().copied().collect()
    }

    /// The line with the metrics. The caller prints it, and may add metrics first.
    pub(crate) fn line(&self, metrics_namespace: &str, now: SystemTime) -> Line {
        let line = Line::new(Level::INFO, now)
            .in_namespace(metrics_namespace, &[("Function", self.role.name())])
            .count("Charged", self.charged)
            .count("Declined", self.declined)
            .count("Expired", self.expired)
            .count("NothingToDo", self.nothing_to_do)
            .count("GaveBack", self.gave_back)
            .count("GatewayUnknown", self.gateway_unknown)
            .count("GatewayRefusedUs", self.gateway_refused_us)
            .count("Malformed", self.malformed)
            .count("Failed", self.failed);
        if !is_logged(Level::INFO) {
            return line;
        }
        let line = line.with("message", "charges processed").with("request_id", self.request_id);
        if self.held.is_empty() { line } else { line.with("held_payment_intent_ids", self.held.clone()) }
    }
}
