//! Readers together, writers alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use dynamodb_locks::{Acquired, Release};
use embedded_dynamodb::Wire;
use futures_util::future::join_all;

use crate::world::{A_MILLISECOND, LEASE, LOCKS, SKEW, START, World, granted, held, millis, s};

const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn readers_hold_the_lock_together_and_a_writer_comes_after_the_last_of_them() {
    let world = World::start().await;
    let locks = world.locks();
    let one = granted(locks.shared("key").acquire().await);
    let two = granted(locks.shared("key").acquire().await);
    assert_eq!(one.fence(), two.fence());
    let holder = held(locks.exclusive("key").acquire().await);
    assert_eq!((holder.owner, holder.readers), (None, 2));

    for reader in [&one, &two] {
        world.commit(reader.check(), "read").await.expect("committed");
        reader.heartbeat().await.expect("renewed");
    }
    assert_eq!(one.release().await.expect("a response"), Release::Released);
    let _holder = held(locks.exclusive("key").acquire().await);
    world.commit(two.release_with(), "read").await.expect("committed");
    let writer = granted(locks.exclusive("key").acquire().await);
    assert!(writer.fence() > two.fence());

    let holder = held(locks.shared("key").acquire().await);
    assert_eq!(holder.owner.as_deref(), Some(writer.owner()));
    assert_eq!(writer.release().await.expect("a response"), Release::Released);
    let _reader = granted(locks.shared("key").acquire().await);
}

#[tokio::test]
async fn a_reader_is_one_request_also_if_others_read_already() {
    let world = World::start().await;
    let wire = Wire::watched();
    let locks = world.locks_over(&wire);
    for readers in 1..=3 {
        let _reader = granted(locks.shared("key").acquire().await);
        assert_eq!(wire.requests().len(), readers);
    }
}

#[tokio::test]
async fn a_writer_that_waits_is_not_starved_by_readers_that_keep_coming() {
    let world = World::start().await;
    let real = || world.builder(world.engine.client()).clock(SystemTime::now);
    let done = Arc::new(AtomicBool::new(false));
    // Each reader holds the lock until after the next one has asked: without a writer there is never a gap.
    let readers = async {
        let locks = real().build();
        let (mut reads, mut refusals) = (0_u32, 0_u32);
        let mut present = Some(granted(locks.shared("key").acquire().await));
        while !done.load(Ordering::SeqCst) {
            let next = match locks.shared("key").acquire().await.expect("a response") {
                Acquired::Granted(lock) => {
                    reads += 1;
                    Some(lock)
                }
                Acquired::Held(_) => {
                    refusals += 1;
                    None
                }
            };
            if let Some(lock) = present {
                assert_eq!(lock.release().await.expect("a response"), Release::Released);
            }
            present = next;
            tokio::time::sleep(A_MILLISECOND).await;
        }
        (reads, refusals)
    };
    let writer = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let writer = granted(real().build().exclusive("key").wait_for(PATIENCE).acquire().await);
        done.store(true, Ordering::SeqCst);
        writer
    };
    let asked = tokio::time::Instant::now();
    let ((reads, refusals), _writer) = tokio::join!(readers, writer);
    assert!(reads > 0 && refusals > 0, "{reads} reads, {refusals} refusals");
    assert!(asked.elapsed() < LEASE, "no lease had to end: {:?}", asked.elapsed());
}

#[tokio::test]
async fn a_writer_that_dies_while_it_waits_keeps_readers_out_for_a_lease_at_most() {
    let world = World::start().await;
    let locks = world.locks();
    let reader = granted(locks.shared("key").acquire().await);
    let mut waiting = Box::pin(locks.exclusive("key").wait_for(PATIENCE).acquire());
    let marked = async {
        while world.record("key").await.expect("a record").get("writerWaitsUntil") != Some(&millis(START + LEASE)) {
            tokio::time::sleep(A_MILLISECOND).await;
        }
    };
    tokio::select! {
        _ = &mut waiting => panic!("there is a reader"),
        () = marked => {}
    }
    drop(waiting);
    reader.heartbeat().await.expect("readers that are there stay");
    let _holder = held(locks.shared("key").acquire().await);
    world.clock.advance(LEASE + A_MILLISECOND);
    let _reader = granted(locks.shared("key").acquire().await);
}

#[tokio::test]
async fn a_caller_that_does_not_wait_keeps_nobody_out() {
    let world = World::start().await;
    let locks = world.locks();
    let _reader = granted(locks.shared("key").acquire().await);
    let _holder = held(locks.exclusive("key").acquire().await);
    let _reader = granted(locks.shared("key").acquire().await);
}

#[tokio::test]
async fn a_dead_reader_expires_and_what_it_writes_later_is_refused() {
    let world = World::start().await;
    let locks = world.locks();
    let dead = granted(locks.shared("key").acquire().await);
    world.clock.set(START + LEASE + SKEW);
    let _holder = held(locks.exclusive("key").acquire().await);
    world.clock.advance(A_MILLISECOND);
    let writer = granted(locks.exclusive("key").acquire().await);
    for guard in [dead.check(), dead.release_with()] {
        let refused = world.commit(guard, "dead").await.expect_err("refused");
        assert!(refused.is_refused(0));
    }
    assert!(matches!(dead.heartbeat().await, Err(dynamodb_locks::Error::Lost)));
    assert_eq!(dead.release().await.expect("a response"), Release::Lost);
    world.commit(writer.check(), "writer").await.expect("committed");
}

#[tokio::test]
async fn a_dead_reader_does_not_stay_in_the_record_for_ever() {
    let world = World::start().await;
    let locks = world.locks();
    let _dead = granted(locks.shared("key").acquire().await);
    world.clock.advance(LEASE * 2);
    let alive = granted(locks.shared("key").acquire().await);
    let record = world.record("key").await.expect("a record");
    assert_eq!(record["readers"].as_ss(), Ok(&vec![alive.owner().to_owned()]));
    assert_eq!(alive.release().await.expect("a response"), Release::Released);
    let _writer = granted(locks.exclusive("key").acquire().await);
}

#[tokio::test]
async fn a_short_lease_does_not_cut_another_readers_long_one() {
    let world = World::start().await;
    let long = granted(world.locks().shared("key").acquire().await);
    let short = world.builder(world.engine.client()).lease(LEASE / 10).build();
    let brief = granted(short.shared("key").acquire().await);
    let until = async || world.record("key").await.expect("a record")["readersUntil"].clone();
    assert_eq!(until().await, millis(START + LEASE));
    brief.heartbeat().await.expect("renewed");
    assert_eq!(until().await, millis(START + LEASE));
    assert_eq!(world.record("key").await.expect("a record")["leaseMs"], millis(LEASE));

    world.clock.advance(LEASE / 2);
    long.heartbeat().await.expect("renewed");
    assert_eq!(until().await, millis(START + LEASE + LEASE / 2));
    brief.heartbeat().await.expect("renewed");
    assert_eq!(until().await, millis(START + LEASE + LEASE / 2));
}

#[tokio::test]
async fn a_reader_that_takes_over_from_a_dead_writer_shuts_it_out() {
    let world = World::start().await;
    let locks = world.locks();
    let zombie = granted(locks.exclusive("key").acquire().await);
    world.clock.advance(LEASE * 2);
    let reader = granted(locks.shared("key").acquire().await);
    assert_eq!(reader.fence(), zombie.fence() + 1);
    let refused = world.commit(zombie.check(), "zombie").await.expect_err("refused");
    assert!(refused.is_refused(0));
    assert!(matches!(zombie.heartbeat().await, Err(dynamodb_locks::Error::Lost)));
    assert_eq!(zombie.release().await.expect("a response"), Release::Lost);
    world.commit(reader.check(), "reader").await.expect("committed");
    let _other = granted(locks.shared("key").acquire().await);
    let _holder = held(locks.exclusive("key").acquire().await);
}

#[tokio::test]
async fn of_racing_readers_and_writers_either_readers_or_one_writer_get_in() {
    let world = World::start().await;
    let locks = world.locks();
    for round in 0..10 {
        let key = format!("round {round}");
        let racers = (0..30).map(|racer| {
            let request = if racer % 3 == 0 { locks.exclusive(&key) } else { locks.shared(&key) };
            request.acquire()
        });
        let granted: Vec<_> =
            join_all(racers).await.into_iter().filter_map(|response| response.expect("a response").granted()).collect();
        let writers = granted.iter().filter(|lock| !lock.is_shared()).count();
        let readers = granted.len() - writers;
        assert!((writers == 1 && readers == 0) || (writers == 0 && readers > 0), "{writers} and {readers}");
    }
}

/// The SDK repeats a request that is not answered. The first copy may arrive much later, and puts the reader's token back.
#[tokio::test]
async fn a_late_copy_of_an_acquisition_does_not_let_a_replaced_reader_write() {
    let world = World::start().await;
    let locks = world.locks();
    let zombie = granted(locks.shared("key").acquire().await);
    let first_copy = world.record("key").await.expect("a record");
    world.clock.advance(LEASE * 2);
    let writer = granted(locks.exclusive("key").acquire().await);
    assert_eq!(writer.release().await.expect("a response"), Release::Released);

    let fence = world.record("key").await.expect("a record")["fence"].clone();
    let copy = ["readers", "readersUntil", "leaseMs", "nonce"].map(|name| (name, first_copy[name].clone()));
    world
        .put(
            LOCKS,
            [("id", s("key")), ("fence", fence), copy[0].clone(), copy[1].clone(), copy[2].clone(), copy[3].clone()],
        )
        .await;

    for guard in [zombie.check(), zombie.release_with()] {
        let refused = world.commit(guard, "zombie").await.expect_err("refused");
        assert!(refused.is_refused(0));
    }
    assert!(matches!(zombie.heartbeat().await, Err(dynamodb_locks::Error::Lost)));
    assert_eq!(zombie.release().await.expect("a response"), Release::Lost);
}

#[tokio::test]
async fn a_reader_that_other_readers_replaced_has_lost_its_lock() {
    let world = World::start().await;
    let locks = world.locks();
    let dead = granted(locks.shared("key").acquire().await);
    world.clock.advance(LEASE * 2);
    let alive = granted(locks.shared("key").acquire().await);
    assert!(matches!(dead.heartbeat().await, Err(dynamodb_locks::Error::Lost)));
    assert_eq!(dead.release().await.expect("a response"), Release::Lost);
    alive.heartbeat().await.expect("its successor is untouched");
    world.commit(alive.check(), "alive").await.expect("committed");
}

/// A writer that waits for longer than a lease keeps readers out all the time, not only until its first mark has passed.
#[tokio::test]
async fn a_waiting_writer_renews_its_mark_before_it_passes() {
    let world = World::start().await;
    let locks = world.locks();
    let _reader = granted(locks.shared("key").acquire().await);
    let waiting = locks.exclusive("key").wait_for(PATIENCE).acquire();
    let mark = async |until| {
        while world.record("key").await.expect("a record").get("writerWaitsUntil") != Some(&millis(until)) {
            tokio::time::sleep(A_MILLISECOND).await;
        }
    };
    let marks = async {
        mark(START + LEASE).await;
        // The first mark has not passed, but half of it has.
        world.clock.advance(LEASE / 2);
        let renewed = mark(START + LEASE + LEASE / 2);
        tokio::time::timeout(PATIENCE / 2, renewed).await.expect("the mark is renewed");
        let _holder = held(locks.shared("key").acquire().await);
    };
    tokio::select! {
        _ = waiting => panic!("there is a reader"),
        () = marks => {}
    }
}

/// The tries of a set are transactions, so every `UpdateItem` is a mark.
#[tokio::test]
async fn a_waiting_writer_marks_once_and_only_where_it_waits_for_readers() {
    let world = World::start().await;
    let locks = world.locks();
    let _reader = granted(locks.shared("read").acquire().await);
    let _other_reader = granted(locks.shared("read by both").acquire().await);
    let _owner = granted(locks.exclusive("owned").acquire().await);
    let wire = Wire::watched();
    let wanted = world.locks_over(&wire).all().exclusive("read").exclusive("owned").shared("read by both");
    let waiting = wanted.wait_for(PATIENCE).acquire();
    let tries = async {
        // The first ones show what is there.
        while wire.count("TransactWriteItems") < 6 {
            tokio::time::sleep(A_MILLISECOND).await;
        }
    };
    tokio::select! {
        _ = waiting => panic!("there are others"),
        () = tries => {}
    }
    assert_eq!(wire.count("UpdateItem"), 1);
    let marked = async |key| world.record(key).await.expect("a record").contains_key("writerWaitsUntil");
    assert_eq!([marked("read").await, marked("owned").await, marked("read by both").await], [true, false, false]);
}
