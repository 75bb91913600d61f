//! Several locks, all or none.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use dynamodb_locks::{AcquiredAll, Error, Key, Release, Takeover};
use embedded_dynamodb::{Disturbance, Wire};
use futures_util::future::join_all;

use crate::world::{A_MILLISECOND, LEASE, LOCKS, START, World, all_granted, granted, held, in_time, n, one_held, s};

const PATIENCE: Duration = Duration::from_mins(1);
/// Long enough for some tries on a busy machine.
const A_WHILE: Duration = Duration::from_secs(1);

#[tokio::test]
async fn several_locks_are_one_request_and_guard_one_commit() {
    let world = World::start().await;
    let wire = Wire::watched();
    let client = world.engine.client_over(&wire);
    let locks = world.builder(client.clone()).build();
    let set = all_granted(locks.all().exclusive("b").exclusive("a").exclusive("b").acquire().await);
    assert_eq!(wire.requests().len(), 1);
    let keys: Vec<_> = set.iter().map(|lock| lock.key().clone()).collect();
    assert_eq!(keys, [Key::from("a"), Key::from("b")]);
    for key in ["a", "b"] {
        let record = world.record(key).await.expect("a record");
        let lock = set.get(key).expect("a lock");
        assert_eq!(lock.key(), &Key::from(key));
        assert_eq!(record["owner"], s(lock.owner()));
        assert_eq!(record["fence"], n(lock.fence()));
    }
    world.commit_over(&client, set.check(), "1").await.expect("committed");
    world.commit_over(&client, set.release_with(), "2").await.expect("committed");
    assert_eq!(wire.requests().len(), 3);
    for key in ["a", "b"] {
        let _lock = granted(locks.exclusive(key).acquire().await);
    }
}

#[tokio::test]
async fn if_one_is_held_none_is_taken() {
    let world = World::start().await;
    let locks = world.locks();
    let other = granted(locks.exclusive("b").acquire().await);
    for request in [locks.all().exclusive("a").exclusive("b"), locks.all().shared("a").shared("b")] {
        let (key, holder) = one_held(request.acquire().await);
        assert_eq!((key, holder.owner.as_deref()), (Key::from("b"), Some(other.owner())));
        assert_eq!(world.record("a").await, None);
    }
    let refused = locks.all().exclusive("a").exclusive("b").acquire().await.expect("a response");
    assert!(refused.granted().is_none());
}

#[tokio::test]
async fn many_locks_in_opposite_orders_never_deadlock_and_none_is_half_held() {
    let world = World::start().await;
    let inside = Mutex::new(HashSet::new());
    let sets = [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "d"], ["d", "a", "b"]];
    let workers = (0..8_usize).map(|worker| {
        let (world, inside) = (&world, &inside);
        async move {
            let locks = world.builder(world.engine.client()).clock(SystemTime::now).lease(PATIENCE).build();
            for round in 0..5 {
                let keys = sets[(worker + round) % sets.len()];
                let request = keys.iter().fold(locks.all(), |request, key| request.exclusive(*key));
                let set = all_granted(request.wait_for(PATIENCE).acquire().await);
                for key in keys {
                    assert!(inside.lock().expect("not poisoned").insert(key), "{key} is held twice");
                }
                tokio::task::yield_now().await;
                for key in keys {
                    inside.lock().expect("not poisoned").remove(key);
                }
                assert_eq!(set.release().await.expect("a response"), Release::Released);
            }
        }
    });
    join_all(workers).await;
    for key in ["a", "b", "c", "d"] {
        let record = world.record(key).await.expect("a record");
        assert!(!record.contains_key("owner"), "{key} is still held");
    }
}

#[tokio::test]
async fn fences_rise_whether_a_lock_is_taken_alone_or_with_others() {
    let world = World::start().await;
    let locks = world.locks();
    let mut last = 0;
    for round in 0..6 {
        // A clock that goes back must not take the fence with it.
        world.clock.set(START.saturating_sub(Duration::from_secs(round * 60)));
        let fence = if round % 2 == 0 {
            let set = all_granted(locks.all().exclusive("a").exclusive("b").acquire().await);
            world.commit_over(&world.engine.client(), set.release_with(), "1").await.expect("committed");
            set.get("a").expect("a lock").fence()
        } else {
            let lock = granted(locks.exclusive("a").acquire().await);
            world.commit(lock.release_with(), "1").await.expect("committed");
            lock.fence()
        };
        assert!(fence > last, "{fence} after {last}");
        last = fence;
    }
}

#[tokio::test]
async fn a_set_can_have_shared_locks_among_others() {
    let world = World::start().await;
    let locks = world.locks();
    let one = all_granted(locks.all().shared("r").exclusive("a").acquire().await);
    let two = all_granted(locks.all().shared("r").exclusive("b").acquire().await);
    let (key, _) = one_held(locks.all().exclusive("r").exclusive("c").acquire().await);
    assert_eq!(key, Key::from("r"));
    // Asked for in both ways, it is exclusive.
    let (key, _) = one_held(locks.all().shared("r").exclusive("r").exclusive("c").acquire().await);
    assert_eq!(key, Key::from("r"));
    for set in [&one, &two] {
        assert_eq!(set.get("r").expect("a lock").fence(), one.get("r").expect("a lock").fence());
        world.commit_over(&world.engine.client(), set.check(), "1").await.expect("committed");
        assert_eq!(set.release().await.expect("a response"), Release::Released);
    }
    let _set = all_granted(locks.all().exclusive("r").exclusive("a").acquire().await);
}

#[tokio::test]
async fn a_dead_holders_set_is_taken_over_and_a_zombies_commit_is_refused() {
    let world = World::start().await;
    let locks = world.locks();
    let zombie = all_granted(locks.all().exclusive("a").shared("b").acquire().await);
    world.clock.advance(LEASE * 2);
    let set = all_granted(locks.all().exclusive("a").exclusive("b").acquire().await);
    let rises = set.iter().zip(&zombie).map(|(new, old)| new.fence() > old.fence());
    assert_eq!(rises.collect::<Vec<_>>(), [true, true]);
    let refused = world.commit_over(&world.engine.client(), zombie.check(), "zombie").await.expect_err("refused");
    assert!(refused.is_refused(0) && refused.is_refused(1));
    assert_eq!(zombie.release().await.expect("a response"), Release::Lost);
    world.commit_over(&world.engine.client(), set.check(), "1").await.expect("committed");
}

#[tokio::test]
async fn a_lost_response_to_a_set_is_found_by_the_sdks_retry_and_by_the_next_try() {
    let lost =
        || Wire::disturbed(|request| if request.number == 1 { Disturbance::LoseResponse } else { Disturbance::None });
    let world = World::start().await;
    let wire = lost();
    let locks = world.builder(world.retrying_client_over(&wire)).build();
    let set = all_granted(locks.all().exclusive("a").shared("b").acquire().await);
    assert_eq!(wire.requests().len(), 2);
    world.commit_over(&world.engine.client(), set.release_with(), "1").await.expect("committed");

    let world = World::start().await;
    let locks = world.locks_over(&lost());
    let set = all_granted(locks.all().exclusive("a").shared("b").wait_for(PATIENCE).acquire().await);
    for key in ["a", "b"] {
        let record = world.record(key).await.expect("a record");
        assert_eq!(record["fence"], n(set.get(key).expect("a lock").fence()), "{key}");
    }
    world.commit_over(&world.engine.client(), set.release_with(), "1").await.expect("committed");
    let _set = all_granted(world.locks().all().exclusive("a").exclusive("b").acquire().await);
}

#[tokio::test]
async fn holding_a_set_renews_all_its_locks_and_ends_when_one_is_lost() {
    let world = World::start().await;
    let real = || world.builder(world.engine.client()).clock(SystemTime::now).lease(Duration::from_secs(3));
    let by_clock = Takeover::ByClock { max_skew: Duration::ZERO };
    let set = all_granted(real().build().all().exclusive("a").exclusive("b").acquire().await);
    let others = real().takeover(by_clock).build();
    set.hold(tokio::time::sleep(Duration::from_secs(4))).await.expect("held");
    for key in ["a", "b"] {
        let _holder = held(others.exclusive(key).acquire().await);
    }

    let hasty = real().takeover(by_clock).clock(|| SystemTime::now() + PATIENCE).build();
    let lost = set.hold(async {
        let _b = granted(hasty.exclusive("b").acquire().await);
        std::future::pending::<()>().await;
    });
    let lost = in_time(lost).await;
    assert!(matches!(lost, Err(Error::Lost)), "{lost:?}");
    assert_eq!(set.release().await.expect("a response"), Release::Lost);
    let _a = granted(others.exclusive("a").acquire().await);
}

#[tokio::test]
async fn a_set_has_room_for_a_hundred_locks_and_not_for_more() {
    let world = World::start().await;
    let locks = world.locks();
    let request = |count: u32| (0..count).fold(locks.all(), |request, key| request.exclusive(key.to_string()));
    assert_eq!(all_granted(request(100).acquire().await).iter().count(), 100);
    let refused = request(101).acquire().await;
    assert!(matches!(refused, Err(Error::TooMany { asked: 101 })), "{refused:?}");
    assert_eq!(all_granted(locks.all().acquire().await).iter().count(), 0);
    let one = all_granted(locks.all().exclusive("one").acquire().await);
    world.commit_over(&world.engine.client(), one.release_with(), "1").await.expect("committed");
    assert!(world.record("one").await.is_some_and(|record| !record.contains_key("owner")), "{LOCKS}");
}

#[tokio::test]
async fn two_names_of_one_item_are_one_lock() {
    let world = World::start().await;
    let locks = world.locks();
    for twice in
        [locks.all().shared("a").exclusive(Key::new("id", "a")), locks.all().exclusive(Key::new("id", "a")).shared("a")]
    {
        let set = all_granted(twice.acquire().await);
        assert_eq!(set.iter().count(), 1);
        assert!(!set.get(Key::new("id", "a")).expect("the lock").is_shared());
        assert_eq!(set.release().await.expect("a response"), Release::Released);
    }
}

/// What an earlier response showed of the other locks may be long over.
#[tokio::test]
async fn the_lock_that_is_reported_is_one_that_was_held_at_the_last_try() {
    let world = World::start().await;
    let locks = world.locks();
    let a = granted(locks.exclusive("a").acquire().await);
    let wire = Wire::watched();
    let asking = world.locks_over(&wire).all().exclusive("a").exclusive("b").wait_for(A_WHILE).acquire();
    let others = async {
        while wire.count("TransactWriteItems") == 0 {
            tokio::time::sleep(A_MILLISECOND).await;
        }
        let _b = granted(locks.exclusive("b").acquire().await);
        assert_eq!(a.release().await.expect("a response"), Release::Released);
    };
    let (outcome, ()) = tokio::join!(asking, others);
    let AcquiredAll::Held { key, .. } = outcome.expect("a response") else { panic!("granted") };
    assert_eq!(key, Key::from("b"));
}

#[tokio::test]
async fn a_lost_lock_is_reported_also_if_another_release_fails() {
    let world = World::start().await;
    // The transaction is the first request, the release of `a` the second.
    let wire = Wire::disturbed(|request| match request.number {
        2 => Disturbance::FailBefore,
        _ => Disturbance::None,
    });
    let set = all_granted(world.locks_over(&wire).all().exclusive("a").exclusive("b").acquire().await);
    world.clock.advance(LEASE * 2);
    let _successor = granted(world.locks().exclusive("b").acquire().await);
    assert_eq!(set.release().await.expect("a response"), Release::Lost);
}
