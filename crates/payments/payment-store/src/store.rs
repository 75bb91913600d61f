//! Intents out of the table and into it.

use std::fmt;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::TransactWriteItem;
use dynamodb_locks::{Locks, RetryPolicy, retry_on_conflict};
use idempotency::IdempotencyStore;
use lambda_boot::Clock;
use order_events::{AggregateType, Event, EventId, OrderId, Payload, Timestamp};
use outbox::{EventRow, Outbox, next_event_id};
use payment_intents::{Change, Outcome, PaymentIntent, PaymentIntentId, State};

use crate::attribute::{CHARGE_REQUESTED_AT, LAST_EVENT_ID, OPEN_CHARGE_SHARD, PK, number, required, text};
use crate::found::{self, Found, id_in, time};
use crate::table::OPEN_CHARGES;
use crate::unit_of_work::{Uncommitted, UnitOfWork};
use crate::{Error, Guard, Tables, guard};

/// The payment intents of one stack. Clones are cheap and share the connection.
#[derive(Clone)]
pub struct PaymentStore {
    pub(crate) client: Client,
    pub(crate) tables: Tables,
    pub(crate) outbox: Outbox,
    pub(crate) idempotency: IdempotencyStore,
    pub(crate) locks: Locks,
    pub(crate) clock: Clock,
}

/// What became of an attempt to settle.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Settled {
    /// The outcome is stored, its event will be published, and the lock is free.
    Stored(Box<Found>),
    /// The intent is no longer as it was read: another worker has settled it. Read it again to see how.
    Superseded,
    /// The lock is no longer ours, so that nothing was written: whoever holds it settles the charge.
    LockLost,
}

/// The writes of a transaction, to tell which one was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// The intent's: it exists already, or its version or state is no longer what the change was decided on.
    Intent,
    /// The event row's: the version has an event already.
    Event,
    /// The order guard's: the order has another open intent, or is paid for.
    Guard,
    /// The idempotency record's: the key was used before.
    Record,
    /// The lock's: it is no longer ours.
    Lock,
}

/// What a change was decided on.
#[derive(Debug, Clone, Copy)]
pub enum Before<'a> {
    /// A new intent of an order with this guard.
    Order(&'a Guard),
    /// A change of this intent.
    Intent(&'a Found),
}

/// One of the 16 partitions of the index of open charges: the first hexadecimal digit of the intent's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard(char);

/// All shards, to go through every open charge.
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

/// A charge that was requested and, as far as the index knows, is not settled. The index lags a little: read the intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenCharge {
    /// The intent whose charge it is.
    pub id: PaymentIntentId,
    /// The time of the request, by the clock of the host that took it.
    pub requested_at: Timestamp,
}

/// How often a transaction is tried that another one gets in the way of.
pub(crate) const CONFLICTS: RetryPolicy =
    RetryPolicy { attempts: 6, first_pause: Duration::from_millis(20), max_pause: Duration::from_millis(500) };

/// How long the record of a free lock is kept. An intent is locked for a few minutes of its life, and a fence also rises over a record that was
/// deleted.
const LOCK_RETENTION: Duration = Duration::from_hours(24);

/// How long a request's answer is kept for its repetitions.
const RETENTION: Duration = Duration::from_hours(24);

impl PaymentStore {
    /// The store in these tables. `clock` is for the times that are written, never for deciding who may write.
    #[must_use]
    pub fn new(client: Client, tables: Tables, clock: Clock) -> Self {
        let idempotency = IdempotencyStore::builder(client.clone(), &tables.idempotency)
            .retention(RETENTION)
            .clock(clock.as_fn())
            .build();
        let locks =
            Locks::builder(client.clone(), &tables.locks).retention(LOCK_RETENTION).clock(clock.as_fn()).build();
        Self { client, outbox: Outbox::new(&tables.outbox), idempotency, locks, tables, clock }
    }

    /// The same store for one invocation: no lock and no claim of a key outlives `deadline`, when Lambda ends the work.
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
        found::key(id)
    }

    /// Reads an intent, consistently: one request.
    pub async fn find(&self, id: PaymentIntentId) -> Result<Option<Found>, Error> {
        let item = self.get(found::key(id)).await?;
        item.as_ref().map(Found::from_item).transpose()
    }

    /// Reads an order's guard, consistently: one request.
    pub async fn find_guard(&self, order_id: &OrderId) -> Result<Guard, Error> {
        let item = self.get(guard::key(order_id)).await?;
        item.as_ref().map(Guard::from_item).transpose().map(Option::unwrap_or_default)
    }

    /// Stores what the gateway decided, with its event, in one transaction; `release` is the write that releases the lock under
    /// which it was done (`lock.release_with()`). One request, unless others get in the way.
    ///
    /// An intent that is not in `CHARGE_REQUESTED` is [`Settled::Superseded`] without a request.
    pub async fn settle(&self, found: &Found, outcome: Outcome, release: &TransactWriteItem) -> Result<Settled, Error> {
        let Ok(change) = found.intent.settle(outcome, self.now()) else { return Ok(Settled::Superseded) };
        retry_on_conflict(CONFLICTS, Error::is_conflict, async || {
            let mut work = UnitOfWork::new();
            let after = self.add(&mut work, &change, Before::Intent(found))?;
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

    /// Makes the writes of a unit take effect, or none of them: one request.
    pub async fn commit<R>(&self, work: UnitOfWork<R>) -> Result<(), Uncommitted<R>> {
        work.commit(&self.client).await
    }

    /// Adds what makes a change take effect: the intent, its event if there is one, and the order's guard where it changes.
    /// Returns the intent as it will be.
    pub fn add(&self, work: &mut UnitOfWork<Write>, change: &Change, before: Before<'_>) -> Result<Found, Error> {
        let Change { after, event, .. } = change;
        let (id, order_id, table) = (after.id(), after.order_id(), &self.tables.payments);
        let (found, last_event_id) = match before {
            Before::Order(guard) => (None, guard.last_event_id),
            Before::Intent(found) => (Some(found), found.last_event_id),
        };
        let event_id = event.as_ref().map(|_| self.next_event_id(last_event_id)).transpose()?;
        let after = Found { intent: after.clone(), last_event_id: event_id.or(last_event_id) };
        work.add(after.write(found, table)?, Write::Intent);
        if let (Some(event_id), Some(payload)) = (event_id, event) {
            work.add(self.outbox.put(&self.row(&after.intent, event_id, payload.clone())?)?, Write::Event);
        }
        match (before, change.after.state(), event_id) {
            (Before::Order(guard), _, _) => work.add(guard.open(order_id, id, table)?, Write::Guard),
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

    /// The open charges of a shard that were requested before a moment, oldest first, at most `limit` of them; `after` is the
    /// last one of the page before. One request. A page that is not full is the last one.
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
                (PK.to_owned(), text(found::key(id))),
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

    /// Checks that the payments table can be read, at the least cost.
    pub async fn ping(&self) -> Result<(), Error> {
        // No item has this key.
        self.get(" ".to_owned()).await.map(drop)
    }

    /// The time of this host.
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
        // An id is a UUID's text, so that it has a first character.
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
