//! The mark of a waiting writer, after the writer has given up or died. Where time is real, leases are short.

use std::time::Duration;

use dynamodb_locks::{Locks, Release, Takeover};
use embedded_dynamodb::{Disturbance, Wire};

use crate::world::{
    A_MILLISECOND, Clock, LEASE, LOCKS, SKEW, START, World, all_granted, builder_at, granted, held, in_time, millis,
};

const AN_HOUR: Duration = Duration::from_hours(1);
const SHORT: Duration = Duration::from_millis(1500);
const PATIENCE: Duration = Duration::from_secs(20);
/// Short, but long enough for some tries on a busy machine.
const WAIT: Duration = Duration::from_millis(500);

const BY_CLOCK: Takeover = Takeover::ByClock { max_skew: SKEW };

async fn is_marked(world: &World) -> bool {
    world.record("key").await.is_some_and(|record| record.contains_key("writerWaitsUntil"))
}

/// A writer with this clock waits for a reader, and dies while it waits. Then the reader releases the lock.
async fn leave_a_mark(world: &World, clock: &Clock) {
    let reader = granted(world.locks().shared("key").acquire().await);
    wait_and_die(world, clock).await;
    assert_eq!(reader.release().await.expect("a response"), Release::Released);
}

async fn wait_and_die(world: &World, clock: &Clock) {
    let writer = builder_at(world.engine.client(), clock).takeover(Takeover::ByObservation).build();
    let mut waiting = Box::pin(writer.exclusive("key").wait_for(PATIENCE).acquire());
    let marked = async {
        while !is_marked(world).await {
            tokio::time::sleep(A_MILLISECOND).await;
        }
    };
    tokio::select! {
        _ = &mut waiting => panic!("there is a reader"),
        () = in_time(marked) => {}
    }
}

#[tokio::test]
async fn a_reader_comes_in_at_once_when_both_a_reader_and_a_waiting_writer_are_dead() {
    let world = World::start().await;
    let locks = world.locks();
    let _dead_reader = granted(locks.shared("key").acquire().await);
    wait_and_die(&world, &world.clock).await;
    world.clock.advance(LEASE * 2);
    let _reader = granted(locks.shared("key").acquire().await);
}

#[tokio::test]
async fn the_reader_that_passes_a_dead_writers_mark_removes_it_for_those_who_do_not_wait() {
    let world = World::start().await;
    for (takeover, ahead) in
        [(Takeover::ByObservation, Duration::ZERO), (BY_CLOCK, AN_HOUR), (Takeover::Never, AN_HOUR)]
    {
        leave_a_mark(&world, &Clock::at(START + ahead)).await;
        let locks = world.builder(world.engine.client()).lease(SHORT).takeover(takeover).build();
        let holder = held(locks.shared("key").acquire().await);
        assert!(holder.writer_waits_until.is_some(), "{takeover:?}");
        let first = granted(locks.shared("key").wait_for(PATIENCE).acquire().await);
        assert!(!is_marked(&world).await, "{takeover:?}");
        let second = granted(locks.shared("key").acquire().await);
        for reader in [first, second] {
            assert_eq!(reader.release().await.expect("a response"), Release::Released);
        }
    }
}

#[tokio::test]
async fn a_reader_that_takes_over_from_a_dead_owner_removes_a_mark_too() {
    let world = World::start().await;
    leave_a_mark(&world, &Clock::at(START)).await;
    let owner = granted(builder_at(world.engine.client(), &Clock::at(START)).build().exclusive("key").acquire().await);
    // An exclusive grant removes the mark, so this one is put back.
    let record = world.record("key").await.expect("a record");
    let attributes = ["id", "fence", "owner", "expiresAt", "leaseMs", "nonce"].map(|name| (name, record[name].clone()));
    let [id, fence, holder, expires, lease, nonce] = attributes;
    let mark = ("writerWaitsUntil", millis(START + AN_HOUR));
    world.put(LOCKS, [id, fence, holder, expires, lease, nonce, mark]).await;

    world.clock.advance(LEASE * 2);
    let locks = world.builder(world.engine.client()).lease(SHORT).build();
    let reader = granted(locks.shared("key").wait_for(PATIENCE).acquire().await);
    assert_eq!(reader.fence(), owner.fence() + 1);
    let record = world.record("key").await.expect("a record");
    assert!(!record.contains_key("writerWaitsUntil") && !record.contains_key("owner"), "{record:?}");
}

#[tokio::test]
async fn a_set_with_a_shared_lock_removes_a_dead_writers_mark_too() {
    let world = World::start().await;
    leave_a_mark(&world, &Clock::at(START)).await;
    let locks = world.builder(world.engine.client()).lease(SHORT).takeover(Takeover::ByObservation).build();
    let set = locks.all().shared("key").exclusive("other").wait_for(PATIENCE).acquire().await;
    let _set = all_granted(set);
    assert!(!is_marked(&world).await);
}

#[tokio::test]
async fn a_writer_that_gives_up_lets_readers_in_at_once() {
    for takeover in [Takeover::ByObservation, BY_CLOCK] {
        let world = World::start().await;
        let wire = Wire::watched();
        let writer = world.builder(world.engine.client_over(&wire)).takeover(takeover).build();
        let locks = world.builder(world.engine.client()).takeover(takeover).build();
        let reader = granted(locks.shared("key").acquire().await);
        let giving_up = writer.exclusive("key").wait_for(WAIT).acquire();
        let waiting = async {
            while !is_marked(&world).await {
                tokio::time::sleep(A_MILLISECOND).await;
            }
            held(locks.shared("key").acquire().await)
        };
        let (given_up, kept_out) = tokio::join!(giving_up, waiting);
        let _holder = held(given_up);
        assert!(kept_out.writer_waits_until.is_some(), "{takeover:?}");
        assert!(!is_marked(&world).await, "{takeover:?}");
        let _other = granted(locks.shared("key").acquire().await);
        reader.heartbeat().await.expect("renewed");

        // Without a mark there is nothing to remove.
        let before = wire.requests().len();
        let _holder = held(writer.exclusive("key").acquire().await);
        assert_eq!(wire.requests().len(), before + 1, "{takeover:?}");
    }
}

#[tokio::test]
async fn a_set_that_gives_up_lets_readers_in_at_once() {
    let world = World::start().await;
    let locks = world.locks();
    let _reader = granted(locks.shared("key").acquire().await);
    let outcome = locks.all().exclusive("key").exclusive("other").wait_for(WAIT).acquire().await;
    assert!(outcome.expect("a response").granted().is_none());
    assert!(!is_marked(&world).await);
}

#[tokio::test]
async fn a_writer_that_gives_up_leaves_the_mark_of_another_writer_alone() {
    let world = World::start().await;
    let locks = world.locks();
    let _reader = granted(locks.shared("key").acquire().await);
    let patient = locks.exclusive("key").wait_for(PATIENCE).acquire();
    let impatient = async {
        let giving_up = locks.exclusive("key").wait_for(WAIT).acquire();
        // The other one's mark, which is later, replaces this one's.
        let _holder = held(giving_up.await);
        let _holder = held(locks.shared("key").acquire().await);
        world.record("key").await.expect("a record")["writerWaitsUntil"].clone()
    };
    tokio::select! {
        _ = patient => panic!("there is a reader"),
        mark = impatient => assert_eq!(mark, millis(START + LEASE)),
    }
}

/// The tries of a set are transactions, so every `UpdateItem` is a mark.
fn with_stalled_marks(world: &World) -> Locks {
    let wire = Wire::disturbed(|request| match request.operation.as_str() {
        "UpdateItem" => Disturbance::Stall,
        _ => Disturbance::None,
    });
    world.locks_over(&wire)
}

#[tokio::test]
async fn marks_that_are_not_answered_do_not_add_up_to_more_than_the_wait() {
    let world = World::start().await;
    let locks = world.locks();
    let mut request = with_stalled_marks(&world).all();
    for key in 0..4 {
        let _reader = granted(locks.shared(key.to_string()).acquire().await);
        request = request.exclusive(key.to_string());
    }
    let asked = tokio::time::Instant::now();
    let wait = WAIT * 4;
    assert!(request.wait_for(wait).acquire().await.expect("a response").granted().is_none());
    assert!(asked.elapsed() < wait * 3, "{:?}", asked.elapsed());
}
