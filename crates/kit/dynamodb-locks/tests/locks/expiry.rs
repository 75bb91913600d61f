//! When a lock may be taken over by the clock. That never decides whether a write is accepted.

use std::time::{Duration, SystemTime};

use dynamodb_locks::{Release, Takeover};

use crate::world::{
    A_MILLISECOND, Clock, LEASE, LOCKS, SKEW, START, World, builder_at, granted, held, in_time, millis, n, s,
};

const AN_HOUR: Duration = Duration::from_hours(1);

#[tokio::test]
async fn a_lock_is_not_taken_over_before_or_at_its_expiry_but_after_it() {
    let world = World::start().await;
    let locks = world.locks();
    let lock = granted(locks.exclusive("key").acquire().await);
    for still in [LEASE.saturating_sub(Duration::from_secs(1)), LEASE, LEASE + SKEW / 2, LEASE + SKEW] {
        world.clock.set(START + still);
        let before = world.record("key").await;
        let holder = held(locks.exclusive("key").acquire().await);
        assert_eq!(holder.owner.as_deref(), Some(lock.owner()), "after {still:?}");
        assert_eq!(world.record("key").await, before, "left alone after {still:?}");
    }
    world.clock.set(START + LEASE + SKEW + A_MILLISECOND);
    let successor = granted(locks.exclusive("key").acquire().await);
    assert_eq!(successor.fence(), lock.fence() + 1);
}

#[tokio::test]
async fn a_stale_lock_is_never_taken_over_by_a_caller_that_does_not_do_so() {
    let world = World::start().await;
    let _dead = granted(world.locks().exclusive("key").acquire().await);
    let patient = world.builder(world.engine.client()).takeover(Takeover::Never).build();
    world.clock.advance(AN_HOUR * 24 * 365);
    let _holder = held(patient.exclusive("key").acquire().await);
    let _holder = held(patient.shared("key").acquire().await);
    let _lock = granted(world.locks().exclusive("key").acquire().await);
}

#[tokio::test]
async fn a_lock_without_an_expiry_is_never_taken_over() {
    let world = World::start().await;
    world.put(LOCKS, [("id", s("key")), ("owner", s("somebody")), ("fence", n(7))]).await;
    world.clock.advance(AN_HOUR * 24 * 365);
    let holder = held(world.locks().exclusive("key").acquire().await);
    assert_eq!((holder.owner.as_deref(), holder.until, holder.fence), (Some("somebody"), None, Some(7)));
}

#[tokio::test]
async fn an_expired_lock_that_nobody_took_over_still_guards_its_holders_writes() {
    let world = World::start().await;
    let lock = granted(world.locks().exclusive("key").acquire().await);
    world.clock.advance(AN_HOUR);
    assert_eq!(lock.remaining(), Duration::ZERO);
    world.commit(lock.check(), "late").await.expect("committed");
    lock.heartbeat().await.expect("renewed");
    assert!(lock.remaining() > LEASE / 2, "{:?}", lock.remaining());
    assert_eq!(lock.release().await.expect("a response"), Release::Released);
}

#[tokio::test]
async fn while_clocks_differ_by_no_more_than_the_bound_no_live_holder_is_taken_over() {
    let world = World::start().await;
    let holders = world.locks();
    for ahead in [Duration::ZERO, SKEW / 2, SKEW] {
        let key = format!("{ahead:?}");
        let lock = granted(holders.exclusive(&key).acquire().await);
        // The last moment at which the holder believes in its lease.
        let taker = Clock::at(START + LEASE + ahead);
        let taker = builder_at(world.engine.client(), &taker).build();
        let holder = held(taker.exclusive(&key).acquire().await);
        assert_eq!(holder.owner.as_deref(), Some(lock.owner()), "ahead by {ahead:?}");
    }
}

#[tokio::test]
async fn with_clocks_an_hour_apart_a_live_holder_is_taken_over_but_none_of_its_writes_is_accepted() {
    let world = World::start().await;
    let early = granted(world.locks().exclusive("key").acquire().await);
    world.commit(early.check(), "early 1").await.expect("its own still");

    let ahead = builder_at(world.engine.client(), &Clock::at(START + AN_HOUR)).build();
    let late = granted(ahead.exclusive("key").acquire().await);
    assert!(early.remaining() > Duration::ZERO, "the first holder believes in its lease");
    let refused = world.commit(early.check(), "early 2").await;
    assert!(refused.expect_err("refused").is_refused(0));
    assert_eq!(world.data().await.as_deref(), Some("early 1"));
    world.commit(late.check(), "late").await.expect("committed");
    assert_eq!(early.release().await.expect("a response"), Release::Lost);

    // A clock that is behind makes its owner wait, and nothing else.
    let behind = builder_at(world.engine.client(), &Clock::at(START.saturating_sub(AN_HOUR))).build();
    let _holder = held(behind.exclusive("key").acquire().await);
    world.commit(late.release_with(), "late 2").await.expect("committed");
}

#[tokio::test]
async fn a_new_records_fence_starts_at_the_clocks_milliseconds_and_so_rises_after_a_deletion() {
    let world = World::start().await;
    let locks = world.locks();
    let first = granted(locks.exclusive("key").acquire().await);
    assert_eq!(u128::from(first.fence()), START.as_millis() + 1);
    assert_eq!(first.release().await.expect("a response"), Release::Released);
    let second = granted(locks.exclusive("key").acquire().await);
    assert_eq!(second.fence(), first.fence() + 1);

    let client = world.engine.client();
    client.delete_item().table_name(LOCKS).key("id", s("key")).send().await.expect("deleted");
    world.clock.advance(A_MILLISECOND * 5);
    let refused = world.commit(second.check(), "second").await.expect_err("refused");
    assert!(refused.is_refused(0), "no record is no lock");
    let third = granted(locks.exclusive("key").acquire().await);
    assert!(third.fence() > second.fence());
    let refused = world.commit(second.check(), "second").await.expect_err("refused");
    assert!(refused.is_refused(0));
    assert!(matches!(second.heartbeat().await, Err(dynamodb_locks::Error::Lost)));
}

#[tokio::test]
async fn a_release_keeps_the_fence_and_nothing_else() {
    let world = World::start().await;
    let lock = granted(world.locks().exclusive("key").acquire().await);
    let record = world.record("key").await.expect("a record");
    assert_eq!(record["owner"], s(lock.owner()));
    assert_eq!(record["expiresAt"], millis(START + LEASE));
    assert_eq!(record["leaseMs"], millis(LEASE));
    assert_eq!(lock.release().await.expect("a response"), Release::Released);
    let record = world.record("key").await.expect("a record");
    assert_eq!(record, [("id".to_owned(), s("key")), ("fence".to_owned(), n(lock.fence()))].into());
}

#[tokio::test]
async fn a_lease_without_end_is_stored_and_read_as_such() {
    let world = World::start().await;
    let locks = world.builder(world.engine.client()).lease(Duration::MAX).build();
    let lock = granted(locks.exclusive("key").acquire().await);
    world.clock.advance(AN_HOUR * 24 * 365 * 100);
    let _holder = held(world.locks().exclusive("key").acquire().await);
    lock.heartbeat().await.expect("renewed");
    lock.hold(tokio::task::yield_now()).await.expect("held");
    assert_eq!(lock.release().await.expect("a response"), Release::Released);
}

#[tokio::test]
async fn a_caller_that_waits_comes_soon_after_the_expiry_however_long_its_pauses_are() {
    let world = World::start().await;
    // The lease has ended, but the skew has only half a second left. Nothing can be observed for so long a lease.
    let ended = AN_HOUR.saturating_sub(Duration::from_millis(500));
    let dead = world.builder(world.engine.client()).lease(AN_HOUR).clock(move || SystemTime::now() - AN_HOUR - ended);
    let _dead = granted(dead.build().exclusive("key").acquire().await);
    let a_minute = Duration::from_mins(1);
    let patient = world.builder(world.engine.client()).takeover(Takeover::ByClock { max_skew: AN_HOUR });
    let patient = patient.clock(SystemTime::now).polling(a_minute, a_minute).build();
    let _lock = granted(in_time(patient.exclusive("key").wait_for(AN_HOUR).acquire()).await);
}
