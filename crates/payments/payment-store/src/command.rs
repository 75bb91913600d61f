//! Commands with an idempotency key: one read, one decision, one transaction.

use std::time::SystemTime;

use aws_sdk_dynamodb::types::{KeysAndAttributes, TransactWriteItem};
use dynamodb_locks::retry_on_conflict;
use idempotency::{Claim, Fingerprint, Refusal};
use order_events::{OrderId, Timestamp};
use payment_intents::{Change, PaymentIntentId, StateName};

use crate::attribute::{Item, PK, text};
use crate::store::{CONFLICTS, ReadItem};
use crate::unit_of_work::{Uncommitted, UnitOfWork};
use crate::{Error, Guard, PaymentStore, StoredIntent, Write, guard, stored_intent};

/// Identifies a request and its repetitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    /// A hash of caller, route and the client's key.
    pub key: String,
    /// The fingerprint of the parsed command. The same key with another command is refused.
    pub fingerprint: Fingerprint,
}

/// The input of a decision.
#[derive(Debug, Clone, Copy)]
pub struct DecisionInput<'a, T> {
    /// The item that was read. The transaction checks that it has not changed since.
    pub found: &'a T,
    /// The time of the decision, by the clock of this host.
    pub now: Timestamp,
}

/// What a command decides.
#[derive(Debug)]
pub enum Decision<N> {
    /// Change the intent and record the response, in one transaction.
    Change(Box<Change>),
    /// Change nothing and record this response: repetitions get the same response.
    Record(String),
    /// Change nothing and record nothing: a repetition is decided again.
    Reply(N),
}

/// The result of a command: a response, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum CommandResult<N> {
    /// The command was decided now, and this response was recorded.
    Now(String),
    /// The same request was decided before. This response was recorded then.
    Replayed(String),
    /// The command was decided now, and nothing was recorded.
    Unrecorded(N),
    /// Another process is processing the same request.
    InProgress {
        /// When this request may be retried, if known.
        until: Option<SystemTime>,
    },
    /// The key was already used for another command.
    KeyReused,
    /// Another request or the charge handler holds the intent's lock, and did not release it in time. Nothing was done.
    Held {
        /// The end of the lease by its holder's clock. The holder may renew it.
        until: Option<SystemTime>,
    },
}

/// The content of a request's record: a result, or none yet.
enum Recorded<N> {
    Known(CommandResult<N>),
    None { is_begun: bool },
}

/// An intent to decide about, or a result without a decision.
enum Read<N> {
    Known(CommandResult<N>),
    Intent { found: Box<StoredIntent>, is_begun: bool },
}

/// The next step for a request.
pub(crate) enum Decided<N> {
    /// Return this result.
    Known(CommandResult<N>),
    /// Make this change of the intent that was read.
    Change(Box<StoredIntent>, Box<Change>),
    /// Continue: the same request has requested the charge of this intent, and its process ended before it had the result.
    Begun(Box<StoredIntent>),
}

impl PaymentStore {
    /// Creates an intent of an order: `decide` gets the order's guard, `respond` the stored intent. One read and one
    /// transaction. If other requests interfere, both are repeated, a few times.
    pub async fn create<N>(
        &self,
        order_id: &OrderId,
        request: &RequestKey,
        decide: impl Fn(DecisionInput<'_, Guard>) -> Decision<N>,
        respond: impl Fn(&StoredIntent) -> String,
    ) -> Result<CommandResult<N>, Error> {
        retry_on_conflict(CONFLICTS, Error::is_conflict, async || {
            let (recorded, item) = self.read_with_record(guard::key(order_id), request).await?;
            if let Recorded::Known(result) = recorded {
                return Ok(result);
            }
            let guard = item.as_ref().map(Guard::from_item).transpose()?.unwrap_or_default();
            match decide(DecisionInput { found: &guard, now: self.now() }) {
                Decision::Reply(reply) => Ok(CommandResult::Unrecorded(reply)),
                Decision::Record(response) => self.record(request, response).await,
                Decision::Change(change) => {
                    self.store_change(&change, ReadItem::Guard(&guard), request, None, &respond).await
                }
            }
        })
        .await
    }

    /// Changes an intent: `admit` authorizes the caller for the intent before the key is compared, `decide` decides, `respond`
    /// gets the stored intent. One read and one transaction. If other requests interfere, both are repeated, a few times.
    pub async fn change<N>(
        &self,
        id: PaymentIntentId,
        request: &RequestKey,
        admit: impl Fn(Option<StoredIntent>) -> Result<StoredIntent, N>,
        decide: impl Fn(DecisionInput<'_, StoredIntent>) -> Decision<N>,
        respond: impl Fn(&StoredIntent) -> String,
    ) -> Result<CommandResult<N>, Error> {
        retry_on_conflict(CONFLICTS, Error::is_conflict, async || {
            // Boxed to keep the future small.
            match Box::pin(self.decide(id, request, &admit, &decide, &respond)).await? {
                Decided::Known(result) => Ok(result),
                Decided::Begun(found) => self.record(request, respond(&found)).await,
                Decided::Change(found, change) => {
                    self.store_change(&change, ReadItem::Intent(&found), request, None, &respond).await
                }
            }
        })
        .await
    }

    /// Reads an intent and decides. Also records a response that changes nothing, because that needs no lock.
    pub(crate) async fn decide<N>(
        &self,
        id: PaymentIntentId,
        request: &RequestKey,
        admit: impl Fn(Option<StoredIntent>) -> Result<StoredIntent, N>,
        decide: impl Fn(DecisionInput<'_, StoredIntent>) -> Decision<N>,
        respond: impl Fn(&StoredIntent) -> String,
    ) -> Result<Decided<N>, Error> {
        let (found, is_begun) = match self.read_intent(id, request, &admit).await? {
            Read::Known(result) => return Ok(Decided::Known(result)),
            Read::Intent { found, is_begun } => (found, is_begun),
        };
        // Only the request of a charge writes a claim: the request that was begun is this intent's charge.
        let decision = match found.intent.state().name() {
            StateName::ChargeRequested if is_begun => return Ok(Decided::Begun(found)),
            state if is_begun && state.is_final() => Decision::Record(respond(&found)),
            _ => decide(DecisionInput { found: &found, now: self.now() }),
        };
        Ok(match decision {
            Decision::Change(change) => Decided::Change(found, change),
            Decision::Record(response) => Decided::Known(self.record(request, response).await?),
            // BatchGetItem is not a snapshot: the intent may have been read after the transaction of a repetition, and the record
            // before it. Therefore the record is read once more.
            Decision::Reply(reply) => Decided::Known(match self.read_intent(id, request, &admit).await? {
                Read::Known(result) => result,
                Read::Intent { .. } => CommandResult::Unrecorded(reply),
            }),
        })
    }

    /// Records a response that changes nothing.
    pub(crate) async fn record<N>(&self, request: &RequestKey, response: String) -> Result<CommandResult<N>, Error> {
        use idempotency::Error::PayloadMismatch;
        use idempotency::Recorded::{Completed, InProgress, New};
        let recorded = self.idempotency.record(&request.key, &request.fingerprint, Some(response.clone())).await;
        Ok(match recorded {
            Ok(New) => CommandResult::Now(response),
            Ok(Completed { data }) => CommandResult::Replayed(data.ok_or(NO_RESPONSE)?),
            Ok(InProgress { until }) => CommandResult::InProgress { until },
            Err(PayloadMismatch) => CommandResult::KeyReused,
            Err(error) => return Err(error.into()),
        })
    }

    /// Stores a change, the record of its response, and a write that checks or releases a lock, in one transaction. The change has
    /// taken effect if the result is [`CommandResult::Now`].
    pub(crate) async fn store_change<N>(
        &self,
        change: &Change,
        before: ReadItem<'_>,
        request: &RequestKey,
        lock: Option<&TransactWriteItem>,
        respond: impl Fn(&StoredIntent) -> String,
    ) -> Result<CommandResult<N>, Error> {
        let RequestKey { key, fingerprint } = request;
        let mut work = UnitOfWork::new();
        let after = self.add(&mut work, change, before)?;
        let response = respond(&after);
        let record = self.idempotency.completed_with(key, fingerprint, Some(response.clone()))?;
        let result = self.commit_with_record(work, record, lock, fingerprint).await?;
        Ok(result.unwrap_or(CommandResult::Now(response)))
    }

    /// Commits the record and the other writes. Returns `None` if they took effect, and the recorded response if the record exists
    /// now. Any other refusal is [`Error::Contended`]: read and decide again.
    pub(crate) async fn commit_with_record<N>(
        &self,
        work: UnitOfWork<Write>,
        record: TransactWriteItem,
        lock: Option<&TransactWriteItem>,
        fingerprint: &Fingerprint,
    ) -> Result<Option<CommandResult<N>>, Error> {
        // The record comes first, because the first refusal counts: a request that was already processed gets its recorded response.
        let mut all = UnitOfWork::new();
        all.add(record, Write::Record);
        for (write, kind) in work.into_writes() {
            all.add(write, kind);
        }
        if let Some(lock) = lock {
            all.add(lock.clone(), Write::Lock);
        }
        match self.commit(all).await {
            Ok(()) => Ok(None),
            Err(Uncommitted::Refused(Write::Record, reason)) => match self.idempotency.refusal(&reason, fingerprint) {
                Ok(Refusal::Completed { data }) => Ok(Some(CommandResult::Replayed(data.ok_or(NO_RESPONSE)?))),
                Ok(Refusal::InProgress { until }) => Ok(Some(CommandResult::InProgress { until })),
                Ok(Refusal::New) => Err(Error::Contended),
                Err(idempotency::Error::PayloadMismatch) => Ok(Some(CommandResult::KeyReused)),
                Err(error) => Err(error.into()),
            },
            Err(Uncommitted::Refused(Write::Lock, _)) => Err(dynamodb_locks::Error::Lost.into()),
            Err(Uncommitted::Refused(Write::Intent | Write::Event | Write::Guard, _) | Uncommitted::Conflict) => {
                Err(Error::Contended)
            }
            Err(Uncommitted::Failed(error)) => Err(error),
        }
    }

    /// Completes a claim, with the other writes and the release of the lock, in one transaction. Transaction conflicts are retried.
    pub(crate) async fn complete(
        &self,
        claim: &Claim,
        response: &str,
        release: &TransactWriteItem,
        mut work: UnitOfWork<Write>,
    ) -> Result<(), Error> {
        work.add(self.idempotency.complete_with(claim, Some(response.to_owned()))?, Write::Record);
        work.add(release.clone(), Write::Lock);
        retry_on_conflict(CONFLICTS, Error::is_conflict, async || {
            match self.commit(work.clone()).await {
                Ok(()) => Ok(()),
                Err(Uncommitted::Conflict) => Err(Error::Contended),
                // The new holder of the lock settles the charge, and a repetition of the request will find the result.
                Err(Uncommitted::Refused(..)) => Err(dynamodb_locks::Error::Lost.into()),
                Err(Uncommitted::Failed(error)) => Err(error),
            }
        })
        .await
    }

    /// Reads an intent and the request's record, in one request. Authorizes the caller before it looks at the record.
    async fn read_intent<N>(
        &self,
        id: PaymentIntentId,
        request: &RequestKey,
        admit: impl Fn(Option<StoredIntent>) -> Result<StoredIntent, N>,
    ) -> Result<Read<N>, Error> {
        let (recorded, item) = self.read_with_record(stored_intent::key(id), request).await?;
        Ok(match (admit(item.as_ref().map(StoredIntent::from_item).transpose()?), recorded) {
            (Err(reply), _) => Read::Known(CommandResult::Unrecorded(reply)),
            (Ok(_), Recorded::Known(result)) => Read::Known(result),
            (Ok(found), Recorded::None { is_begun }) => Read::Intent { found: Box::new(found), is_begun },
        })
    }

    /// Reads an item of the payments table and the request's record, consistently, in one request.
    async fn read_with_record<N>(
        &self,
        key: String,
        request: &RequestKey,
    ) -> Result<(Recorded<N>, Option<Item>), Error> {
        let record = self.idempotency.record_key(&request.key);
        let keys = |key| KeysAndAttributes::builder().keys(key).consistent_read(true).build();
        let mut wanted = std::collections::HashMap::from([
            (self.tables.payments.clone(), keys(Item::from([(PK.to_owned(), text(key))]))?),
            (record.table.clone(), keys(record.key)?),
        ]);
        let mut items = std::collections::HashMap::new();
        for tries in 1..=CONFLICTS.attempts {
            let response = self.client.batch_get_item().set_request_items(Some(wanted)).send().await?;
            items.extend(response.responses.unwrap_or_default().into_iter().filter(|(_, items)| !items.is_empty()));
            wanted = response.unprocessed_keys.unwrap_or_default();
            if wanted.is_empty() {
                let mut one = |table: &String| items.remove(table).and_then(|mut items: Vec<Item>| items.pop());
                let (item, record) = (one(&self.tables.payments), one(&record.table));
                return Ok((read(self.idempotency.read(record.as_ref(), &request.fingerprint))?, item));
            }
            tokio::time::sleep(CONFLICTS.pause_after(tries)).await;
        }
        Err(Error::Throttled("DynamoDB returned unprocessed keys of a BatchGetItem after several attempts".into()))
    }
}

fn read<N>(found: Result<idempotency::Found, idempotency::Error>) -> Result<Recorded<N>, Error> {
    use idempotency::Error::PayloadMismatch;
    use idempotency::Found::{Completed, InProgress, New};
    Ok(match found {
        Ok(New { taken_over }) => Recorded::None { is_begun: taken_over },
        Ok(Completed { data }) => Recorded::Known(CommandResult::Replayed(data.ok_or(NO_RESPONSE)?)),
        Ok(InProgress { until }) => Recorded::Known(CommandResult::InProgress { until }),
        Err(PayloadMismatch) => Recorded::Known(CommandResult::KeyReused),
        Err(error) => return Err(error.into()),
    })
}

/// Our records always contain a response.
const NO_RESPONSE: Error = Error::Corrupt { attribute: "data" };
