//! The table, the records' retention, and a look at who holds a lock.

use std::time::Duration;

use dynamodb_locks::{Attributes, Locks, Release, create_table};

use crate::world::{LEASE, LOCKS, START, World, granted, n, s};

#[tokio::test]
async fn the_table_may_exist_already_and_has_a_time_to_live() {
    let world = World::start().await;
    let client = world.engine.client();
    create_table(&client, LOCKS).await.expect("kept");
    let described = client.describe_time_to_live().table_name(LOCKS).send().await.expect("described");
    let description = described.time_to_live_description.expect("a description");
    assert_eq!(description.attribute_name.as_deref(), Some("purgeAt"));
}

#[tokio::test]
async fn a_record_with_a_retention_outlives_its_lease_by_it() {
    let world = World::start().await;
    let retention = Duration::from_hours(24);
    let locks = world.builder(world.engine.client()).retention(retention).build();
    let lock = granted(locks.exclusive("key").acquire().await);
    let purge_at = |lease: Duration| n((START + lease + retention).as_secs() + 1);
    assert_eq!(world.record("key").await.expect("a record")["purgeAt"], purge_at(LEASE));
    let reader = granted(locks.shared("read").acquire().await);
    assert_eq!(world.record("read").await.expect("a record")["purgeAt"], purge_at(LEASE));

    world.clock.advance(LEASE / 2);
    lock.heartbeat().await.expect("renewed");
    reader.heartbeat().await.expect("renewed");
    assert_eq!(world.record("key").await.expect("a record")["purgeAt"], purge_at(LEASE + LEASE / 2));
    assert_eq!(world.record("read").await.expect("a record")["purgeAt"], purge_at(LEASE + LEASE / 2));
    world.commit(lock.release_with(), "1").await.expect("committed");
    assert_eq!(reader.release().await.expect("a response"), Release::Released);
    assert_eq!(world.record("key").await.expect("a record")["purgeAt"], purge_at(LEASE / 2));
}

#[tokio::test]
async fn a_record_with_a_retention_outlives_the_longest_of_its_readers_leases() {
    let world = World::start().await;
    let locks = |lease| world.builder(world.engine.client()).retention(LEASE).lease(lease).build();
    let long = granted(locks(LEASE * 10).shared("key").acquire().await);
    let short = granted(locks(LEASE).shared("key").acquire().await);
    let purge_at = n((START + LEASE * 10 + LEASE).as_secs() + 1);
    assert_eq!(world.record("key").await.expect("a record")["purgeAt"], purge_at);
    short.heartbeat().await.expect("renewed");
    assert_eq!(world.record("key").await.expect("a record")["purgeAt"], purge_at);
    assert_eq!(short.release().await.expect("a response"), Release::Released);
    assert_eq!(world.record("key").await.expect("a record")["purgeAt"], purge_at);
    world.commit(long.check(), "1").await.expect("committed");
}

#[tokio::test]
async fn without_a_retention_a_record_stays() {
    let world = World::start().await;
    let lock = granted(world.locks().exclusive("key").acquire().await);
    assert!(!world.record("key").await.expect("a record").contains_key("purgeAt"));
    drop(lock);
}

#[tokio::test]
async fn by_default_a_lock_holds_for_ten_seconds() {
    let world = World::start().await;
    let clock = world.clock.clone();
    let locks = Locks::builder(world.engine.client(), LOCKS).clock(move || clock.now()).build();
    let _lock = granted(locks.exclusive("key").acquire().await);
    assert_eq!(world.record("key").await.expect("a record")["leaseMs"], n(10_000));
}

#[tokio::test]
async fn who_holds_a_lock_can_be_looked_up() {
    let world = World::start().await;
    let locks = world.builder(world.engine.client()).name("worker-7").build();
    assert!(locks.holder("key").await.expect("a response").is_none());
    let lock = granted(locks.exclusive("key").acquire().await);
    let holder = locks.holder("key").await.expect("a response").expect("a holder");
    assert_eq!(holder.owner.as_deref(), Some(lock.owner()));
    assert_eq!(lock.release().await.expect("a response"), Release::Released);
    assert!(locks.holder("key").await.expect("a response").is_none());
    let _reader = granted(locks.shared("key").acquire().await);
    let holder = locks.holder("key").await.expect("a response").expect("a holder");
    assert_eq!((holder.owner, holder.readers), (None, 1));
}

#[tokio::test]
async fn an_attribute_of_another_type_is_reported_by_its_name() {
    let world = World::start().await;
    world.put(LOCKS, [("id", s("key")), ("owner", n(1))]).await;
    let malformed = world.locks().exclusive("key").acquire().await;
    let error = malformed.expect_err("malformed");
    assert!(error.to_string().contains("`owner`"), "{error}");
    assert_eq!(error.code(), "lock_malformed");
}

#[tokio::test]
async fn all_attribute_names_can_be_chosen() {
    let world = World::start().await;
    let attributes = Attributes { key: "id".to_owned(), ..Attributes::prefixed("mutex") };
    let locks = world.builder(world.engine.client()).attributes(attributes).build();
    let lock = granted(locks.exclusive("key").acquire().await);
    let record = world.record("key").await.expect("a record");
    assert_eq!(record["mutexOwner"], s(lock.owner()));
    assert!(!record.contains_key("owner"));
}
