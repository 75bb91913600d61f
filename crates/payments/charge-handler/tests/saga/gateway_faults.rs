//! Every fault of the stand-in gateway, with nothing but the queue to repeat a charge.

use std::time::Duration;

use payment_intents::StateName;

use crate::world::World;

#[tokio::test]
async fn every_fault_ends_right() {
    // The amount, how the intent ends, and the reasons of the failures until then.
    let cases = [
        (1_250, StateName::Charged, vec![]),
        (1_002, StateName::ChargeFailed, vec![]),
        (1_003, StateName::Charged, vec!["gateway_unreachable"]),
        (1_005, StateName::Charged, vec!["gateway_failed"]),
        (1_009, StateName::Charged, vec!["gateway_timeout", "gateway_in_progress"]),
    ];
    for (amount, end, expected) in cases {
        let world = World::create().await;
        let id = world.requested(amount).await;
        let bodies = [world.message(id).await];
        let mut reasons = Vec::new();
        while let Err(failed) = world.function().invoke(&bodies).await {
            assert_eq!(world.state(id).await, StateName::ChargeRequested, "{amount}");
            world.assert_no_lock_is_held().await;
            reasons.extend(failed.reasons);
            reasons.dedup();
            assert!(reasons.len() <= 2, "{amount}: {reasons:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(reasons, expected, "{amount}");
        assert_eq!(world.state(id).await, end, "{amount}");
        assert_eq!(world.gateway.charges().len(), usize::from(end == StateName::Charged), "{amount}");
        assert_eq!(world.unpublished().await.len(), 2, "{amount}: one request, one final event");
    }
}
