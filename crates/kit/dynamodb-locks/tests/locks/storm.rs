//! Many callers at once, with leases so short that most work outlives them.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use dynamodb_locks::Takeover;
use futures_util::future::join_all;

use crate::world::{A_MILLISECOND, World, granted};

#[tokio::test]
async fn however_many_holders_outlive_their_leases_no_update_is_lost() {
    let world = World::start().await;
    let by_clock = Takeover::ByClock { max_skew: Duration::ZERO };
    let builder = || world.builder(world.engine.client()).clock(SystemTime::now).takeover(by_clock);
    let locks = builder().lease(A_MILLISECOND * 25).build();
    let (commits, refusals) = (AtomicU32::new(0), AtomicU32::new(0));
    let workers = (0..8_u32).map(|worker| {
        let (world, locks, commits, refusals) = (&world, &locks, &commits, &refusals);
        async move {
            for round in 0..15 {
                let lock = granted(locks.exclusive("key").wait_for(Duration::from_mins(1)).acquire().await);
                let count: u32 = world.data().await.map_or(0, |count| count.parse().expect("a number"));
                // Some stay much longer than their lease, and write what they read before.
                let stay = if (worker + round) % 3 == 0 { 60 } else { 1 };
                tokio::time::sleep(A_MILLISECOND * stay).await;
                match world.commit(lock.release_with(), &(count + 1).to_string()).await {
                    Ok(()) => commits.fetch_add(1, Ordering::SeqCst),
                    Err(_) => refusals.fetch_add(1, Ordering::SeqCst),
                };
            }
        }
    });
    join_all(workers).await;
    let (commits, refusals) = (commits.into_inner(), refusals.into_inner());
    assert!(commits > 0 && refusals > 0, "{commits} commits, {refusals} refusals");
    assert_eq!(world.data().await, Some(commits.to_string()));
}
