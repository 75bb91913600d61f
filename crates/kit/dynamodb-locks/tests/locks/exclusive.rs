//! One holder at a time.

use std::time::Duration;

use dynamodb_locks::{Acquired, Cause, Release};
use embedded_dynamodb::Wire;
use futures_util::future::join_all;

use crate::world::{A_MILLISECOND, LEASE, SKEW, START, World, granted, held};

#[tokio::test]
async fn of_fifty_racers_one_wins_each_round_and_fences_strictly_rise() {
    let world = World::start().await;
    let locks = world.locks();
    let mut fences = Vec::new();
    for _ in 0..5 {
        let racers = (0..50).map(|_| locks.exclusive("key").acquire());
        let mut winners = Vec::new();
        for outcome in join_all(racers).await {
            match outcome.expect("a response") {
                Acquired::Granted(lock) => winners.push(lock),
                Acquired::Held(holder) => assert!(holder.owner.is_some()),
            }
        }
        let [winner] = &winners[..] else { panic!("{} winners", winners.len()) };
        fences.push(winner.fence());
        assert_eq!(winner.release().await.expect("a response"), Release::Released);
    }
    assert!(fences.is_sorted_by(|one, next| one < next), "{fences:?}");
}

#[tokio::test]
async fn an_uncontended_lock_is_one_request_and_no_other_when_released_with_the_commit() {
    let world = World::start().await;
    let wire = Wire::watched();
    let client = world.engine.client_over(&wire);
    let locks = world.builder(client.clone()).build();
    let lock = granted(locks.exclusive("key").acquire().await);
    assert_eq!(wire.requests().len(), 1, "one to take it");
    world.commit_over(&client, vec![lock.release_with()], "1").await.expect("committed");
    drop(lock);
    assert_eq!(wire.requests().len(), 2, "and the commit itself");
    assert_eq!(world.data().await.as_deref(), Some("1"));
    let _lock = granted(locks.exclusive("key").acquire().await);
}

#[tokio::test]
async fn a_zombies_guarded_write_heartbeat_and_release_are_refused_and_its_successor_is_untouched() {
    let world = World::start().await;
    let locks = world.locks();
    let zombie = granted(locks.exclusive("key").acquire().await);
    world.clock.advance(LEASE + SKEW * 2);
    let successor = granted(locks.exclusive("key").acquire().await);
    assert!(successor.fence() > zombie.fence());
    let before = world.record("key").await;

    for guard in [zombie.check(), zombie.release_with()] {
        let refused = world.commit(guard, "zombie").await.expect_err("refused");
        let Some(Cause::ConditionFailed { item: Some(item) }) = refused.cause(0) else { panic!("{refused:?}") };
        assert_eq!(item["owner"].as_s().map(String::as_str), Ok(successor.owner()));
    }
    assert!(matches!(zombie.heartbeat().await, Err(dynamodb_locks::Error::Lost)));
    assert_eq!(zombie.release().await.expect("a response"), Release::Lost);

    assert_eq!(world.data().await, None);
    assert_eq!(world.record("key").await, before);
    world.commit(successor.release_with(), "successor").await.expect("committed");
}

#[tokio::test]
async fn a_refusal_says_who_holds_the_lock_and_until_when_without_a_read() {
    let world = World::start().await;
    let holder = world.builder(world.engine.client()).name("worker-7").build();
    let lock = granted(holder.exclusive("key").acquire().await);
    let wire = Wire::watched();
    let seen = held(world.locks_over(&wire).exclusive("key").acquire().await);
    assert_eq!(seen.owner.as_deref(), Some(lock.owner()));
    assert!(lock.owner().starts_with("worker-7#"), "{}", lock.owner());
    assert_eq!(seen.until, Some(std::time::UNIX_EPOCH + START + LEASE));
    assert_eq!(seen.fence, Some(lock.fence()));
    assert_eq!(wire.requests().len(), 1);
    assert_eq!(wire.count("UpdateItem"), 1);
}

#[tokio::test]
async fn a_caller_that_waits_asks_less_and_less_often() {
    let world = World::start().await;
    let _lock = granted(world.locks().exclusive("key").acquire().await);
    let wire = Wire::watched();
    let builder = world.builder(world.engine.client_over(&wire)).polling(A_MILLISECOND, Duration::from_hours(1));
    let _holder = held(builder.build().exclusive("key").wait_for(Duration::from_secs(1)).acquire().await);
    // The pauses double from half a millisecond at least: eleven of them take a second. The last try is at the end.
    let tries = wire.requests().len();
    assert!((2..=12).contains(&tries), "{tries}");
}
