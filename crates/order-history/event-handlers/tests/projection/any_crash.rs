//! Any request can fail or lose its response, and the process can crash at any request. Every event is stored in the view in the end, and
//! no event is acknowledged before it is stored.

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
    /// The request has no effect, and its sender gets an error.
    FailBefore,
    /// The request takes effect, and its response is lost.
    LoseResponse,
    /// The process crashes before the request. It sends no more requests, and no response.
    CrashBefore,
    /// The process crashes after the request took effect.
    CrashAfter,
}

const FAULTS: [Fault; 4] = [Fault::FailBefore, Fault::LoseResponse, Fault::CrashBefore, Fault::CrashAfter];

#[tokio::test]
async fn no_event_is_lost_after_any_fault_at_any_request() {
    let undisturbed = deliver_story(None).await;
    assert!(undisturbed.len() > 2 * story().len(), "claims, updates and completions");
    let mut tested = BTreeSet::new();
    for fault in FAULTS {
        for at in 1..=undisturbed.len() {
            let operations = deliver_story(Some((fault, at))).await;
            // The messages of a batch are processed concurrently, so the number of requests may differ by one.
            tested.extend(operations.get(at - 1).map(|operation| (fault, operation.clone())));
        }
    }
    let phases = ["PutItem", "UpdateItem", "BatchWriteItem"];
    for fault in FAULTS {
        for phase in phases {
            assert!(tested.contains(&(fault, phase.to_owned())), "{fault:?} was not tested at a {phase}");
        }
    }
}

/// Delivers the events of the story, one batch for each type, until all are acknowledged. Returns the operations that were sent.
async fn deliver_story(disturbed: Option<(Fault, usize)>) -> Vec<String> {
    let world = World::create().await;
    let crashed = Arc::new(AtomicBool::new(false));
    let wire = Wire::disturbed({
        let crashed = Arc::clone(&crashed);
        move |request| {
            if crashed.load(Ordering::SeqCst) {
                return Disturbance::FailBefore;
            }
            match disturbed {
                Some((fault, at)) if at == request.number => {
                    crashed.store(matches!(fault, Fault::CrashBefore | Fault::CrashAfter), Ordering::SeqCst);
                    match fault {
                        Fault::FailBefore | Fault::CrashBefore => Disturbance::FailBefore,
                        Fault::LoseResponse | Fault::CrashAfter => Disturbance::LoseResponse,
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
        assert!(rounds <= 3, "after one fault, at most two more rounds are needed; not acknowledged: {queues:?}");
        for (&event_type, queue) in &mut queues {
            let result = world.function(event_type, &wire).invoke(queue).await;
            // A crashed process does not answer. A new process replaces it.
            if crashed.swap(false, Ordering::SeqCst) {
                continue;
            }
            let left = queue.not_acknowledged(&result);
            let acknowledged = queue.0.iter().filter(|(id, _)| !left.0.contains_key(*id));
            for (_, body) in acknowledged {
                assert_stored(&world, body).await;
            }
            *queue = left;
        }
        queues.retain(|_, queue| !queue.0.is_empty());
        world.expire_claims();
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
