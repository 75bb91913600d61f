//! The pessimistic way: the same commands under the intent's lock.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use dynamodb_locks::{Acquired, Lock, retry_on_conflict};
use payment_intents::{Outcome, PaymentIntent, PaymentIntentId, StateName};

use crate::command::Read;
use crate::store::{Before, CONFLICTS};
use crate::unit_of_work::UnitOfWork;
use crate::{Answered, Decision, Error, Found, PaymentStore, RequestKey, Seen};

/// An intent whose lock is ours.
///
/// Every write under it checks the lock in its own transaction, so that a process that has lost it writes nothing. The lock is
/// released with the last transaction, or, where there is none, by a request of its own.
#[derive(Debug)]
#[must_use = "the lock stays until its lease ends"]
pub struct LockedIntent {
    store: PaymentStore,
    id: PaymentIntentId,
    lock: Lock,
}

/// The answer to [`PaymentStore::locked`].
#[derive(Debug)]
#[must_use]
pub enum Locking {
    /// The lock is ours.
    Granted(Box<LockedIntent>),
    /// Another request or the charge handler has it, and had it for as long as was waited.
    Held {
        /// When its lease ends by its holder's clock; it may be renewed.
        until: Option<SystemTime>,
    },
}

impl PaymentStore {
    /// Takes an intent's lock, whether or not there is such an intent; waits for it for up to `wait`.
    pub async fn locked(&self, id: PaymentIntentId, wait: Duration) -> Result<Locking, Error> {
        match self.locks.exclusive(Self::lock_key(id)).wait_for(wait).acquire().await? {
            Acquired::Granted(lock) => Ok(Locking::Granted(Box::new(LockedIntent { store: self.clone(), id, lock }))),
            Acquired::Held(holder) => Ok(Locking::Held { until: holder.until }),
        }
    }
}

impl LockedIntent {
    /// As [`PaymentStore::change`], with the lock released in the same transaction.
    pub async fn change<N>(
        self,
        request: &RequestKey,
        admit: impl Fn(Option<Found>) -> Result<Found, N>,
        decide: impl Fn(Seen<'_, Found>) -> Decision<N>,
        answer: impl Fn(&Found) -> String,
    ) -> Result<Answered<N>, Error> {
        let committed = AtomicBool::new(false);
        let decide = |seen: Seen<'_, Found>| {
            let decision = decide(seen);
            committed.store(matches!(decision, Decision::Change(_)), Ordering::Relaxed);
            decision
        };
        let release = self.lock.release_with();
        let answered = self.store.change_under(self.id, request, Some(&release), admit, decide, answer).await;
        match &answered {
            Ok(Answered::Now(_)) if committed.load(Ordering::Relaxed) => {}
            _ => self.release().await,
        }
        answered
    }

    /// Requests the charge and has it decided: `decide` requests it, in a first transaction; `charge` asks the gateway, under
    /// heartbeats; what it decided, or that it did not, is the second transaction, with the answer and the lock's release.
    ///
    /// If this process ends in between, the request's repetition goes on where it ended; and so does the charge handler, for
    /// the first transaction has published the charge.
    pub async fn charge<N>(
        self,
        request: &RequestKey,
        admit: impl Fn(Option<Found>) -> Result<Found, N>,
        decide: impl Fn(Seen<'_, Found>) -> Decision<N>,
        charge: impl AsyncFnOnce(&PaymentIntent) -> Option<Outcome>,
        answer: impl Fn(&Found) -> String,
    ) -> Result<Answered<N>, Error> {
        let (found, claim) = match self.request_charge(request, admit, decide, &answer).await {
            Ok(Requested::Charge(found, claim)) => (found, claim),
            Ok(Requested::Answer(answered)) => {
                self.release().await;
                return Ok(answered);
            }
            Err(error) => {
                self.release().await;
                return Err(error);
            }
        };
        let outcome = self.lock.hold(charge(&found.intent)).await?;
        let mut work = UnitOfWork::new();
        let found = match outcome.and_then(|outcome| found.intent.settle(outcome, self.store.now()).ok()) {
            None => *found,
            Some(change) => self.store.add(&mut work, &change, Before::Intent(&found))?,
        };
        let answer = answer(&found);
        if let Err(error) = self.store.complete(&claim, &answer, &self.lock.release_with(), work).await {
            self.release().await;
            return Err(error);
        }
        Ok(Answered::Now(answer))
    }

    /// The first transaction: the charge is requested, its event will be published, and the request is in progress. A request that
    /// was begun before goes on from what it has done.
    async fn request_charge<N>(
        &self,
        request: &RequestKey,
        admit: impl Fn(Option<Found>) -> Result<Found, N>,
        decide: impl Fn(Seen<'_, Found>) -> Decision<N>,
        answer: impl Fn(&Found) -> String,
    ) -> Result<Requested<N>, Error> {
        let (store, RequestKey { key, fingerprint }) = (&self.store, request);
        let check = self.lock.check();
        retry_on_conflict(CONFLICTS, Error::is_conflict, async || {
            let (found, is_begun) = match store.read_intent(self.id, request, &admit).await? {
                Read::Answer(answered) => return Ok(Requested::Answer(answered)),
                Read::Intent { found, is_begun } => (found, is_begun),
            };
            let mut work = UnitOfWork::new();
            let state = found.intent.state().name();
            // A claim is only ever written with the request of a charge: what was begun is this intent's own charge.
            let requested = if is_begun && state == StateName::ChargeRequested {
                *found
            } else {
                let decision = if is_begun && state.is_final() {
                    Decision::Record(answer(&found))
                } else {
                    decide(Seen { found: &found, is_begun, now: store.now() })
                };
                match decision {
                    Decision::Change(change) => store.add(&mut work, &change, Before::Intent(&found))?,
                    Decision::Reply(reply) => return Ok(Requested::Answer(Answered::Unrecorded(reply))),
                    Decision::Record(answer) => {
                        let record = store.idempotency.completed_with(key, fingerprint, Some(answer.clone()))?;
                        let committed = store.commit_with_record(work, record, Some(&check), fingerprint).await?;
                        return Ok(Requested::Answer(committed.unwrap_or(Answered::Now(answer))));
                    }
                }
            };
            let (claim, record) = store.idempotency.claim_with(key, fingerprint)?;
            let committed = store.commit_with_record(work, record, Some(&check), fingerprint).await?;
            Ok(committed.map_or(Requested::Charge(Box::new(requested), claim), Requested::Answer))
        })
        .await
    }

    /// Gives the lock back where no transaction has. What fails here is made up for by the end of the lease.
    async fn release(&self) {
        if let Err(error) = self.lock.release().await {
            let error: &dyn std::error::Error = &error;
            tracing::warn!(error, "a lock is not released and will have to expire");
        }
    }
}

enum Requested<N> {
    Charge(Box<Found>, idempotency::Claim),
    Answer(Answered<N>),
}
