//! The lock among the attributes of the item that it protects.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use dynamodb_locks::{Attributes, Clauses, Error, Key, Lock, Locks, LocksBuilder, Release, Takeover};
use embedded_dynamodb::{Disturbance, Wire};

use crate::world::{A_MILLISECOND, ITEMS, LEASE, SKEW, SORTED, World, granted, held, in_time, n, s};

fn in_place(world: &World, table: &str) -> LocksBuilder {
    let clock = world.clock.clone();
    Locks::builder(world.engine.client(), table)
        .in_place()
        .lease(LEASE)
        .takeover(Takeover::ByClock { max_skew: SKEW })
        .clock(move || clock.now())
}

fn order() -> Key {
    Key::new("pk", "order")
}

#[tokio::test]
async fn a_lock_never_creates_an_item_and_no_such_item_is_another_outcome_than_held() {
    for hidden in [false, true] {
        let world = World::start().await;
        let wire = Wire::disturbed(move |_| if hidden { Disturbance::HideOldItem } else { Disturbance::None });
        let locks = Locks::builder(world.engine.client_over(&wire), ITEMS).in_place().build();
        for request in [locks.exclusive(order()), locks.shared(order())] {
            let missing = request.acquire().await;
            assert!(matches!(&missing, Err(error @ Error::NoSuchItem) if !error.is_retryable()), "{missing:?}");
            assert_eq!(world.item(ITEMS, [("pk", s("order"))]).await, None);
        }
        let missing = locks.all().exclusive(order()).shared(Key::new("pk", "other")).acquire().await;
        assert!(matches!(missing, Err(Error::NoSuchItem)), "{missing:?}");

        world.put(ITEMS, [("pk", s("order"))]).await;
        let lock = granted(locks.exclusive(order()).acquire().await);
        let holder = held(locks.exclusive(order()).acquire().await);
        assert_eq!(holder.owner.as_deref(), Some(lock.owner()), "hidden: {hidden}");
    }
}

#[tokio::test]
async fn neither_release_nor_heartbeat_creates_an_item_that_was_deleted() {
    let world = World::start().await;
    world.put(ITEMS, [("pk", s("order"))]).await;
    let locks = in_place(&world, ITEMS).build();
    let lock = granted(locks.exclusive(order()).acquire().await);
    let reader_key = Key::new("pk", "read");
    world.put(ITEMS, [("pk", s("read"))]).await;
    let reader = granted(locks.shared(&reader_key).acquire().await);
    for key in ["order", "read"] {
        let client = world.engine.client();
        client.delete_item().table_name(ITEMS).key("pk", s(key)).send().await.expect("deleted");
    }
    for lock in [&lock, &reader] {
        assert!(matches!(lock.heartbeat().await, Err(Error::Lost)));
        assert_eq!(lock.release().await.expect("a response"), Release::Lost);
        assert!(world.commit(lock.release_with(), "1").await.expect_err("refused").is_refused(0));
    }
    for key in ["order", "read"] {
        assert_eq!(world.item(ITEMS, [("pk", s(key))]).await, None);
    }
}

#[tokio::test]
async fn other_attributes_are_untouched_with_and_without_a_sort_key() {
    let world = World::start().await;
    world.put(ITEMS, [("pk", s("order")), ("amount", n(990)), ("owner", s("a consumer"))]).await;
    world.put(SORTED, [("pk", s("order")), ("sk", n(7)), ("amount", n(990)), ("owner", s("a consumer"))]).await;
    world.put(SORTED, [("pk", s("order")), ("sk", n(8))]).await;
    for (table, key) in [(ITEMS, order()), (SORTED, order().sort("sk", 7))] {
        let read = async || match table {
            ITEMS => world.item(ITEMS, [("pk", s("order"))]).await.expect("an item"),
            _ => world.item(SORTED, [("pk", s("order")), ("sk", n(7))]).await.expect("an item"),
        };
        let before = read().await;
        let locks = in_place(&world, table).build();
        let lock = granted(locks.exclusive(&key).acquire().await);
        let locked = read().await;
        assert_eq!(locked["lockOwner"], s(lock.owner()));
        for (name, value) in &before {
            assert_eq!(locked.get(name), Some(value), "{name}");
        }
        lock.heartbeat().await.expect("renewed");
        assert_eq!(lock.release().await.expect("a response"), Release::Released);
        let mut after = read().await;
        assert_eq!(after.remove("lockFence"), Some(n(lock.fence())), "the fence stays");
        assert_eq!(after, before);

        let reader = granted(locks.shared(&key).acquire().await);
        assert_eq!(reader.release().await.expect("a response"), Release::Released);
        let after = read().await;
        for (name, value) in &before {
            assert_eq!(after.get(name), Some(value), "{name}");
        }
    }
    let neighbour = world.item(SORTED, [("pk", s("order")), ("sk", n(8))]).await.expect("an item");
    assert_eq!(neighbour.len(), 2, "{neighbour:?}");
}

#[tokio::test]
async fn reserved_words_and_dots_are_fine_as_names() {
    let world = World::start().await;
    world.put(ITEMS, [("pk", s("order"))]).await;
    let attributes = Attributes {
        key: "pk".to_owned(),
        fence: "COUNTER".to_owned(),
        owner: "OWNER".to_owned(),
        expires_at: "TIMESTAMP".to_owned(),
        lease_ms: "INTERVAL".to_owned(),
        nonce: "TOKEN".to_owned(),
        readers: "SET".to_owned(),
        readers_until: "UNTIL".to_owned(),
        writer_waits_until: "lock.waiting".to_owned(),
        purge_at: "TTL".to_owned(),
    };
    let locks = in_place(&world, ITEMS).attributes(attributes).build();
    let lock = granted(locks.exclusive("order").acquire().await);
    let item = world.item(ITEMS, [("pk", s("order"))]).await.expect("an item");
    assert_eq!(item["OWNER"], s(lock.owner()));
    lock.heartbeat().await.expect("renewed");
    world.commit(lock.check(), "1").await.expect("committed");
    world.commit(lock.release_with(), "2").await.expect("committed");
    let reader = granted(locks.shared("order").acquire().await);
    let is_marked = async || {
        let item = world.item(ITEMS, [("pk", s("order"))]).await.expect("an item");
        item.contains_key("lock.waiting")
    };
    let marked = async {
        while !is_marked().await {
            tokio::time::sleep(A_MILLISECOND).await;
        }
    };
    let (given_up, ()) = tokio::join!(locks.exclusive("order").wait_for(SKEW).acquire(), in_time(marked));
    let _holder = held(given_up);
    assert!(!is_marked().await, "removed under its own name");
    reader.heartbeat().await.expect("renewed");
    world.commit(reader.release_with(), "3").await.expect("committed");
}

#[tokio::test]
async fn a_stale_lock_in_place_is_taken_over_after_its_expiry_only() {
    let world = World::start().await;
    world.put(ITEMS, [("pk", s("order"))]).await;
    let locks = in_place(&world, ITEMS).build();
    let dead = granted(locks.exclusive(order()).acquire().await);
    world.clock.advance(LEASE + SKEW);
    let _holder = held(locks.exclusive(order()).acquire().await);
    world.clock.advance(SKEW);
    let lock = granted(locks.exclusive(order()).acquire().await);
    assert_eq!(lock.fence(), dead.fence() + 1);
}

#[tokio::test]
async fn the_locked_items_own_update_is_guarded_and_releases_the_lock_in_the_same_request() {
    let world = World::start().await;
    world.put(ITEMS, [("pk", s("order")), ("amount", n(1))]).await;
    let locks = in_place(&world, ITEMS).build();
    let zombie = granted(locks.exclusive(order()).acquire().await);
    world.clock.advance(LEASE * 2);
    let lock = granted(locks.exclusive(order()).acquire().await);

    update_amount(&world, &zombie, zombie.condition(), 2).await.expect_err("refused");
    update_amount(&world, &zombie, zombie.release_clauses().expect("exclusive"), 2).await.expect_err("refused");
    update_amount(&world, &lock, lock.condition(), 3).await.expect("written");
    update_amount(&world, &lock, lock.release_clauses().expect("exclusive"), 4).await.expect("written");
    let item = world.item(ITEMS, [("pk", s("order"))]).await.expect("an item");
    let expected: HashMap<_, _> =
        [("pk", s("order")), ("amount", n(4)), ("lockFence", n(lock.fence()))].map(|(k, v)| (k.to_owned(), v)).into();
    assert_eq!(item, expected);

    let reader = granted(locks.shared(order()).acquire().await);
    update_amount(&world, &reader, reader.condition(), 5).await.expect("written");
    assert_eq!(reader.release_clauses(), None);
}

async fn update_amount(world: &World, lock: &Lock, guard: Clauses, amount: u64) -> Result<(), String> {
    let remove = if guard.remove.is_empty() { String::new() } else { format!(" REMOVE {}", guard.remove) };
    let mut values: HashMap<String, AttributeValue> = guard.values;
    values.insert(":amount".to_owned(), n(amount));
    let request = world
        .engine
        .client()
        .update_item()
        .table_name(ITEMS)
        .key("pk", s("order"))
        .update_expression(format!("SET amount = :amount{remove}"))
        .condition_expression(format!("attribute_exists(pk) AND {}", guard.condition))
        .set_expression_attribute_names(Some(guard.names))
        .set_expression_attribute_values(Some(values));
    let refused = |error: aws_sdk_dynamodb::error::SdkError<_, _>| {
        let error: aws_sdk_dynamodb::operation::update_item::UpdateItemError = error.into_service_error();
        assert!(error.is_conditional_check_failed_exception(), "{}: {error:?}", lock.fence());
        error.to_string()
    };
    request.send().await.map(drop).map_err(refused)
}

#[tokio::test]
async fn a_retention_does_not_make_locks_in_place_records_again() {
    let world = World::start().await;
    let builder = Locks::builder(world.engine.client(), ITEMS);
    for locks in [
        builder.in_place().retention(LEASE).build(),
        Locks::builder(world.engine.client(), ITEMS).retention(LEASE).in_place().build(),
    ] {
        let missing = locks.exclusive(order()).acquire().await;
        assert!(matches!(missing, Err(Error::NoSuchItem)), "{missing:?}");
        assert_eq!(world.item(ITEMS, [("pk", s("order"))]).await, None);
    }
}

#[tokio::test]
async fn a_put_of_the_whole_item_erases_the_lock() {
    let world = World::start().await;
    world.put(ITEMS, [("pk", s("order"))]).await;
    let locks = in_place(&world, ITEMS).build();
    let lock = granted(locks.exclusive(order()).acquire().await);
    world.put(ITEMS, [("pk", s("order")), ("amount", n(1))]).await;
    assert!(matches!(lock.heartbeat().await, Err(Error::Lost)));
    assert!(world.commit(lock.check(), "1").await.expect_err("refused").is_refused(0));
    let _next = granted(locks.exclusive(order()).acquire().await);
}
