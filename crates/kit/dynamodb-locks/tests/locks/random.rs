//! Random interleavings of several callers, whose clocks jump and whose responses get lost, against a model.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use dynamodb_locks::{Acquired, AcquiredAll, Error, Lock, LockSet, Locks, Release};
use embedded_dynamodb::{Disturbance, Wire};
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, TestRunner};

use crate::world::{Clock, START, World, builder_at};

const ACTORS: usize = 4;
const KEYS: usize = 2;

#[derive(Debug, Clone)]
enum Step {
    Exclusive {
        actor: usize,
        key: usize,
    },
    Shared {
        actor: usize,
        key: usize,
    },
    Both {
        actor: usize,
        shared: bool,
    },
    /// These choose one of all the locks that were ever granted: the latest, or any other.
    Heartbeat(Choice),
    Write(Choice),
    Commit(Choice),
    Release(Choice),
    /// The actor's clock jumps by so many milliseconds.
    Jump {
        actor: usize,
        by: i64,
    },
    /// The response to the actor's next request is lost, and the SDK sends it again.
    LoseResponse {
        actor: usize,
    },
}

#[derive(Debug, Clone, Copy)]
enum Choice {
    Latest,
    Any(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let choice = || prop_oneof![Just(Choice::Latest), any::<usize>().prop_map(Choice::Any)];
    // Leases are 10 seconds and the skew allowed is 1.
    let jump = prop_oneof![-2_000_i64..2_000, 5_000_i64..15_000, -3_600_000_i64..3_600_000];
    prop_oneof![
        3 => (0..ACTORS, 0..KEYS).prop_map(|(actor, key)| Step::Exclusive { actor, key }),
        2 => (0..ACTORS, 0..KEYS).prop_map(|(actor, key)| Step::Shared { actor, key }),
        1 => (0..ACTORS, any::<bool>()).prop_map(|(actor, shared)| Step::Both { actor, shared }),
        2 => choice().prop_map(Step::Heartbeat),
        3 => choice().prop_map(Step::Write),
        1 => choice().prop_map(Step::Commit),
        2 => choice().prop_map(Step::Release),
        3 => (0..ACTORS, jump).prop_map(|(actor, by)| Step::Jump { actor, by }),
        1 => (0..ACTORS).prop_map(|actor| Step::LoseResponse { actor }),
    ]
}

#[test]
fn no_write_is_accepted_under_a_stale_fence_and_fences_strictly_rise() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let world = runtime.block_on(World::start());
    let case = AtomicU32::new(0);
    let accepted = AtomicU32::new(0);
    let refused = AtomicU32::new(0);
    let config = Config { cases: 64, failure_persistence: None, ..Config::default() };
    let steps = proptest::collection::vec(step(), 1..60);
    let run = TestRunner::new(config).run(&steps, |steps| {
        let case = case.fetch_add(1, Ordering::SeqCst);
        let model = runtime.block_on(async {
            let mut model = Model::new(&world, case);
            for step in steps {
                model.apply(step).await;
            }
            model
        });
        accepted.fetch_add(model.accepted, Ordering::SeqCst);
        refused.fetch_add(model.refused, Ordering::SeqCst);
        Ok(())
    });
    run.unwrap_or_else(|failure| panic!("{failure}"));
    let counts = (accepted.into_inner(), refused.into_inner());
    assert!(counts.0 > 20 && counts.1 > 20, "a test of both: {counts:?}");
}

struct Actor {
    clock: Clock,
    millis: i64,
    lose: Arc<AtomicBool>,
    locks: Locks,
}

/// A lock that was granted, in the order of the grants.
struct Grant {
    lock: Lock,
    key: String,
    released: bool,
}

struct Model<'a> {
    world: &'a World,
    case: u32,
    actors: Vec<Actor>,
    grants: Vec<Grant>,
    /// The highest fence under which a write was accepted, by key.
    written: HashMap<String, u64>,
    accepted: u32,
    refused: u32,
}

impl<'a> Model<'a> {
    fn new(world: &'a World, case: u32) -> Self {
        let actor = |_| {
            let clock = Clock::default();
            let lose = Arc::new(AtomicBool::new(false));
            let told = Arc::clone(&lose);
            let wire = Wire::disturbed(move |_| {
                if told.swap(false, Ordering::SeqCst) { Disturbance::LoseResponse } else { Disturbance::None }
            });
            let locks = builder_at(world.retrying_client_over(&wire), &clock).build();
            Actor { clock, millis: 0, lose, locks }
        };
        let actors = (0..ACTORS).map(actor).collect();
        Self { world, case, actors, grants: Vec::new(), written: HashMap::new(), accepted: 0, refused: 0 }
    }

    async fn apply(&mut self, step: Step) {
        match step {
            Step::Exclusive { actor, key } => {
                let key = self.key(key);
                let acquired = self.actors[actor].locks.exclusive(&key).acquire().await.expect("a response");
                self.acquired(&[&key], single(acquired));
            }
            Step::Shared { actor, key } => {
                let key = self.key(key);
                let acquired = self.actors[actor].locks.shared(&key).acquire().await.expect("a response");
                self.acquired(&[&key], single(acquired));
            }
            Step::Both { actor, shared } => {
                let (one, other) = (self.key(0), self.key(1));
                let request = self.actors[actor].locks.all().exclusive(&one);
                let request = if shared { request.shared(&other) } else { request.exclusive(&other) };
                let granted = match request.acquire().await.expect("a response") {
                    AcquiredAll::Granted(set) => Some(locks_of(set)),
                    AcquiredAll::Held { .. } => None,
                };
                self.acquired(&[&one, &other], granted);
            }
            Step::Heartbeat(choice) => {
                let Some(index) = self.choose(choice) else { return };
                let renewed = match self.grants[index].lock.heartbeat().await {
                    Ok(()) => true,
                    Err(Error::Lost) => false,
                    Err(error) => panic!("{error:?}"),
                };
                self.expect(index, renewed);
            }
            Step::Write(choice) => {
                let Some(index) = self.choose(choice) else { return };
                let written = self.world.commit(self.grants[index].lock.check(), "write").await.is_ok();
                self.expect_write(index, written);
            }
            Step::Commit(choice) => {
                let Some(index) = self.choose(choice) else { return };
                let written = self.world.commit(self.grants[index].lock.release_with(), "commit").await.is_ok();
                self.expect_write(index, written);
                self.grants[index].released |= written;
            }
            Step::Release(choice) => {
                let Some(index) = self.choose(choice) else { return };
                let released = self.grants[index].lock.release().await.expect("a response") == Release::Released;
                if self.grants[index].released {
                    // Repeated: it says the same until another raises the fence.
                    assert_eq!(released, !self.is_superseded(index), "a second release");
                } else {
                    self.expect(index, released);
                }
                self.grants[index].released |= released;
            }
            Step::Jump { actor, by } => {
                let actor = &mut self.actors[actor];
                actor.millis += by;
                let now = i64::try_from(START.as_millis()).expect("a near time") + actor.millis;
                actor.clock.set(Duration::from_millis(now.try_into().expect("after the epoch")));
            }
            Step::LoseResponse { actor } => self.actors[actor].lose.store(true, Ordering::SeqCst),
        }
    }

    fn key(&self, key: usize) -> String {
        format!("{}-{key}", self.case)
    }

    fn choose(&self, choice: Choice) -> Option<usize> {
        let count = self.grants.len();
        match choice {
            Choice::Latest => count.checked_sub(1),
            Choice::Any(index) => index.checked_rem(count),
        }
    }

    fn acquired(&mut self, keys: &[&str], granted: Option<Vec<Lock>>) {
        let Some(locks) = granted else {
            let occupied = keys.iter().any(|key| self.is_occupied(key));
            assert!(occupied, "a free lock was refused: {keys:?}");
            return;
        };
        for (lock, key) in locks.into_iter().zip(keys) {
            for before in self.grants.iter().filter(|grant| grant.key == **key) {
                let (fence, earlier) = (lock.fence(), before.lock.fence());
                let rises = if lock.is_shared() { fence >= earlier } else { fence > earlier };
                assert!(rises, "{key}: fence {fence} after {earlier}");
            }
            self.grants.push(Grant { lock, key: (*key).to_owned(), released: false });
        }
    }

    fn expect_write(&mut self, index: usize, written: bool) {
        self.expect(index, written);
        if written {
            let Grant { lock, key, .. } = &self.grants[index];
            let highest = self.written.entry(key.clone()).or_default();
            assert!(lock.fence() >= *highest, "a write under fence {} after {highest}", lock.fence());
            *highest = lock.fence();
            self.accepted += 1;
        } else {
            self.refused += 1;
        }
    }

    /// A lock counts from its grant to its release or to the next grant that excludes or replaces it, whatever the clocks say.
    #[track_caller]
    fn expect(&self, index: usize, accepted: bool) {
        let grant = &self.grants[index];
        let ended = grant.released || self.is_superseded(index);
        assert_eq!(accepted, !ended, "grant {index} of {}: {:?}", grant.key, grant.lock);
    }

    /// Readers that share a lock have the same fence; every grant that ends another one has a higher fence.
    fn is_superseded(&self, index: usize) -> bool {
        let Grant { lock, key, .. } = &self.grants[index];
        self.grants[index + 1..].iter().any(|later| later.key == *key && later.lock.fence() > lock.fence())
    }

    fn is_occupied(&self, key: &str) -> bool {
        let on_key = |index: &usize| self.grants[*index].key == key;
        (0..self.grants.len()).filter(on_key).any(|index| !self.grants[index].released && !self.is_superseded(index))
    }
}

fn single(acquired: Acquired) -> Option<Vec<Lock>> {
    acquired.granted().map(|lock| vec![lock])
}

fn locks_of(set: LockSet) -> Vec<Lock> {
    set.into_iter().collect()
}
