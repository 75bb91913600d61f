//! Finishes charges whose messages were lost or failed.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use futures_util::{FutureExt, StreamExt, stream};
use lambda_boot::{Clock, with_causes};
use order_events::Timestamp;
use payment_store::{OpenCharge, PaymentStore, SHARDS, Shard};
use tokio::time::sleep_until;

use crate::handler::CONCURRENCY;
use crate::report::{Report, Subject};
use crate::{Charger, Config, Role, Unfinished};

/// How many open charges one query returns at most.
const PAGE: u16 = 100;

/// Finds charges that were requested some time ago and are not settled, and finishes them as the handler does.
pub struct Reconciler {
    charger: Charger,
    after: Duration,
    metrics_namespace: String,
    clock: Clock,
}

impl Reconciler {
    /// Creates a reconciler with the settings of `config`.
    #[must_use]
    pub fn new(charger: Charger, config: &Config, clock: Clock) -> Self {
        let (after, metrics_namespace) = (config.reconcile_after, config.metrics_namespace.clone());
        Self { charger, after, metrics_namespace, clock }
    }

    /// Finishes open charges until there are no more, or the time is up. Returns 1 if the time was up before all charges were
    /// started (the next run continues), else 0.
    ///
    /// Returns an error if a charge could not be finished. A charge that another worker holds has not failed: that worker finishes or
    /// counts it.
    pub async fn run(&self, request_id: &str, deadline: SystemTime) -> Result<usize, Unfinished> {
        let now = self.clock.now();
        let before = Timestamp::from(now.checked_sub(self.after).unwrap_or(SystemTime::UNIX_EPOCH));
        let latest_start = self.charger.latest_start(deadline);
        let mut report = Report::new(Role::Reconcile, request_id);
        let mut unreadable = Vec::new();

        // All shards at the same time, so that a long shard does not delay the others.
        let shards = SHARDS.map(|shard| Box::pin(open_charges(self.charger.store(), shard, before)));
        let mut open = stream::select_all(shards);
        let mut finished = open
            .by_ref()
            .take_until(Box::pin(sleep_until(latest_start)))
            .map(async |found| match found {
                Ok(OpenCharge { id, .. }) => Ok((id, self.charger.finish(id, deadline).await)),
                Err(error) => Err(error),
            })
            .buffer_unordered(CONCURRENCY);
        while let Some(finished) = finished.next().await {
            match finished {
                Ok((id, Ok(done))) => report.count_result(id, done),
                Ok((id, Err(failure))) => {
                    report.count_failure(Subject { message_id: None, intent: Some(id) }, &failure);
                }
                Err(error) => unreadable.push(error),
            }
        }
        drop(finished);

        // If every shard is at its end, the stream ends at once. Otherwise an unread page may contain more charges.
        let is_cut_short = !matches!(open.next().now_or_never(), Some(None));
        let mut reasons: BTreeSet<_> = report.reasons().into_iter().collect();
        for error in &unreadable {
            reasons.insert(error.code());
            let (reason, error) = (error.code(), with_causes(error));
            tracing::error!(request_id, reason, error, "open charges could not be read");
        }
        // Charges that may be left count too, so that an alarm sees a reconciler that never reaches the end.
        let overdue = report.failures() + unreadable.len() + usize::from(is_cut_short);
        let line = report.line(&self.metrics_namespace, self.clock.now()).count("ChargesOverdue", overdue);
        println!("{}", if is_cut_short { line.with("cut_short", true) } else { line });
        let charges = report.failures() + unreadable.len();
        if charges == 0 { Ok(overdue) } else { Err(Unfinished { charges, reasons: reasons.into_iter().collect() }) }
    }
}

/// The open charges of one shard, page by page, oldest page first. Each page is shuffled. Otherwise a few slow charges
/// could use up the time of every run, and the others would never be tried. The stream ends after an error.
fn open_charges(
    store: &PaymentStore,
    shard: Shard,
    before: Timestamp,
) -> impl futures_util::Stream<Item = Result<OpenCharge, payment_store::Error>> + '_ {
    let pages = stream::unfold(Some(None), move |start: Option<Option<OpenCharge>>| async move {
        let after = start?;
        let page = store.open_charges(shard, before, after, PAGE).await;
        let next = match &page {
            Ok(charges) if charges.len() == usize::from(PAGE) => Some(charges.last().copied()),
            Ok(_) | Err(_) => None,
        };
        let charges: Vec<_> = match page {
            Ok(mut charges) => {
                let shuffle = RandomState::new();
                charges.sort_by_cached_key(|charge| shuffle.hash_one(charge.id));
                charges.into_iter().map(Ok).collect()
            }
            Err(error) => vec![Err(error)],
        };
        Some((stream::iter(charges), next))
    });
    pages.flatten()
}
