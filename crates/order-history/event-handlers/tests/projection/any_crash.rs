//! Whatever request fails or loses its answer, and wherever the process dies: every event ends in the view, and none
//! is acknowledged before it is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use embedded_dynamodb::{Disturbance, Wire};
use order_events::{EventType, Message};
use order_view::{effect, fold};
use sample_events::story;

use crate::world::{Batch, World};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// The request never arrives.
    FailBefore,
    /// The request takes effect, its answer is lost.
    LoseAnswer,
    /// The process dies before the request: neither it nor anything after it arrives, and nobody is answered.
    DieBefore,
    /// The process dies after the request took effect.
    DieAfter,
}

const FAULTS: [Fault; 4] = [Fault::FailBefore, Fault::LoseAnswer, Fault::DieBefore, Fault::DieAfter];

#[tokio::test]
async fn every_fault_at_every_request_loses_nothing() {
    let undisturbed = tell_story(None).await;
    assert!(undisturbed.len() > 2 * story().len(), "claims, updates and completions");
    let mut met = BTreeSet::new();
    for fault in FAULTS {
        for at in 1..=undisturbed.len() {
            let operations = tell_story(Some((fault, at))).await;
            // The messages of a batch race, so that a telling may need a request more or less.
            met.extend(operations.get(at - 1).map(|operation| (fault, operation.clone())));
        }
    }
    let phases = ["PutItem", "UpdateItem", "BatchWriteItem"];
    for fault in FAULTS {
        for phase in phases {
            assert!(met.contains(&(fault, phase.to_owned())), "{fault:?} met no {phase}");
        }
    }
}

/// Delivers the story, each type's events as one batch, until all is acknowledged; gives the operations sent.
async fn tell_story(disturbed: Option<(Fault, usize)>) -> Vec<String> {
    let world = World::create().await;
    let dead = Arc::new(AtomicBool::new(false));
    let wire = Wire::disturbed({
        let dead = Arc::clone(&dead);
        move |request| {
            if dead.load(Ordering::SeqCst) {
                return Disturbance::FailBefore;
            }
            match disturbed {
                Some((fault, at)) if at == request.number => {
                    dead.store(matches!(fault, Fault::DieBefore | Fault::DieAfter), Ordering::SeqCst);
                    match fault {
                        Fault::FailBefore | Fault::DieBefore => Disturbance::FailBefore,
                        Fault::LoseAnswer | Fault::DieAfter => Disturbance::LoseAnswer,
                    }
                }
                _ => Disturbance::None,
            }
        }
    });

    let mut queues: BTreeMap<EventType, Batch> = BTreeMap::new();
    for &event_type in EventType::ALL {
        let events = story().into_iter().filter(|event| event.event_type() == event_type);
        queues.insert(event_type, Batch::of_events(&events.collect::<Vec<_>>()));
    }
    let mut rounds = 0;
    while !queues.is_empty() {
        rounds += 1;
        assert!(rounds <= 3, "one fault costs at most two more rounds; left: {queues:?}");
        for (&event_type, queue) in &mut queues {
            let answer = world.function(event_type, &wire).invoke(queue).await;
            // A dead process answers nothing, and its successor starts afresh.
            if dead.swap(false, Ordering::SeqCst) {
                continue;
            }
            let left = queue.left_after(&answer);
            let acknowledged = queue.0.iter().filter(|(id, _)| !left.0.contains_key(*id));
            for (_, body) in acknowledged {
                assert_stored(&world, body).await;
            }
            *queue = left;
        }
        queues.retain(|_, queue| !queue.0.is_empty());
        world.pass_time();
    }

    let story = story();
    let order_id = story[0].order_id();
    let expected = fold(&story).unwrap().states.remove(order_id.as_str());
    assert_eq!(world.state(&order_id).await, expected, "after {disturbed:?}");
    wire.requests().into_iter().map(|request| request.operation).collect()
}

async fn assert_stored(world: &World, body: &str) {
    let event = Message::parse(body).unwrap().event;
    let state = world.state(&event.order_id()).await.unwrap_or_default();
    let effect = effect(&event).unwrap();
    let missing: Vec<_> = effect.pieces.iter().filter(|piece| state.is_news(piece)).collect();
    assert!(missing.is_empty(), "acknowledged, but not stored: {missing:?}");
}
