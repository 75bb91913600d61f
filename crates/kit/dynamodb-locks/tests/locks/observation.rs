//! Takeover without comparing clocks. Time is real here.

use std::time::{Duration, SystemTime};

use dynamodb_locks::{Locks, Release, Takeover};

use crate::world::{Clock, START, World, builder_at, granted, held};

const AN_HOUR: Duration = Duration::from_hours(1);
const SHORT: Duration = Duration::from_millis(1500);
const PATIENCE: Duration = Duration::from_secs(20);

/// A caller whose clock is an hour ahead.
fn ahead(world: &World) -> Locks {
    let clock = Clock::at(START + AN_HOUR);
    builder_at(world.engine.client(), &clock).lease(SHORT).takeover(Takeover::ByObservation).build()
}

fn observer(world: &World) -> Locks {
    world.builder(world.engine.client()).takeover(Takeover::ByObservation).build()
}

#[tokio::test]
async fn the_lock_of_a_dead_owner_with_a_clock_an_hour_ahead_is_freed_by_observation() {
    let world = World::start().await;
    let dead = granted(ahead(&world).exclusive("key").acquire().await);
    let asked = tokio::time::Instant::now();
    let lock = granted(observer(&world).exclusive("key").wait_for(PATIENCE).acquire().await);
    assert!(asked.elapsed() >= SHORT, "a whole lease was watched: {:?}", asked.elapsed());
    assert_eq!(lock.fence(), dead.fence() + 1);
    let refused = world.commit(dead.check(), "dead").await.expect_err("refused");
    assert!(refused.is_refused(0));
    world.commit(lock.check(), "alive").await.expect("committed");
}

#[tokio::test]
async fn a_caller_that_goes_by_the_clock_frees_it_by_observation_too() {
    let world = World::start().await;
    let _dead = granted(ahead(&world).exclusive("key").acquire().await);
    let _holder = held(world.locks().exclusive("key").acquire().await);
    let _lock = granted(world.locks().exclusive("key").wait_for(PATIENCE).acquire().await);
}

#[tokio::test]
async fn readers_and_writers_free_each_others_locks_by_observation() {
    let world = World::start().await;
    let reader = granted(ahead(&world).shared("key").acquire().await);
    let writer = granted(observer(&world).exclusive("key").wait_for(PATIENCE).acquire().await);
    let refused = world.commit(reader.check(), "reader").await.expect_err("refused");
    assert!(refused.is_refused(0));
    assert_eq!(writer.release().await.expect("a response"), Release::Released);

    let writer = granted(ahead(&world).exclusive("key").acquire().await);
    let reader = granted(observer(&world).shared("key").wait_for(PATIENCE).acquire().await);
    assert_eq!(reader.fence(), writer.fence() + 1);
    let refused = world.commit(writer.check(), "writer").await.expect_err("refused");
    assert!(refused.is_refused(0));
    world.commit(reader.check(), "reader").await.expect("committed");
}

#[tokio::test]
async fn an_owner_that_shows_signs_of_life_is_not_taken_over_by_observation() {
    let world = World::start().await;
    // A clock far in the past: by the clock, this lock would be free at once.
    let behind = builder_at(world.engine.client(), &Clock::at(START.saturating_sub(AN_HOUR * 100)));
    let lease = Duration::from_secs(3);
    let lock = granted(behind.lease(lease).build().exclusive("key").acquire().await);
    let refused = lock.hold(observer(&world).exclusive("key").wait_for(lease * 2).acquire()).await;
    let holder = held(refused.expect("held all the time"));
    assert_eq!(holder.owner.as_deref(), Some(lock.owner()));
    world.commit(lock.check(), "alive").await.expect("committed");
}

#[tokio::test]
async fn a_caller_that_cannot_wait_can_pass_on_what_it_saw_before() {
    let world = World::start().await;
    let dead = granted(ahead(&world).exclusive("key").acquire().await);
    let locks = observer(&world);
    let first = held(locks.exclusive("key").acquire().await);
    let too_soon = held(locks.exclusive("key").having_seen(&first).acquire().await);
    tokio::time::sleep(SHORT * 2).await;
    let unseen = held(locks.exclusive("key").acquire().await);
    assert_eq!(unseen.owner.as_deref(), Some(dead.owner()), "it saw nothing before");
    let _lock = granted(locks.exclusive("key").having_seen(&too_soon).acquire().await);
}

#[tokio::test]
async fn a_released_lock_needs_no_observation() {
    let world = World::start().await;
    let lock = granted(ahead(&world).exclusive("key").acquire().await);
    world.commit(lock.release_with(), "1").await.expect("committed");
    let _lock = granted(observer(&world).exclusive("key").acquire().await);
}

#[tokio::test]
async fn what_was_seen_of_one_holder_does_not_count_for_the_next() {
    let world = World::start().await;
    let first = granted(ahead(&world).exclusive("key").acquire().await);
    let locks = observer(&world);
    let seen = held(locks.exclusive("key").acquire().await);
    tokio::time::sleep(SHORT * 2).await;
    world.commit(first.release_with(), "1").await.expect("committed");
    let real = world.builder(world.engine.client()).clock(SystemTime::now).build();
    let second = granted(real.exclusive("key").acquire().await);
    let holder = held(locks.exclusive("key").having_seen(&seen).acquire().await);
    assert_eq!(holder.owner.as_deref(), Some(second.owner()));
}
