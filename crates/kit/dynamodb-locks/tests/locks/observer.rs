//! The hook for metrics.

use std::sync::{Arc, Mutex};

use dynamodb_locks::{Observation, Release};

use crate::world::{LEASE, World, granted, held};

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
    assert_eq!(first.release().await.expect("an answer"), Release::Lost);
    assert_eq!(second.release().await.expect("an answer"), Release::Released);

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
                Observation::Released,
            ]
        ),
        "{seen:?}"
    );
}
