//! A crash at every request of every command; then the client repeats its key.

use std::time::Duration;

use charge_handler::ChargeResult;
use embedded_dynamodb::{Disturbance, Wire};
use payment_api::Mode;

use crate::world::{Reply, RequestBuilder, TestApi, World, change, charge, create};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    Create,
    Amount,
    Charge,
}

impl Command {
    const ALL: [Self; 3] = [Self::Create, Self::Amount, Self::Charge];

    /// Builds the request. Creates the intent first, if the command needs one.
    async fn prepare(self, api: &TestApi) -> RequestBuilder {
        let request = match self {
            Self::Create => create("99", 100),
            Self::Amount => change(&api.created("99", 100).await, 200),
            Self::Charge => charge(&api.created("99", 100).await),
        };
        request.key("the-key")
    }
}

fn mode(world: &World, is_locked: bool) -> Mode {
    if is_locked { world.locked_mode() } else { Mode::Saga }
}

/// Sends a request over a wire that disturbs the `k`th request to DynamoDB. For a crash, the future is dropped.
async fn send_disturbed(
    world: &World,
    is_locked: bool,
    request: RequestBuilder,
    k: usize,
    disturbance: Disturbance,
) -> Option<Reply> {
    let wire = Wire::disturbed(move |request| if request.number == k { disturbance } else { Disturbance::None });
    let api = world.over(&wire, mode(world, is_locked));
    tokio::select! {
        biased;
        reply = api.send(request) => Some(reply),
        () = async { while disturbance != Disturbance::Stall || wire.requests().len() < k { tokio::task::yield_now().await } } => None,
    }
}

#[tokio::test]
async fn a_crash_at_any_request_and_a_repetition_have_one_effect() {
    for is_locked in [false, true] {
        for command in Command::ALL {
            let world = World::create().await;
            let request = command.prepare(&world.saga()).await;
            let wire = Wire::watched();
            let undisturbed = world.over(&wire, mode(&world, is_locked)).send(request).await;
            let requests = wire.requests().len();
            assert!(undisturbed.status() < 300 && requests >= 2);
            for k in 1..=requests {
                for disturbance in [Disturbance::FailBefore, Disturbance::LoseResponse, Disturbance::Stall] {
                    check(is_locked, command, k, disturbance, &undisturbed).await;
                }
            }
        }
    }
}

async fn check(is_locked: bool, command: Command, k: usize, disturbance: Disturbance, undisturbed: &Reply) {
    let case = format!("{command:?}, locked: {is_locked}, {disturbance:?} at request {k}");
    let world = World::create().await;
    let request = command.prepare(&world.saga()).await;
    if let Some(reply) = send_disturbed(&world, is_locked, request.clone(), k, disturbance).await {
        assert!(reply.status() == 503 || reply.status() < 300, "{case}: {reply:?}");
    }
    // Claims and leases that were left behind have expired.
    world.advance_clock(Duration::from_secs(31));
    let api = if is_locked { world.locked() } else { world.saga() };
    let repeated = api.send(request.clone()).await;
    assert_eq!(repeated.status(), undisturbed.status(), "{case}: {repeated:?}");
    assert_eq!(repeated.member("state"), undisturbed.member("state"), "{case}");
    assert_eq!(repeated.member("version"), undisturbed.member("version"), "{case}");
    let again = api.send(request).await;
    assert!(again.is_replayed() && again.0.body == repeated.0.body, "{case}: {again:?}");

    let intents = world.intents().await;
    assert_eq!(intents.len(), 1, "{case}: one intent");
    let id = intents[0]["pk"].as_s().unwrap().strip_prefix("PaymentIntent#").unwrap();
    if command == Command::Charge {
        api.settle_pending(id).await;
        assert_eq!(api.state(id).await, "CHARGED", "{case}");
        assert_eq!(world.gateway.charged(), [100], "{case}: one charge");
    }
    let expected = if command == Command::Charge { 2 } else { 0 };
    assert_eq!(world.events().await.len(), expected, "{case}: one event for each commit that has one");
    assert_eq!(world.held_locks().await, 0, "{case}");
}

/// A charge in locked mode crashes at any of its requests to DynamoDB. The charge handler gets the message at once,
/// again together with the client's repetition, and once more.
#[tokio::test]
async fn a_crash_at_any_request_under_the_lock_and_a_concurrent_handler_make_one_charge() {
    for is_handler_early in [true, false] {
        for k in 1..=4 {
            for disturbance in [Disturbance::FailBefore, Disturbance::LoseResponse, Disturbance::Stall] {
                let case = format!("{disturbance:?} at request {k}, early: {is_handler_early}");
                let world = World::create().await;
                let api = world.locked();
                let request = Command::Charge.prepare(&api).await;
                let id =
                    world.intents().await[0]["pk"].as_s().unwrap().strip_prefix("PaymentIntent#").unwrap().to_owned();
                if let Some(reply) = send_disturbed(&world, true, request.clone(), k, disturbance).await {
                    assert!(reply.status() == 503 || reply.status() == 200, "{case}: {reply:?}");
                }
                if is_handler_early {
                    let done = api.handle_message(&id).await;
                    // If a request crashed after it had taken the lock, the lock is held until its lease ends.
                    if k > 2 && matches!(disturbance, Disturbance::Stall) {
                        assert_eq!(done, ChargeResult::HeldByAnother, "{case}");
                    }
                }
                world.advance_clock(Duration::from_secs(31));
                let (repeated, _) = futures_util::join!(api.send(request.clone()), api.handle_message(&id));
                assert_eq!((repeated.status(), repeated.member("state").as_str()), (200, Some("CHARGED")), "{case}");
                assert_eq!(api.handle_message(&id).await, ChargeResult::Nothing, "{case}");
                let again = api.send(request).await;
                assert!(again.is_replayed() && again.0.body == repeated.0.body, "{case}: {again:?}");
                assert_eq!((world.gateway.charged(), world.events().await.len()), (vec![100], 2), "{case}");
                assert_eq!(world.held_locks().await, 0, "{case}");
            }
        }
    }
}
