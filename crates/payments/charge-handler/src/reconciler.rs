//! Finishes charges that fell out of the queue.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::{Duration, SystemTime};

use futures_util::{StreamExt, stream};
use lambda_boot::{Clock, with_causes};
use order_events::Timestamp;
use payment_store::{OpenCharge, PaymentStore, SHARDS, Shard};
use tokio::time::{Instant, sleep_until};

use crate::handler::CONCURRENCY;
use crate::report::{Report, Subject};
use crate::{Charger, Config, Role, Unfinished};

/// How many open charges one query returns at most.
const PAGE: u16 = 100;

/// Finds charges that were requested some time ago and are not settled, and does with each what the handler does.
pub struct Reconciler {
    charger: Charger,
    after: Duration,
    metrics_namespace: String,
    clock: Clock,
}

impl Reconciler {
    /// A reconciler as `config` says.
    #[must_use]
    pub fn new(charger: Charger, config: &Config, clock: Clock) -> Self {
        let (after, metrics_namespace) = (config.reconcile_after, config.metrics_namespace.clone());
        Self { charger, after, metrics_namespace, clock }
    }

    /// Finishes open charges until there are no more, or the time is up. The next run goes on.
    ///
    /// An error says that some could not be finished. One that another worker holds has not failed, but counts as overdue.
    pub async fn run(&self, request_id: &str, deadline: SystemTime) -> Result<(), Unfinished> {
        let now = self.clock.now();
        let before = Timestamp::from(now.checked_sub(self.after).unwrap_or(SystemTime::UNIX_EPOCH));
        let last_begin = self.charger.last_begin(deadline);
        let mut report = Report::new(Role::Reconcile, request_id);
        let mut unreadable = Vec::new();

        // All shards at the same time, so that a long one does not hold up the others.
        let shards = SHARDS.map(|shard| Box::pin(open_charges(self.charger.store(), shard, before)));
        let finished = stream::select_all(shards)
            .take_until(sleep_until(last_begin))
            .map(async |found| match found {
                Ok(OpenCharge { id, .. }) => Ok((id, self.charger.finish(id, deadline).await)),
                Err(error) => Err(error),
            })
            .buffer_unordered(CONCURRENCY);
        let mut finished = pin!(finished);
        while let Some(finished) = finished.next().await {
            match finished {
                Ok((id, Ok(done))) => report.note_done(id, done),
                Ok((id, Err(failure))) => {
                    report.note_failed(Subject { message_id: None, intent: Some(id) }, &failure);
                }
                Err(error) => unreadable.push(error),
            }
        }

        let is_cut_short = Instant::now() >= last_begin;
        let mut reasons: BTreeSet<_> = report.reasons().into_iter().collect();
        for error in &unreadable {
            reasons.insert(error.code());
            let (reason, error) = (error.code(), with_causes(error));
            tracing::error!(request_id, reason, error, "open charges not found");
        }
        // What is not known to be finished counts, so that an alarm hears of a reconciler that never gets to the end.
        let overdue = report.failures() + report.gave_back() + unreadable.len() + usize::from(is_cut_short);
        let line = report.line(&self.metrics_namespace, self.clock.now()).count("ChargesOverdue", overdue);
        println!("{}", if is_cut_short { line.with("cut_short", true) } else { line });
        let charges = report.failures() + unreadable.len();
        if charges == 0 { Ok(()) } else { Err(Unfinished { charges, reasons: reasons.into_iter().collect() }) }
    }
}

/// The open charges of one shard, oldest first. After an error there are no more.
fn open_charges(
    store: &PaymentStore,
    shard: Shard,
    before: Timestamp,
) -> impl futures_util::Stream<Item = Result<OpenCharge, payment_store::Error>> + '_ {
    let pages = stream::unfold(Some(None), move |place: Option<Option<OpenCharge>>| async move {
        let after = place?;
        let page = store.open_charges(shard, before, after, PAGE).await;
        let next = match &page {
            Ok(charges) if charges.len() == usize::from(PAGE) => Some(charges.last().copied()),
            Ok(_) | Err(_) => None,
        };
        let charges: Vec<_> = match page {
            Ok(charges) => charges.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        };
        Some((stream::iter(charges), next))
    });
    pages.flatten()
}
