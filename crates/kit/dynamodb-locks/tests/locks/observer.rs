//! The hook for metrics.

use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use dynamodb_locks::{Error, Locks, Observation, Release};
use embedded_dynamodb::{Disturbance, Wire};

use crate::world::{LEASE, World, all_granted, granted, held, in_time};

#[tokio::test]
async fn the_observer_sees_everything_that_happens_to_a_lock() {
    let world = World::start().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let observer = move |observation| sink.lock().expect("not poisoned").push(observation);
    let locks = world.builder(world.engine.client()).observer(observer).build();

    let first = granted(locks.exclusive("key").acquire().await);
    first.heartbeat().await.expect("renewed");
    let _holder = held(locks.exclusive("key").acquire().await);
    world.clock.advance(LEASE * 2);
    let second = granted(locks.exclusive("key").acquire().await);
    assert_eq!(first.release().await.expect("a response"), Release::Lost);
    assert_eq!(second.release().await.expect("a response"), Release::Released);
    assert!(matches!(second.heartbeat().await, Err(Error::Lost)));

    let seen = seen.lock().expect("not poisoned").clone();
    assert!(
        matches!(
            seen[..],
            [
                Observation::Acquired { taken_over: false, .. },
                Observation::Renewed,
                Observation::Refused { .. },
                Observation::Acquired { taken_over: true, .. },
                Observation::Lost,
                // What its holder has released is not lost: the heartbeat adds nothing.
                Observation::Released,
            ]
        ),
        "{seen:?}"
    );
}

/// Locks, and for each one that they were granted, whether it was taken over.
fn with_takeovers(world: &World, client: Client) -> (Locks, impl Fn() -> Vec<bool>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let observer = move |observation| {
        if let Observation::Acquired { taken_over, .. } = observation {
            sink.lock().expect("not poisoned").push(taken_over);
        }
    };
    let locks = world.builder(client).observer(observer).build();
    (locks, move || std::mem::take(&mut *seen.lock().expect("not poisoned")))
}

#[tokio::test]
async fn only_a_lock_that_its_holders_did_not_release_counts_as_taken_over() {
    let world = World::start().await;
    let (locks, takeovers) = with_takeovers(&world, world.engine.client());
    let first = granted(locks.shared("key").acquire().await);
    let second = granted(locks.shared("key").acquire().await);
    assert_eq!(takeovers(), [false, false], "a reader that joins others takes nothing over");
    for reader in [first, second] {
        assert_eq!(reader.release().await.expect("a response"), Release::Released);
    }

    let _dead_reader = granted(locks.shared("key").acquire().await);
    world.clock.advance(LEASE * 2);
    let _dead_reader = granted(locks.shared("key").acquire().await);
    world.clock.advance(LEASE * 2);
    let _dead_writer = granted(locks.exclusive("key").acquire().await);
    world.clock.advance(LEASE * 2);
    let last = granted(locks.shared("key").acquire().await);
    assert_eq!(takeovers(), [false, true, true, true]);

    assert_eq!(last.release().await.expect("a response"), Release::Released);
    let _writer = granted(locks.exclusive("key").acquire().await);
    assert_eq!(takeovers(), [false]);
}

#[tokio::test]
async fn in_a_set_too_only_locks_that_their_holders_did_not_release_count_as_taken_over() {
    let world = World::start().await;
    let (locks, takeovers) = with_takeovers(&world, world.engine.client());
    let released = granted(locks.exclusive("a released one").acquire().await);
    assert_eq!(released.release().await.expect("a response"), Release::Released);
    let _reader = granted(locks.shared("with a reader").acquire().await);
    takeovers();
    let _set = all_granted(locks.all().exclusive("a released one").shared("with a reader").acquire().await);
    assert_eq!(takeovers(), [false, false]);

    let _dead_writer = granted(locks.exclusive("a dead writer's").acquire().await);
    let _dead_reader = granted(locks.shared("a dead reader's").acquire().await);
    world.clock.advance(LEASE * 2);
    takeovers();
    let dead = all_granted(locks.all().exclusive("a dead writer's").exclusive("a dead reader's").acquire().await);
    assert_eq!(takeovers(), [true, true]);
    assert_eq!(dead.release().await.expect("a response"), Release::Released);

    let _dead_writer = granted(locks.exclusive("a dead writer's").acquire().await);
    let _dead_reader = granted(locks.shared("a dead reader's").acquire().await);
    world.clock.advance(LEASE * 2);
    takeovers();
    let _set = all_granted(locks.all().shared("a dead writer's").shared("a dead reader's").acquire().await);
    assert_eq!(takeovers(), [true, true]);
}

#[tokio::test]
async fn a_set_whose_first_response_was_lost_is_not_taken_over_from_oneself() {
    let world = World::start().await;
    let wire = Wire::disturbed(|request| match request.number {
        1 => Disturbance::LoseResponse,
        _ => Disturbance::None,
    });
    let (locks, takeovers) = with_takeovers(&world, world.engine.client_over(&wire));
    let _set = all_granted(in_time(locks.all().exclusive("a").shared("b").wait_for(LEASE).acquire()).await);
    assert_eq!(takeovers(), [false, false]);
    assert!(wire.count("TransactWriteItems") > 1);
}
