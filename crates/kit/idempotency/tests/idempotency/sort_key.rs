//! Tables with a sort key: the partition key has a fixed value, and the record's id is in the sort key.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{AttributeValue, KeySchemaElement, TransactWriteItem};
use embedded_dynamodb::{Disturbance, Wire};
use idempotency::{
    Error, Fingerprint, Found, IdempotencyStore, Recorded, Refusal, TimedStore, create_table_with_sort_key,
};

use crate::world::{
    IN_PROGRESS_FOR, RETENTION, START, World, expect_completed, expect_in_progress, expect_new, n, payload, s, timed,
};

const SHARED: &str = "shared";
const PARTITION: &str = "idempotency#charge";

struct Table {
    world: World,
    store: TimedStore,
}

impl Table {
    async fn create() -> Self {
        Self::create_over(&Wire::watched()).await
    }

    async fn create_over(wire: &Wire) -> Self {
        let world = World::start().await;
        create_table_with_sort_key(&world.engine.client(), SHARED, "sk").await.expect("the table is created");
        let clock = world.clock.clone();
        let store = IdempotencyStore::builder(world.engine.client_over(wire), SHARED)
            .retention(RETENTION)
            .clock(move || clock.now())
            .key_prefix("pay")
            .sort_key("sk", PARTITION);
        Self { store: timed(store), world }
    }

    async fn record(&self, id: &str) -> Option<HashMap<String, AttributeValue>> {
        let client = self.world.engine.client();
        let read = client.get_item().table_name(SHARED).key("id", s(PARTITION)).key("sk", s(id));
        read.consistent_read(true).send().await.expect("a read").item
    }

    async fn found(&self, key: &str) -> Found {
        let place = self.store.record_key(key);
        assert_eq!(place.table, SHARED);
        let read = self.world.engine.client().get_item().table_name(place.table).set_key(Some(place.key));
        let item = read.consistent_read(true).send().await.expect("a read").item;
        self.store.read(item.as_ref(), &payload()).expect("a record")
    }

    async fn commit(&self, item: TransactWriteItem) -> Result<(), Refusal> {
        let sent = self.world.engine.client().transact_write_items().transact_items(item).send().await;
        let Err(error) = sent else { return Ok(()) };
        let error = error.into_service_error();
        let reasons = match &error {
            aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError::TransactionCanceledException(
                refused,
            ) => refused.cancellation_reasons(),
            other => panic!("{other:?}"),
        };
        Err(self.store.refusal(&reasons[0], &payload()).expect("a refusal"))
    }
}

#[tokio::test]
async fn the_table_has_both_keys_and_expires_by_expiration() {
    let table = Table::create().await;
    let client = table.world.engine.client();
    let described = client.describe_table().table_name(SHARED).send().await.expect("described").table.expect("a table");
    let keys: Vec<_> = described.key_schema().iter().map(KeySchemaElement::attribute_name).collect();
    assert_eq!(keys, ["id", "sk"]);
    let ttl = client.describe_time_to_live().table_name(SHARED).send().await.expect("described");
    let ttl = ttl.time_to_live_description.expect("a time to live");
    assert_eq!(ttl.attribute_name(), Some("expiration"));
}

#[tokio::test]
async fn the_id_is_in_the_sort_key_before_and_after_completion() {
    let table = Table::create().await;
    let claim = expect_new(table.store.claim("key", &payload()).await);
    let mut record = table.record("pay#key").await.expect("a record");
    let owner = record.remove("owner").expect("an owner");
    let mut expected = vec![
        ("id", s(PARTITION)),
        ("sk", s("pay#key")),
        ("status", s("INPROGRESS")),
        ("expiration", n((START + RETENTION).as_secs().into())),
        ("validation", s("239f59ed55e737c77147cf55ad0c1b03")),
        ("in_progress_expiration", n((START + IN_PROGRESS_FOR).as_millis())),
    ];
    assert_eq!(record, expected.iter().cloned().map(|(k, v)| (k.to_owned(), v)).collect());

    table.store.complete(claim, Some("1".to_owned())).await.expect("completed");
    let mut record = table.record("pay#key").await.expect("a record");
    assert_eq!(record.remove("owner"), Some(owner));
    expected[2].1 = s("COMPLETED");
    expected[5] = ("data", s("1"));
    assert_eq!(record, expected.into_iter().map(|(k, v)| (k.to_owned(), v)).collect());
    assert_eq!(expect_completed(table.store.claim("key", &payload()).await).as_deref(), Some("1"));
}

#[tokio::test]
async fn the_whole_protocol_runs_in_one_partition() {
    for disturbance in [Disturbance::None, Disturbance::HideOldItem] {
        let table = Table::create_over(&Wire::disturbed(move |_| disturbance)).await;
        let store = &table.store;
        let first = expect_new(store.claim("one", &payload()).await);
        expect_in_progress(store.claim("one", &payload()).await);
        let mismatch = store.claim("one", &Fingerprint::of("another")).await;
        assert!(matches!(mismatch, Err(Error::PayloadMismatch)), "{mismatch:?}");
        let other = expect_new(store.claim("two", &payload()).await);
        store.release(other).await.expect("released");
        assert_eq!(table.record("pay#two").await, None);

        table.world.clock.advance(IN_PROGRESS_FOR * 2);
        let second = expect_new(store.claim("one", &payload()).await);
        let lost = store.complete(first, None).await;
        assert!(matches!(lost, Err(Error::ClaimLost)), "{lost:?}");
        store.complete(second, None).await.expect("completed");
        expect_completed(store.claim("one", &payload()).await);
    }
}

#[tokio::test]
async fn many_claims_are_completed_at_once() {
    let wire = Wire::watched();
    let table = Table::create_over(&wire).await;
    let mut claims = Vec::new();
    for key in 0..30 {
        claims.push(expect_new(table.store.claim(&key.to_string(), &payload()).await));
    }
    table.store.complete_all(claims).await.expect("completed");
    assert_eq!(wire.count("BatchWriteItem"), 2);
    for key in 0..30 {
        assert_eq!(expect_completed(table.store.claim(&key.to_string(), &payload()).await), None);
    }
}

#[tokio::test]
async fn a_record_is_written_in_the_callers_transaction() {
    let table = Table::create().await;
    let store = &table.store;
    assert_eq!(table.found("key").await, Found::New { taken_over: false });
    let data = Some("1".to_owned());
    let completed = || store.completed_with("key", &payload(), data.clone()).expect("an item");
    table.commit(completed()).await.expect("committed");
    assert_eq!(table.commit(completed()).await, Err(Refusal::Completed { data: data.clone() }));
    assert_eq!(table.found("key").await, Found::Completed { data: data.clone() });

    let (claim, claiming) = store.claim_with("two", &payload()).expect("an item");
    table.commit(claiming.clone()).await.expect("claimed");
    assert!(matches!(table.commit(claiming).await, Err(Refusal::InProgress { .. })));
    table.commit(store.complete_with(&claim, data.clone()).expect("an item")).await.expect("completed");
    assert_eq!(table.found("two").await, Found::Completed { data: data.clone() });

    assert_eq!(store.record("three", &payload(), data.clone()).await.expect("recorded"), Recorded::New);
    assert_eq!(store.record("three", &payload(), None).await.expect("a response"), Recorded::Completed { data });
}

#[tokio::test]
async fn two_partitions_do_not_see_each_other() {
    let table = Table::create().await;
    let _claim = expect_new(table.store.claim("key", &payload()).await);
    let client = table.world.engine.client();
    let other = timed(IdempotencyStore::builder(client, SHARED).key_prefix("pay").sort_key("sk", "idempotency#refund"));
    let _claim = expect_new(other.claim("key", &payload()).await);
}

#[tokio::test]
async fn a_sort_key_has_room_for_1024_bytes_with_its_prefix() {
    let table = Table::create().await;
    let longest = "k".repeat(1024 - "pay#".len());
    let _claim = expect_new(table.store.claim(&longest, &payload()).await);
    let error = table.store.claim(&format!("{longest}!"), &payload()).await.expect_err("too long");
    assert!(matches!(error, Error::Rejected(_)), "{error:?}");
}

#[tokio::test]
async fn a_record_of_a_table_without_the_sort_key_is_malformed() {
    let world = World::start().await;
    let _claim = expect_new(world.store().claim("key", &payload()).await);
    let store = world.builder(world.engine.client()).sort_key("sk", PARTITION).build();
    let item = world.record("key").await;
    let error = store.read(item.as_ref(), &payload()).expect_err("no sort key");
    assert!(matches!(error, Error::Malformed { attribute } if attribute == "sk"));
}
