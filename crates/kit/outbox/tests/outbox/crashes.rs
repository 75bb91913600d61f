//! A crash, a broken connection or a lost response at every request of relay and sweeper: nothing is lost, and the table is empty in the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use embedded_dynamodb::{Disturbance, Wire};

use crate::world::{Fault, OLDER_THAN, World};

const EVENTS: usize = 45;

/// Counts the requests to publisher and table alike, and lets one of them go wrong.
#[derive(Clone)]
struct Steps {
    step: Arc<AtomicUsize>,
    disturbed: usize,
    fault: Fault,
}

impl Steps {
    fn next(&self) -> Fault {
        if self.step.fetch_add(1, Ordering::SeqCst) + 1 == self.disturbed { self.fault } else { Fault::None }
    }

    /// Disturbs one of the requests that go to the world's publisher, and over the wire that is returned.
    fn disturb(world: &World, disturbed: usize, fault: Fault) -> (Self, Wire) {
        let steps = Self { step: Arc::default(), disturbed, fault };
        let of_publisher = steps.clone();
        world.recorder.disturb(move || of_publisher.next());
        let (of_wire, recorder) = (steps.clone(), Arc::clone(&world.recorder));
        let wire = Wire::disturbed(move |_| match of_wire.next() {
            Fault::None => Disturbance::None,
            Fault::FailBefore => Disturbance::FailBefore,
            Fault::LoseResponse => Disturbance::LoseResponse,
            Fault::Die => {
                recorder.died.notify_one();
                Disturbance::Stall
            }
        });
        (steps, wire)
    }
}

/// A process that dies before its request is the same as one that dies after the request before it.
const FAULTS: [Fault; 3] = [Fault::FailBefore, Fault::LoseResponse, Fault::Die];

async fn check_end(world: &World, ids: &[String], context: &str) {
    let counts = world.recorder.counts();
    assert_eq!(counts.keys().collect::<Vec<_>>(), ids.iter().collect::<Vec<_>>(), "{context}: nothing is lost");
    assert!(counts.values().all(|count| *count <= 2), "{context}: {counts:?}");
    assert!(world.left().await.is_empty(), "{context}: the table is empty");
}

#[tokio::test]
async fn whichever_request_of_the_relay_fails_each_event_is_published_and_the_table_is_empty_in_the_end() {
    for fault in FAULTS {
        for disturbed in 1.. {
            let context = format!("request {disturbed}, {fault:?}");
            let world = World::start().await;
            let ids = world.commit_some(EVENTS).await;
            let records = world.records().await;
            let (steps, wire) = Steps::disturb(&world, disturbed, fault);
            let relay = world.relay_over(&wire);
            let stream = crate::world::batch(&records);
            let relayed = tokio::select! {
                relayed = relay.handle(&stream, world.later()) => Some(relayed),
                () = world.recorder.died.notified() => None,
            };
            let happened = steps.step.load(Ordering::SeqCst) >= disturbed;
            world.recorder.recover();

            // Lambda tries again: from the reported record on, or, if the process died, the whole batch.
            let rest = match relayed.map(|relayed| relayed.retry_from) {
                Some(None) => &[],
                Some(Some(number)) => {
                    let reported = |record: &serde_json::Value| crate::world::sequence_number(record) == number;
                    &records[records.iter().position(reported).expect("a record of the batch")..]
                }
                None => &records[..],
            };
            let again = world.relay().handle(&crate::world::batch(rest), world.later()).await;
            assert_eq!(again.retry_from, None, "{context}");
            world.clock.advance(OLDER_THAN * 2);
            let _ = world.sweeper().sweep(world.later()).await;
            check_end(&world, &ids, &context).await;
            if !happened {
                assert_eq!(disturbed, 5 + 5 + 1, "45 events are five batches of two requests");
                break;
            }
        }
    }
}

#[tokio::test]
async fn whichever_request_of_the_sweeper_fails_each_event_is_published_and_the_table_is_empty_in_the_end() {
    for fault in FAULTS {
        for disturbed in 1.. {
            let context = format!("request {disturbed}, {fault:?}");
            let world = World::start().await;
            let ids = world.commit_some(EVENTS).await;
            world.clock.advance(OLDER_THAN * 2);
            let (steps, wire) = Steps::disturb(&world, disturbed, fault);
            let sweeper = world.sweeper_over(&wire).page_size(30);
            tokio::select! {
                _ = sweeper.sweep(world.later()) => {}
                () = world.recorder.died.notified() => {}
            }
            let happened = steps.step.load(Ordering::SeqCst) >= disturbed;
            world.recorder.recover();

            // The schedule's next run.
            let _ = world.sweeper().sweep(world.later()).await;
            check_end(&world, &ids, &context).await;
            if !happened {
                assert_eq!(disturbed, 2 + 2 * (3 + 2) + 1, "two pages, of three and two batches of two requests");
                break;
            }
        }
    }
}

/// The stream's records are lost with the process, as after 24 hours: the sweeper alone finishes.
#[tokio::test]
async fn the_sweeper_publishes_what_a_dead_relay_has_left() {
    for disturbed in 1..=10 {
        let world = World::start().await;
        let ids = world.commit_some(EVENTS).await;
        let (_, wire) = Steps::disturb(&world, disturbed, Fault::Die);
        let relay = world.relay_over(&wire);
        let stream = world.stream().await;
        tokio::select! {
            _ = relay.handle(&stream, world.later()) => panic!("it dies"),
            () = world.recorder.died.notified() => {}
        }
        world.recorder.recover();
        world.clock.advance(OLDER_THAN * 2);
        let _ = world.sweeper().sweep(world.later()).await;
        check_end(&world, &ids, &format!("request {disturbed}")).await;
    }
}
