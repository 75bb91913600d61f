//! Heartbeats in the task of the work. Time is real here, so leases are short.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use dynamodb_locks::{
    Cancellation, Error, LocksBuilder, Observation, Release, RetryPolicy, RunError, Takeover, retry_on_conflict,
};
use embedded_dynamodb::{Disturbance, Wire};
use futures_util::FutureExt;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::world::{CONFLICT, LOCKS, SKEW, World, granted, held, in_time, n, s};

/// A third of it, the time between two heartbeats, is long enough for a busy machine to keep.
const SHORT: Duration = Duration::from_millis(2400);
const PATIENCE: Duration = Duration::from_secs(20);

fn on_real_time(builder: LocksBuilder) -> LocksBuilder {
    builder.lease(SHORT).clock(SystemTime::now).takeover(Takeover::ByClock { max_skew: Duration::ZERO })
}

fn observed(builder: LocksBuilder) -> (LocksBuilder, UnboundedReceiver<Observation>) {
    let (send, receive) = unbounded_channel();
    let observer = move |observation| {
        // At the end of a test nobody listens any more.
        let _ = send.send(observation);
    };
    (builder.observer(observer), receive)
}

async fn next(observations: &mut UnboundedReceiver<Observation>, wanted: Observation) {
    while observations.recv().await.expect("an observation") != wanted {}
}

#[tokio::test]
async fn work_longer_than_a_lease_lives_by_heartbeats() {
    let world = World::start().await;
    let (builder, mut observations) = observed(on_real_time(world.builder(world.engine.client())));
    let lock = granted(builder.build().exclusive("key").acquire().await);
    let others = on_real_time(world.builder(world.engine.client())).build();
    let began = tokio::time::Instant::now();
    let done = lock.hold(async {
        // Six heartbeats are two leases.
        for _ in 0..6 {
            next(&mut observations, Observation::Renewed).await;
            let _holder = held(others.exclusive("key").acquire().await);
        }
        "done"
    });
    assert_eq!(in_time(done).await.expect("held to the end"), "done");
    assert!(began.elapsed() > SHORT, "{:?}", began.elapsed());
    world.commit(lock.release_with(), "done").await.expect("committed");
}

#[tokio::test]
async fn in_an_outage_the_lock_is_first_unreachable_and_then_lost_and_the_work_is_cancelled() {
    for outage in [Disturbance::FailBefore, Disturbance::Stall, Disturbance::Throttle] {
        let world = World::start().await;
        let wire = Wire::disturbed(move |request| if request.number == 1 { Disturbance::None } else { outage });
        let (builder, mut observations) = observed(on_real_time(world.builder(world.engine.client_over(&wire))));
        let lock = granted(builder.build().exclusive("key").acquire().await);
        let cancelled = Arc::new(AtomicBool::new(false));
        let lost = in_time(lock.hold(cancelled_work(&cancelled))).await;
        assert!(matches!(&lost, Err(error @ Error::Unreachable(_)) if error.is_retryable()), "{outage:?}: {lost:?}");
        assert!(cancelled.load(Ordering::SeqCst), "{outage:?}: the work was dropped");
        assert_eq!(lock.remaining(), Duration::ZERO, "{outage:?}: not before the lease had ended");

        let mut seen = Vec::new();
        while let Ok(observation) = observations.try_recv() {
            seen.push(observation);
        }
        let [Observation::Acquired { .. }, unreachable @ .., Observation::Lost] = &seen[..] else {
            panic!("{outage:?}: {seen:?}")
        };
        // Between two heartbeats is a twelfth of the lease at least, and the first comes after a third of it.
        assert!((1..=9).contains(&unreachable.len()), "{outage:?}: {}", unreachable.len());
        assert!(unreachable.iter().all(|seen| *seen == Observation::HeartbeatFailed), "{outage:?}: {seen:?}");
    }
}

#[tokio::test]
async fn an_outage_shorter_than_the_lease_is_survived() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| match request.number {
        2 => Disturbance::FailBefore,
        3 => Disturbance::LoseResponse,
        _ => Disturbance::None,
    });
    let (builder, mut observations) = observed(on_real_time(world.builder(world.engine.client_over(&wire))));
    let lock = granted(builder.build().exclusive("key").acquire().await);
    in_time(lock.hold(next(&mut observations, Observation::Renewed))).await.expect("held");
    world.commit(lock.check(), "1").await.expect("committed");
}

/// The work's own transaction has the lock in it, and is slow.
#[tokio::test]
async fn a_heartbeat_that_meets_a_transaction_is_tried_again_after_a_moment_and_is_no_failure() {
    let world = World::start().await;
    let sent = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&sent);
    // The first heartbeat is tried five times.
    let wire = Wire::disturbed(move |request| {
        log.lock().expect("not poisoned").push(Instant::now());
        if (2..=6).contains(&request.number) { CONFLICT } else { Disturbance::None }
    });
    let (builder, mut observations) = observed(on_real_time(world.builder(world.engine.client_over(&wire))));
    let lock = granted(builder.lease(SHORT * 2).build().exclusive("key").acquire().await);
    let seen = in_time(lock.hold(async {
        let _acquired = observations.recv().await;
        observations.recv().await
    }));
    assert_eq!(seen.await.expect("held"), Some(Observation::Renewed));
    let sent = sent.lock().expect("not poisoned").clone();
    assert_eq!(sent.len(), 7);
    let pause = sent[6].duration_since(sent[5]);
    assert!(pause >= SHORT / 24, "{pause:?}");
}

#[tokio::test]
async fn a_lock_that_another_takes_over_cancels_the_work_and_is_told_apart_from_an_outage() {
    let world = World::start().await;
    let lock = granted(on_real_time(world.builder(world.engine.client())).build().exclusive("key").acquire().await);
    let hasty = on_real_time(world.builder(world.engine.client())).clock(|| SystemTime::now() + PATIENCE * 10).build();
    let cancelled = Arc::new(AtomicBool::new(false));
    let lost = lock.hold(async {
        let _successor = granted(hasty.exclusive("key").acquire().await);
        cancelled_work(&cancelled).await;
    });
    let lost = in_time(lost).await;
    assert!(matches!(lost, Err(Error::Lost)), "{lost:?}");
    assert!(cancelled.load(Ordering::SeqCst));
    assert_ne!(lock.remaining(), Duration::ZERO, "at the next heartbeat, not when the lease has ended");
}

#[tokio::test]
async fn work_that_releases_the_lock_inside_is_not_mistaken_for_a_loss() {
    for with_commit in [true, false] {
        let world = World::start().await;
        let wire = Wire::watched();
        let locks = on_real_time(world.builder(world.engine.client_over(&wire))).build();
        let lock = granted(locks.exclusive("key").acquire().await);
        let done = lock.hold(async {
            if with_commit {
                world.commit(lock.release_with(), "1").await.expect("committed");
            } else {
                assert_eq!(lock.release().await.expect("a response"), Release::Released);
            }
            let before = wire.requests().len();
            // Long enough for a heartbeat to find the lock released.
            while wire.requests().len() == before {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            before
        });
        let before = in_time(done).await.expect("not lost");
        assert_eq!(wire.requests().len(), before + 1, "and it is not asked for any more");
    }
}

#[tokio::test]
async fn work_that_panics_or_is_dropped_does_not_keep_its_lock_alive() {
    let world = World::start().await;
    let locks = on_real_time(world.builder(world.engine.client())).build();
    let lock = granted(locks.exclusive("key").acquire().await);
    let body = lock.hold(async {
        tokio::task::yield_now().await;
        panic!("a bug in the body");
    });
    let panicked: Result<Result<(), Error>, _> = AssertUnwindSafe(body).catch_unwind().await;
    assert!(panicked.is_err());
    drop(lock);
    let lock = granted(locks.exclusive("key").wait_for(PATIENCE).acquire().await);

    let body = Box::pin(lock.hold(std::future::pending::<()>()));
    drop(body);
    drop(lock);
    let lock = granted(locks.exclusive("key").wait_for(PATIENCE).acquire().await);

    // The same for a spawned task that is aborted.
    let task = tokio::spawn(async move { lock.hold(std::future::pending::<()>()).await });
    tokio::task::yield_now().await;
    task.abort();
    let _lock = granted(locks.exclusive("key").wait_for(PATIENCE).acquire().await);
}

#[tokio::test]
async fn a_stuck_task_does_not_keep_its_lock_alive() {
    let world = World::start().await;
    let short = Duration::from_millis(500);
    let locks = on_real_time(world.builder(world.engine.client())).lease(short).build();
    let lock = granted(locks.exclusive("key").acquire().await);
    let cancelled = Arc::new(AtomicBool::new(false));
    let lost = lock.hold(async {
        // The thread is stuck here, and with it everything that this task does.
        std::thread::sleep(short * 2);
        cancelled_work(&cancelled).await;
    });
    let lost = in_time(lost).await;
    assert!(matches!(lost, Err(Error::Unreachable(_))), "{lost:?}");
    assert!(cancelled.load(Ordering::SeqCst));
    let _lock = granted(locks.exclusive("key").acquire().await);
}

#[tokio::test]
async fn run_releases_the_lock_when_the_work_succeeds_and_when_it_fails() {
    let world = World::start().await;
    let locks = world.locks();
    let lock = granted(locks.exclusive("key").acquire().await);
    let fence = lock.fence();
    let done = lock.run(async { Ok::<_, &str>(lock.fence()) }).await;
    assert_eq!(done.expect("done"), fence);

    let lock = granted(locks.exclusive("key").acquire().await);
    let failed = lock.run(async { Err::<(), _>("no card") }).await;
    assert!(matches!(failed, Err(RunError::Work("no card"))), "{failed:?}");

    // The work may release it with its own transaction.
    let lock = granted(locks.exclusive("key").acquire().await);
    let done = lock.run(world.commit(lock.release_with(), "1")).await;
    done.expect("committed");
    let _lock = granted(locks.exclusive("key").acquire().await);
}

#[tokio::test]
async fn a_commit_that_released_the_lock_is_a_success_also_if_another_caller_has_it_already() {
    let world = World::start().await;
    let lost = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&lost);
    let observed = world.builder(world.engine.client()).observer(move |observation| {
        if matches!(observation, Observation::Lost) {
            seen.store(true, Ordering::SeqCst);
        }
    });
    let locks = observed.build();
    let lock = granted(locks.exclusive("key").acquire().await);
    let done = lock.run(async {
        world.commit(lock.release_with(), "1").await?;
        let successor = granted(locks.exclusive("key").acquire().await);
        Ok::<_, Cancellation>(successor)
    });
    let successor = done.await.expect("committed under the lock");
    assert!(!lost.load(Ordering::SeqCst), "nothing was lost");
    successor.heartbeat().await.expect("the next one has it");
}

/// The response to the commit is slow, the next one has the lock already, and a heartbeat comes in between.
#[tokio::test]
async fn work_whose_commit_has_released_the_lock_is_not_dropped_by_a_heartbeat() {
    let world = World::start().await;
    let locks = on_real_time(world.builder(world.engine.client())).build();
    let lock = granted(locks.exclusive("key").acquire().await);
    let done = lock.run(async {
        world.commit(lock.release_with(), "1").await?;
        let successor = granted(locks.exclusive("key").acquire().await);
        tokio::time::sleep(SHORT / 2).await;
        Ok::<_, Cancellation>(successor)
    });
    let successor = done.await.expect("committed under the lock");
    assert_eq!(successor.release().await.expect("a response"), Release::Released);
}

#[tokio::test]
async fn run_reports_a_lock_that_was_lost_before_the_work_ended() {
    let world = World::start().await;
    let locks = world.locks();
    let lock = granted(locks.exclusive("key").acquire().await);
    let done = lock.run(async {
        world.clock.advance(crate::world::LEASE + SKEW * 2);
        let _successor = granted(locks.exclusive("key").acquire().await);
        Ok::<_, &str>(())
    });
    let done = done.await;
    assert!(matches!(done, Err(RunError::Lock(Error::Lost))), "{done:?}");
    let _holder = held(locks.exclusive("key").acquire().await);
}

#[tokio::test]
async fn a_failed_release_does_not_hide_the_works_result() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| match request.number {
        1 => Disturbance::None,
        _ => Disturbance::FailBefore,
    });
    let lock = granted(world.locks_over(&wire).exclusive("key").acquire().await);
    assert_eq!(lock.run(async { Ok::<_, &str>(1) }).await.expect("done"), 1);
    let _holder = held(world.locks().exclusive("key").acquire().await);
}

#[tokio::test]
async fn no_work_is_started_after_the_lease_has_ended() {
    let world = World::start().await;
    let locks = on_real_time(world.builder(world.engine.client())).lease(Duration::from_millis(500)).build();
    let lock = granted(locks.exclusive("key").acquire().await);
    tokio::time::sleep(Duration::from_millis(600)).await;
    let begun = AtomicBool::new(false);
    let lost = lock.hold(async { begun.store(true, Ordering::SeqCst) }).await;
    assert!(matches!(lost, Err(Error::Unreachable(_))), "{lost:?}");
    assert!(!begun.load(Ordering::SeqCst));
    assert_eq!(lock.release().await.expect("a response"), Release::Released, "nobody else had it");
}

#[tokio::test]
async fn every_future_can_be_spawned() {
    fn sendable<F: Future + Send>(future: F) -> F {
        future
    }
    let world = World::start().await;
    let locks = world.locks();
    let lock = granted(sendable(locks.exclusive("key").acquire()).await);
    sendable(lock.heartbeat()).await.expect("renewed");
    sendable(lock.hold(async {})).await.expect("held");
    sendable(lock.run(async { Ok::<_, &str>(()) })).await.expect("done");
    let set = sendable(locks.all().exclusive("a").shared("b").acquire()).await.expect("a response");
    let set = set.granted().expect("locks");
    sendable(set.hold(async {})).await.expect("held");
    assert_eq!(sendable(set.release()).await.expect("a response"), Release::Released);
    let written = retry_on_conflict(RetryPolicy::default(), |_| true, || async { Ok::<_, &str>(()) });
    sendable(written).await.expect("written");
}

/// Nobody else has the lock, so its item looks as if the holder itself had released it.
#[tokio::test]
async fn a_lock_that_an_operator_removes_from_its_item_is_lost() {
    for shared in [false, true] {
        let world = World::start().await;
        let (builder, mut observations) = observed(on_real_time(world.builder(world.engine.client())));
        let locks = builder.build();
        let request = if shared { locks.shared("key") } else { locks.exclusive("key") };
        let lock = granted(request.acquire().await);
        let cancelled = Arc::new(AtomicBool::new(false));
        let lost = lock.hold(async {
            Box::pin(world.put(LOCKS, [("id", s("key")), ("fence", n(lock.fence()))])).await;
            cancelled_work(&cancelled).await;
        });
        let lost = in_time(lost).await;
        assert!(matches!(lost, Err(Error::Lost)), "shared: {shared}: {lost:?}");
        assert!(cancelled.load(Ordering::SeqCst), "shared: {shared}");
        in_time(next(&mut observations, Observation::Lost)).await;
        assert!(matches!(lock.heartbeat().await, Err(Error::Lost)), "shared: {shared}");
        assert_eq!(lock.release().await.expect("a response"), Release::Released, "nobody else had it");
    }
}

#[tokio::test]
async fn after_a_cancelled_commit_that_would_have_released_it_a_lost_lock_ends_the_work_when_its_lease_has_ended() {
    let world = World::start().await;
    let (builder, mut observations) = observed(on_real_time(world.builder(world.engine.client())));
    let lock = granted(builder.build().exclusive("key").acquire().await);
    let hasty = on_real_time(world.builder(world.engine.client())).clock(|| SystemTime::now() + PATIENCE * 10).build();
    let never = granted(hasty.exclusive("other").acquire().await);
    assert_eq!(never.release().await.expect("a response"), Release::Released);
    let cancelled = Arc::new(AtomicBool::new(false));
    let began = tokio::time::Instant::now();
    let lost = lock.hold(async {
        let guards = vec![lock.release_with(), never.check()];
        let refused = world.commit_over(&world.engine.client(), guards, "1").await.expect_err("cancelled");
        assert!(!refused.is_refused(0) && refused.is_refused(1), "{refused:?}");
        let _successor = granted(hasty.exclusive("key").acquire().await);
        cancelled_work(&cancelled).await;
    });
    let lost = in_time(lost).await;
    assert!(matches!(lost, Err(Error::Lost)), "{lost:?}");
    assert!(cancelled.load(Ordering::SeqCst));
    assert!(began.elapsed() > SHORT / 2, "not before: {:?}", began.elapsed());
    assert_eq!(lock.remaining(), Duration::ZERO);
    in_time(next(&mut observations, Observation::Lost)).await;
}

/// Work that never ends by itself, and says when it is dropped.
async fn cancelled_work(cancelled: &Arc<AtomicBool>) {
    struct OnDrop(Arc<AtomicBool>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    let _on_drop = OnDrop(Arc::clone(cancelled));
    std::future::pending::<()>().await;
}
