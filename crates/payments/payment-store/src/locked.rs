//! Pessimistic locking: the same commands under the intent's lock.

use std::time::Duration;

use dynamodb_locks::{Acquired, Lock, retry_on_conflict};
use idempotency::Claim;
use payment_intents::{Outcome, PaymentIntent, PaymentIntentId};

use crate::command::Decided;
use crate::store::{CONFLICTS, ReadItem};
use crate::unit_of_work::UnitOfWork;
use crate::{CommandResult, Decision, DecisionInput, Error, PaymentStore, RequestKey, StoredIntent};

/// The store's commands under locks, created by [`PaymentStore::locking`].
///
/// A caller who is not authorized, a repeated request and a command that changes nothing are answered without the lock. Every
/// transaction under the lock checks it, so that a process that has lost the lock writes nothing. The last transaction releases the
/// lock. If there is no transaction, a separate request does.
#[derive(Debug, Clone)]
pub struct Locking {
    store: PaymentStore,
    wait: Duration,
}

/// A lock and the decision before it was taken, or a result.
enum LockResult<N> {
    Granted(Box<Lock>, Option<Decided<N>>),
    Known(CommandResult<N>),
}

/// A result, and whether its transaction has released the lock.
struct FinalResult<N> {
    result: CommandResult<N>,
    is_released: bool,
}

/// The result of the first transaction of a charge: call the gateway, or return this result.
enum FirstResult<N> {
    Charge(Box<StoredIntent>, Claim),
    Known(CommandResult<N>),
}

impl PaymentStore {
    /// The commands under locks. If another process holds the lock, they wait for up to `wait`.
    #[must_use]
    pub fn locking(&self, wait: Duration) -> Locking {
        Locking { store: self.clone(), wait }
    }
}

impl Locking {
    /// Like [`PaymentStore::change`], under the lock. The same transaction releases the lock.
    pub async fn change<N>(
        &self,
        id: PaymentIntentId,
        request: &RequestKey,
        admit: impl Fn(Option<StoredIntent>) -> Result<StoredIntent, N>,
        decide: impl Fn(DecisionInput<'_, StoredIntent>) -> Decision<N>,
        respond: impl Fn(&StoredIntent) -> String,
    ) -> Result<CommandResult<N>, Error> {
        let (store, admit, decide, respond) = (&self.store, &admit, &decide, &respond);
        let (lock, mut first) = match self.lock(id, request, admit, decide, respond).await? {
            LockResult::Known(result) => return Ok(result),
            LockResult::Granted(lock, first) => (lock, first),
        };
        let release = &lock.release_with();
        let ended = retry_on_conflict(CONFLICTS, Error::is_conflict, || {
            let first = first.take();
            async move {
                let decided = match first {
                    Some(decided) => decided,
                    None => store.decide(id, request, admit, decide, respond).await?,
                };
                let (result, is_change) = match decided {
                    Decided::Known(result) => (result, false),
                    Decided::Begun(found) => (store.record(request, respond(&found)).await?, false),
                    Decided::Change(found, change) => {
                        let before = ReadItem::Intent(&found);
                        (store.store_change(&change, before, request, Some(release), respond).await?, true)
                    }
                };
                let is_released = is_change && matches!(result, CommandResult::Now(_));
                Ok(FinalResult { result, is_released })
            }
        });
        release_unless_done(&lock, ended.await).await
    }

    /// Requests a charge and settles it. The first transaction stores what `decide` returns. Then `charge` calls the gateway, while
    /// heartbeats keep the lock. The second transaction stores the outcome, if there is one, and the response, and releases the lock.
    ///
    /// If this process ends between the two, a repetition of the request continues the charge, or the charge handler
    /// does, because the first transaction has published the request.
    pub async fn charge<N>(
        &self,
        id: PaymentIntentId,
        request: &RequestKey,
        admit: impl Fn(Option<StoredIntent>) -> Result<StoredIntent, N>,
        decide: impl Fn(DecisionInput<'_, StoredIntent>) -> Decision<N>,
        charge: impl AsyncFnOnce(&PaymentIntent) -> Option<Outcome>,
        respond: impl Fn(&StoredIntent) -> String,
    ) -> Result<CommandResult<N>, Error> {
        let (store, admit, decide, respond) = (&self.store, &admit, &decide, &respond);
        let (lock, mut first) = match self.lock(id, request, admit, decide, respond).await? {
            LockResult::Known(result) => return Ok(result),
            LockResult::Granted(lock, first) => (lock, first),
        };
        // The first transaction: the intent becomes CHARGE_REQUESTED, with the event, and the record becomes in progress.
        let check = &lock.check();
        let requested = retry_on_conflict(CONFLICTS, Error::is_conflict, || {
            let first = first.take();
            async move {
                let decided = match first {
                    Some(decided) => decided,
                    None => store.decide(id, request, admit, decide, respond).await?,
                };
                let mut work = UnitOfWork::new();
                let found = match decided {
                    Decided::Known(result) => return Ok(FirstResult::Known(result)),
                    Decided::Begun(found) => *found,
                    Decided::Change(found, change) => store.add(&mut work, &change, ReadItem::Intent(&found))?,
                };
                let (claim, record) = store.idempotency.claim_with(&request.key, &request.fingerprint)?;
                let result = store.commit_with_record(work, record, Some(check), &request.fingerprint).await?;
                Ok(result.map_or(FirstResult::Charge(Box::new(found), claim), FirstResult::Known))
            }
        });
        let ended = async {
            let (found, claim) = match requested.await? {
                FirstResult::Known(result) => return Ok(FinalResult { result, is_released: false }),
                FirstResult::Charge(found, claim) => (found, claim),
            };
            let outcome = lock.hold(charge(&found.intent)).await?;
            let mut work = UnitOfWork::new();
            let found = match outcome.and_then(|outcome| found.intent.settle(outcome, store.now()).ok()) {
                None => *found,
                Some(change) => store.add(&mut work, &change, ReadItem::Intent(&found))?,
            };
            let response = respond(&found);
            store.complete(&claim, &response, &lock.release_with(), work).await?;
            Ok(FinalResult { result: CommandResult::Now(response), is_released: true })
        };
        let ended = ended.await;
        release_unless_done(&lock, ended).await
    }

    /// Takes the lock, unless the request can be answered without it.
    ///
    /// The decision from before the lock stays valid if the intent has not changed since. The transaction checks that.
    async fn lock<N>(
        &self,
        id: PaymentIntentId,
        request: &RequestKey,
        admit: impl Fn(Option<StoredIntent>) -> Result<StoredIntent, N>,
        decide: impl Fn(DecisionInput<'_, StoredIntent>) -> Decision<N>,
        respond: impl Fn(&StoredIntent) -> String,
    ) -> Result<LockResult<N>, Error> {
        let decide = || self.store.decide(id, request, &admit, &decide, &respond);
        let first = match decide().await? {
            Decided::Known(result) => return Ok(LockResult::Known(result)),
            decided @ Decided::Change(..) => Some(decided),
            // The next transaction does not write the intent, so it would not notice if the charge was settled
            // meanwhile. Therefore the intent is read again under the lock.
            Decided::Begun(_) => None,
        };
        Ok(match self.store.locks.exclusive(PaymentStore::lock_key(id)).wait_for(self.wait).acquire().await? {
            Acquired::Granted(lock) => LockResult::Granted(Box::new(lock), first),
            // The holder of the lock may have changed the intent, or may be a repetition of this request.
            Acquired::Held(holder) => LockResult::Known(match decide().await? {
                Decided::Known(result) => result,
                Decided::Change(..) | Decided::Begun(_) => CommandResult::Held { until: holder.until },
            }),
        })
    }
}

/// Releases the lock if no transaction has. If that fails, the lease expires.
async fn release_unless_done<N>(lock: &Lock, ended: Result<FinalResult<N>, Error>) -> Result<CommandResult<N>, Error> {
    if !ended.as_ref().is_ok_and(|ended| ended.is_released)
        && let Err(error) = lock.release().await
    {
        let error: &dyn std::error::Error = &error;
        tracing::warn!(error, "lock not released; it will expire");
    }
    ended.map(|ended| ended.result)
}
