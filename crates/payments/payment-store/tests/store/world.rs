//! Tables, a store, and intents.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use dynamodb_locks::Lock;
use embedded_dynamodb::{Engine, Wire};
use lambda_boot::Clock;
use order_events::Timestamp;
use payment_intents::{Amount, Change, ChargeId, Decline, NewIntent, Outcome, PaymentIntent, PaymentIntentId};
use payment_store::{
    Guard, PaymentStore, ReadItem, Settled, StoredIntent, Tables, Uncommitted, UnitOfWork, Write, create_tables,
};

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) store: PaymentStore,
    clock: Arc<Mutex<u64>>,
}

/// 2026-11-17T12:00:00Z.
pub(crate) const NOW: u64 = 1_794_916_800_000;

pub(crate) fn tables() -> Tables {
    Tables::with_prefix("ftgo-payments")
}

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(i64::try_from(NOW).unwrap() + millis).unwrap()
}

pub(crate) fn amount(minor_units: i64) -> Amount {
    Amount::parse(minor_units).unwrap()
}

pub(crate) fn charged_as(charge_id: &str) -> Outcome {
    Outcome::Charged { charge_id: ChargeId::parse(charge_id).unwrap() }
}

pub(crate) fn declined() -> Outcome {
    Outcome::Declined(Decline::new(None, "card_declined", Some("Your card was declined.")))
}

pub(crate) fn new_intent(order_id: &str) -> Change {
    let new = NewIntent {
        id: PaymentIntentId::random(),
        order_id: order_id.parse().unwrap(),
        consumer_id: "1511300065921".parse().unwrap(),
        amount: amount(6_063),
        currency: "USD".parse().unwrap(),
    };
    PaymentIntent::create(new, at(0))
}

impl World {
    pub(crate) async fn create() -> Self {
        let engine = Engine::start();
        create_tables(&engine.client(), &tables()).await.unwrap();
        let clock = Arc::new(Mutex::new(NOW));
        let store = Self::store_with(engine.client(), &clock);
        Self { engine, store, clock }
    }

    fn store_with(client: Client, clock: &Arc<Mutex<u64>>) -> PaymentStore {
        let clock = Arc::clone(clock);
        let clock = Clock::from_fn(move || SystemTime::UNIX_EPOCH + Duration::from_millis(*clock.lock().unwrap()));
        PaymentStore::new(client, tables(), clock)
    }

    pub(crate) fn over(&self, wire: &Wire) -> PaymentStore {
        Self::store_with(self.engine.client_over(wire), &self.clock)
    }

    /// Sets the clock to this many milliseconds after (or before) its start.
    pub(crate) fn set_clock(&self, millis: i64) {
        *self.clock.lock().unwrap() = NOW.checked_add_signed(millis).unwrap();
    }

    pub(crate) async fn commit(
        &self,
        change: &Change,
        before: ReadItem<'_>,
    ) -> Result<StoredIntent, Uncommitted<Write>> {
        let mut work = UnitOfWork::new();
        let after = self.store.add(&mut work, change, before).unwrap();
        self.store.commit(work).await.map(|()| after)
    }

    pub(crate) async fn created(&self, order_id: &str) -> StoredIntent {
        let guard = self.store.find_guard(&order_id.parse().unwrap()).await.unwrap();
        self.commit(&new_intent(order_id), ReadItem::Guard(&guard)).await.unwrap()
    }

    pub(crate) async fn requested(&self, order_id: &str) -> StoredIntent {
        let created = self.created(order_id).await;
        let change = created.intent.request_charge(self.now()).unwrap();
        self.commit(&change, ReadItem::Intent(&created)).await.unwrap()
    }

    pub(crate) async fn settled(&self, order_id: &str, outcome: Outcome) -> StoredIntent {
        let requested = self.requested(order_id).await;
        match self.settle(&requested, outcome).await {
            Settled::Stored(found) => *found,
            other => panic!("{other:?}"),
        }
    }

    /// Settles under the intent's lock.
    pub(crate) async fn settle(&self, found: &StoredIntent, outcome: Outcome) -> Settled {
        let lock = self.lock(found.intent.id()).await;
        self.store.settle(found, outcome, &lock.release_with()).await.unwrap()
    }

    /// Takes the free lock of an intent.
    pub(crate) async fn lock(&self, id: PaymentIntentId) -> Lock {
        self.store.locks().exclusive(PaymentStore::lock_key(id)).acquire().await.unwrap().granted().unwrap()
    }

    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_millis(i64::try_from(*self.clock.lock().unwrap()).unwrap()).unwrap()
    }

    pub(crate) async fn find(&self, id: PaymentIntentId) -> Option<StoredIntent> {
        self.store.find(id).await.unwrap()
    }

    pub(crate) async fn scan(&self, table: &str) -> Vec<HashMap<String, AttributeValue>> {
        let found = self.engine.client().scan().table_name(table).consistent_read(true).send().await.unwrap();
        found.items.unwrap()
    }

    pub(crate) async fn event_ids(&self) -> Vec<String> {
        self.scan(&tables().outbox).await.iter().map(|row| row["eventId"].as_s().unwrap().clone()).collect()
    }
}

/// The first refused write.
#[track_caller]
pub(crate) fn refused<T: std::fmt::Debug>(committed: Result<T, Uncommitted<Write>>) -> Write {
    match committed {
        Err(Uncommitted::Refused(write, _)) => write,
        other => panic!("not refused: {other:?}"),
    }
}

/// The guard of an order that never had an intent.
pub(crate) fn no_guard() -> Guard {
    Guard::default()
}
