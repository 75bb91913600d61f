//! The same batch is sent to many handlers at the same time.

use embedded_dynamodb::Wire;
use futures_util::future::join_all;
use order_events::EventType;
use order_view::fold;

use crate::world::{Batch, World, orders_created};

#[tokio::test]
async fn if_eight_handlers_get_the_same_batch_every_event_has_one_effect_and_is_acknowledged() {
    let (world, wire) = (World::create().await, Wire::watched());
    let events = orders_created(10);
    let batch = Batch::of_events(&events);
    let functions: Vec<_> = (0..8).map(|_| world.function(EventType::OrderCreated, &wire)).collect();

    let mut left = vec![batch; functions.len()];
    let mut rounds = 0;
    while !left.is_empty() {
        rounds += 1;
        assert!(rounds <= 3, "not acknowledged: {left:?}");
        let results = join_all(left.iter().zip(&functions).map(|(batch, function)| function.invoke(batch))).await;
        left = left
            .iter()
            .zip(results)
            .map(|(batch, result)| {
                assert!(result.is_ok(), "in progress is not an error: {result:?}");
                batch.not_acknowledged(&result)
            })
            .filter(|left| !left.0.is_empty())
            .collect();
    }

    assert_eq!(wire.count("UpdateItem"), events.len(), "one effect for each event");
    for (order_id, state) in fold(&events).unwrap().states {
        assert_eq!(world.state(&order_id.parse().unwrap()).await, Some(state));
    }
}
