//! A lease never outlives the Lambda's deadline.

use std::time::{Duration, Instant, SystemTime};

use dynamodb_locks::{Acquired, Error};
use embedded_dynamodb::{Disturbance, Wire};

use crate::world::{A_MILLISECOND, LEASE, SKEW, START, World, all_granted, granted, held, in_time, millis};

const LEFT: Duration = Duration::from_secs(3);

#[tokio::test]
async fn a_lease_ends_at_the_deadline_also_after_a_heartbeat() {
    let world = World::start().await;
    let locks = world.locks().until(world.clock.now() + LEFT);
    let lock = granted(locks.exclusive("key").acquire().await);
    let reader = granted(locks.shared("read").acquire().await);
    world.clock.advance(LEFT / 2);
    lock.heartbeat().await.expect("renewed");
    reader.heartbeat().await.expect("renewed");
    let record = world.record("key").await.expect("a record");
    assert_eq!(record["expiresAt"], millis(START + LEFT));
    assert_eq!(record["leaseMs"], millis(LEFT / 2));
    assert_eq!(world.record("read").await.expect("a record")["readersUntil"], millis(START + LEFT));

    world.clock.set(START + LEFT + SKEW);
    let _holder = held(world.locks().exclusive("key").acquire().await);
    world.clock.advance(A_MILLISECOND);
    let _lock = granted(world.locks().exclusive("key").acquire().await);
}

#[tokio::test]
async fn a_deadline_beyond_the_lease_changes_nothing() {
    let world = World::start().await;
    let lock = granted(world.locks().until(world.clock.now() + LEASE * 2).exclusive("key").acquire().await);
    assert_eq!(world.record("key").await.expect("a record")["expiresAt"], millis(START + LEASE));
    drop(lock);
}

#[tokio::test]
async fn after_the_deadline_no_lock_is_requested() {
    let world = World::start().await;
    let wire = Wire::watched();
    let locks = world.locks_over(&wire);
    let lock = granted(locks.until(world.clock.now() + LEFT).exclusive("other").acquire().await);
    world.clock.advance(LEFT);
    let late = locks.until(world.clock.now()).exclusive("key").wait_for(LEASE).acquire().await;
    assert!(matches!(late, Err(Error::DeadlinePassed)), "{late:?}");
    let late = lock.heartbeat().await;
    assert!(matches!(late, Err(Error::DeadlinePassed)), "{late:?}");
    assert_eq!(wire.requests().len(), 1, "only the first");
}

#[tokio::test]
async fn nobody_waits_for_a_lock_beyond_the_deadline() {
    let world = World::start().await;
    // A pause between two tries is longer than what is left.
    let builder = world.builder(world.engine.client()).clock(SystemTime::now);
    let locks = builder.lease(Duration::from_mins(5)).polling(Duration::from_mins(1), Duration::from_mins(1)).build();
    let _lock = granted(locks.exclusive("key").acquire().await);
    let locks = locks.until(SystemTime::now() + Duration::from_secs(1));
    let asked = Instant::now();
    let outcome = locks.exclusive("key").wait_for(Duration::from_mins(5)).acquire().await;
    assert!(matches!(outcome, Ok(Acquired::Held(_)) | Err(Error::DeadlinePassed)), "{outcome:?}");
    assert!(asked.elapsed() < Duration::from_secs(20), "{:?}", asked.elapsed());
}

#[tokio::test]
async fn work_is_cancelled_at_the_deadline() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| match request.number {
        1 => Disturbance::None,
        _ => Disturbance::FailBefore,
    });
    let locks = world.builder(world.engine.client_over(&wire)).clock(SystemTime::now).build();
    let locks = locks.until(SystemTime::now() + Duration::from_secs(1));
    let lock = granted(locks.exclusive("key").acquire().await);
    let cancelled = in_time(lock.hold(std::future::pending::<()>())).await;
    assert!(matches!(cancelled, Err(Error::DeadlinePassed)), "{cancelled:?}");
    assert_eq!(lock.remaining(), Duration::ZERO);
    assert_eq!(wire.requests().len(), 1, "no heartbeat could extend the lease");
}

#[tokio::test]
async fn work_that_would_start_after_the_deadline_is_told_so() {
    let world = World::start().await;
    let locks = world.locks().until(world.clock.now() + LEFT);
    let lock = granted(locks.exclusive("key").acquire().await);
    let set = all_granted(locks.all().exclusive("a").exclusive("b").acquire().await);
    world.clock.advance(LEFT);
    let late = lock.hold(async { panic!("it must not start") }).await;
    assert!(matches!(late, Err(Error::DeadlinePassed)), "{late:?}");
    let late = set.hold(async { panic!("it must not start") }).await;
    assert!(matches!(late, Err(Error::DeadlinePassed)), "{late:?}");
}

#[tokio::test]
async fn a_release_that_is_never_answered_leaves_time_before_the_deadline_for_the_works_result() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| match request.number {
        1 => Disturbance::None,
        _ => Disturbance::Stall,
    });
    let deadline = SystemTime::now() + LEFT;
    let locks = world.builder(world.engine.client_over(&wire)).clock(SystemTime::now).build().until(deadline);
    let lock = granted(locks.exclusive("key").acquire().await);
    let done = in_time(lock.run(async { Ok::<_, &str>("done") })).await;
    assert_eq!(done.expect("done"), "done");
    assert_eq!(wire.requests().len(), 2, "the release was sent");
    assert!(SystemTime::now() < deadline, "{:?}", SystemTime::now().duration_since(deadline));
}

/// A client waits for a response without end by default.
#[tokio::test]
async fn a_release_or_heartbeat_that_is_never_answered_ends_after_a_lease() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| match request.number {
        1 => Disturbance::None,
        _ => Disturbance::Stall,
    });
    let lease = Duration::from_secs(4);
    let locks = world.builder(world.engine.client_over(&wire)).lease(lease).build();
    let lock = granted(locks.exclusive("key").acquire().await);
    let asked = Instant::now();
    let (released, renewed) = in_time(async { tokio::join!(lock.release(), lock.heartbeat()) }).await;
    assert!(asked.elapsed() < lease * 3 / 2, "{:?}", asked.elapsed());
    assert!(matches!(released, Err(Error::Unavailable(_))), "{released:?}");
    assert!(matches!(renewed, Err(Error::Unavailable(_))), "{renewed:?}");
}
