//! Reads and writes payment intents.

use std::fmt;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::TransactWriteItem;
use dynamodb_locks::{Locks, RetryPolicy, retry_on_conflict};
use idempotency::{IdempotencyStore, TimedStore};
use lambda_boot::Clock;
use order_events::{AggregateType, Event, EventId, OrderId, Payload, Timestamp};
use outbox::{EventRow, Outbox, next_event_id};
use payment_intents::{Change, Outcome, PaymentIntent, PaymentIntentId, State};

use crate::attribute::{CHARGE_REQUESTED_AT, LAST_EVENT_ID, OPEN_CHARGE_SHARD, PK, number, required, text};
use crate::stored_intent::{self, StoredIntent, id_in, time};
use crate::table::OPEN_CHARGES;
use crate::unit_of_work::{Uncommitted, UnitOfWork};
use crate::{Error, Guard, Tables, guard};

/// The payment intents of one stack. Clones are cheap and share the connection.
#[derive(Clone)]
pub struct PaymentStore {
    pub(crate) client: Client,
    pub(crate) tables: Tables,
    pub(crate) outbox: Outbox,
    pub(crate) idempotency: TimedStore,
    pub(crate) locks: Locks,
    pub(crate) clock: Clock,
}

/// The result of an attempt to settle a charge.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Settled {
    /// The outcome is stored, its event will be published, and the lock is released.
    Stored(Box<StoredIntent>),
    /// The intent has changed since it was read: another worker has settled it. Read it again for the result.
    Superseded,
    /// This worker no longer holds the lock, so nothing was written. The new holder settles the charge.
    LockLost,
}

/// The writes of a transaction, and the meaning of a refusal of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// The intent: it exists already, or its version or state has changed since it was read.
    Intent,
    /// The event row: this version already has an event.
    Event,
    /// The order's guard: the order has another open intent, or is paid.
    Guard,
    /// The idempotency record: the key was used before.
    Record,
    /// The lock: another process holds it now.
    Lock,
}

/// The item that was read before a change. The transaction checks that it has not changed since.
#[derive(Debug, Clone, Copy)]
pub enum ReadItem<'a> {
    /// A new intent of an order with this guard.
    Guard(&'a Guard),
    /// A change of this intent.
    Intent(&'a StoredIntent),
}

/// One of the 16 partitions of the index of open charges: the first hexadecimal digit of the intent's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard(char);

/// All shards. Together they contain every open charge.
pub const SHARDS: [Shard; 16] = [
    Shard('0'),
    Shard('1'),
    Shard('2'),
    Shard('3'),
    Shard('4'),
    Shard('5'),
    Shard('6'),
    Shard('7'),
    Shard('8'),
    Shard('9'),
    Shard('a'),
    Shard('b'),
    Shard('c'),
    Shard('d'),
    Shard('e'),
    Shard('f'),
];

/// A charge that is requested and not settled, according to the index. The index lags a little: read the intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenCharge {
    /// The payment intent.
    pub id: PaymentIntentId,
    /// The time of the request, by the clock of the host that processed it.
    pub requested_at: Timestamp,
}

/// The retries of a transaction after conflicts.
pub(crate) const CONFLICTS: RetryPolicy =
    RetryPolicy { attempts: 6, first_pause: Duration::from_millis(20), max_pause: Duration::from_millis(500) };

/// How long the record of a free lock is kept. It may be deleted: the fence of the next lock is higher even without it.
const LOCK_RETENTION: Duration = Duration::from_hours(24);

/// How long a request's response is kept for its repetitions.
const RETENTION: Duration = Duration::from_hours(24);

/// How long a request may take where no deadline is given by [`PaymentStore::until`].
const REQUEST_TIME: Duration = Duration::from_mins(1);

impl PaymentStore {
    /// Creates a store on these tables. `clock` is used for timestamps, never to decide who may write.
    #[must_use]
    pub fn new(client: Client, tables: Tables, clock: Clock) -> Self {
        let idempotency = IdempotencyStore::builder(client.clone(), &tables.idempotency)
            .retention(RETENTION)
            .clock(clock.as_fn())
            .build()
            .for_at_most(REQUEST_TIME);
        let locks =
            Locks::builder(client.clone(), &tables.locks).retention(LOCK_RETENTION).clock(clock.as_fn()).build();
        Self { client, outbox: Outbox::new(&tables.outbox), idempotency, locks, tables, clock }
    }

    /// The same store for one invocation: locks and claims expire at `deadline`, when Lambda stops the function.
    #[must_use]
    pub fn until(&self, deadline: SystemTime) -> Self {
        let (idempotency, locks) = (self.idempotency.until(deadline), self.locks.until(deadline));
        Self { idempotency, locks, ..self.clone() }
    }

    /// The locks of the intents; see [`lock_key`](Self::lock_key).
    #[must_use]
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    /// The key of an intent's lock in the locks table.
    #[must_use]
    pub fn lock_key(id: PaymentIntentId) -> String {
        stored_intent::key(id)
    }

    /// Reads an intent: one consistent read.
    pub async fn find(&self, id: PaymentIntentId) -> Result<Option<StoredIntent>, Error> {
        let item = self.get(stored_intent::key(id)).await?;
        item.as_ref().map(StoredIntent::from_item).transpose()
    }

    /// Reads an order's guard: one consistent read.
    pub async fn find_guard(&self, order_id: &OrderId) -> Result<Guard, Error> {
        let item = self.get(guard::key(order_id)).await?;
        item.as_ref().map(Guard::from_item).transpose().map(Option::unwrap_or_default)
    }

    /// Stores the gateway's decision and its event in one transaction. `release` is the write that releases the lock
    /// (`lock.release_with()`). One request, if there are no transaction conflicts.
    ///
    /// Returns [`Settled::Superseded`] without a request if the intent is not in `CHARGE_REQUESTED`.
    pub async fn settle(
        &self,
        found: &StoredIntent,
        outcome: Outcome,
        release: &TransactWriteItem,
    ) -> Result<Settled, Error> {
        let Ok(change) = found.intent.settle(outcome, self.now()) else { return Ok(Settled::Superseded) };
        retry_on_conflict(CONFLICTS, Error::is_conflict, async || {
            let mut work = UnitOfWork::new();
            let after = self.add(&mut work, &change, ReadItem::Intent(found))?;
            work.add(release.clone(), Write::Lock);
            match self.commit(work).await {
                Ok(()) => Ok(Settled::Stored(Box::new(after))),
                Err(Uncommitted::Refused(Write::Lock, _)) => Ok(Settled::LockLost),
                Err(Uncommitted::Refused(..)) => Ok(Settled::Superseded),
                Err(Uncommitted::Conflict) => Err(Error::Contended),
                Err(Uncommitted::Failed(error)) => Err(error),
            }
        })
        .await
    }

    /// Commits all writes of a unit, or none: one request.
    pub async fn commit<R>(&self, work: UnitOfWork<R>) -> Result<(), Uncommitted<R>> {
        work.commit(&self.client).await
    }

    /// Adds the writes of a change: the intent, its event if there is one, and the order's guard if it changes.
    /// Returns the intent after the change.
    pub fn add(
        &self,
        work: &mut UnitOfWork<Write>,
        change: &Change,
        before: ReadItem<'_>,
    ) -> Result<StoredIntent, Error> {
        let Change { after, event, .. } = change;
        let (id, order_id, table) = (after.id(), after.order_id(), &self.tables.payments);
        let (found, last_event_id) = match before {
            ReadItem::Guard(guard) => (None, guard.last_event_id),
            ReadItem::Intent(found) => (Some(found), found.last_event_id),
        };
        let event_id = event.as_ref().map(|_| self.next_event_id(last_event_id)).transpose()?;
        let after = StoredIntent { intent: after.clone(), last_event_id: event_id.or(last_event_id) };
        work.add(after.write(found, table)?, Write::Intent);
        if let (Some(event_id), Some(payload)) = (event_id, event) {
            work.add(self.outbox.put(&self.row(&after.intent, event_id, payload.clone())?)?, Write::Event);
        }
        match (before, change.after.state(), event_id) {
            (ReadItem::Guard(guard), _, _) => work.add(guard.open(order_id, id, table)?, Write::Guard),
            (_, State::Charged { .. }, Some(event_id)) => {
                work.add(Guard::close(order_id, Some(id), event_id, table)?, Write::Guard);
            }
            (_, State::ChargeFailed { .. }, Some(event_id)) => {
                work.add(Guard::close(order_id, None, event_id, table)?, Write::Guard);
            }
            _ => {}
        }
        Ok(after)
    }

    /// The open charges of a shard that were requested before this time, oldest first, at most `limit`. `after` is the last charge
    /// of the previous page. One request. A page with fewer than `limit` charges is the last one.
    pub async fn open_charges(
        &self,
        shard: Shard,
        requested_before: Timestamp,
        after: Option<OpenCharge>,
        limit: u16,
    ) -> Result<Vec<OpenCharge>, Error> {
        let query = self
            .client
            .query()
            .table_name(&self.tables.payments)
            .index_name(OPEN_CHARGES)
            .key_condition_expression("#shard = :shard AND #at < :before")
            .expression_attribute_names("#shard", OPEN_CHARGE_SHARD)
            .expression_attribute_names("#at", CHARGE_REQUESTED_AT)
            .expression_attribute_values(":shard", text(shard))
            .expression_attribute_values(":before", number(requested_before.as_millis()))
            .limit(limit.into());
        let start = after.map(|OpenCharge { id, requested_at }| {
            [
                (PK.to_owned(), text(stored_intent::key(id))),
                (OPEN_CHARGE_SHARD.to_owned(), text(shard)),
                (CHARGE_REQUESTED_AT.to_owned(), number(requested_at.as_millis())),
            ]
            .into()
        });
        let found = query.set_exclusive_start_key(start).send().await?;
        let read = |item| {
            let id = id_in(&required::<String>(item, PK)?)?;
            Ok(OpenCharge { id, requested_at: time(item, CHARGE_REQUESTED_AT)? })
        };
        found.items().iter().map(read).collect()
    }

    /// Checks that the payments table can be read.
    pub async fn ping(&self) -> Result<(), Error> {
        // No item has this key.
        self.get(" ".to_owned()).await.map(drop)
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from(self.clock.now())
    }

    fn next_event_id(&self, last: Option<EventId>) -> Result<EventId, Error> {
        let last = last.map(|last| last.to_string());
        let id = next_event_id(last.as_deref(), self.clock.now())?;
        id.parse().map_err(|_| Error::Corrupt { attribute: LAST_EVENT_ID })
    }

    fn row(&self, intent: &PaymentIntent, event_id: EventId, payload: Payload) -> Result<EventRow, Error> {
        let aggregate_id = intent.id().to_string();
        let event = Event {
            id: event_id,
            aggregate_id: aggregate_id.parse().map_err(|_| Error::Corrupt { attribute: PK })?,
            payload,
        };
        Ok(EventRow {
            aggregate_type: AggregateType::PaymentIntent.name().to_owned(),
            aggregate_id,
            version: intent.version(),
            event_id: event_id.to_string(),
            event_type: event.event_type().name().to_owned(),
            message: event.to_message_dated(self.now()).map_err(|error| Error::Message(error.into()))?,
            at: self.clock.now(),
        })
    }

    async fn get(&self, key: String) -> Result<Option<crate::attribute::Item>, Error> {
        let request = self.client.get_item().table_name(&self.tables.payments).key(PK, text(key));
        Ok(request.consistent_read(true).send().await?.item)
    }
}

impl Shard {
    /// The shard of an intent.
    #[must_use]
    pub fn of(id: PaymentIntentId) -> Self {
        // An id is a UUID, so it has a first character.
        Self(id.to_string().chars().next().unwrap_or('0'))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for PaymentStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PaymentStore").field("tables", &self.tables).finish_non_exhaustive()
    }
}
