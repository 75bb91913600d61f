//! Random commands have the same effect as in a simple model.

use payment_intents::StateName;
use proptest::prelude::*;

use crate::transitions::{amount, at, charged_as, created, declined};

#[derive(Debug, Clone, Copy)]
enum Command {
    Amount(i64),
    Charge,
    Succeed,
    Decline,
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        (1..1_000_i64).prop_map(Command::Amount),
        Just(Command::Charge),
        Just(Command::Succeed),
        Just(Command::Decline),
    ]
}

/// The state after the command; none if the command is refused.
fn model(state: StateName, command: Command) -> Option<StateName> {
    match (state, command) {
        (StateName::Created, Command::Amount(_)) => Some(StateName::Created),
        (StateName::Created, Command::Charge) => Some(StateName::ChargeRequested),
        (StateName::ChargeRequested, Command::Succeed) => Some(StateName::Charged),
        (StateName::ChargeRequested, Command::Decline) => Some(StateName::ChargeFailed),
        _ => None,
    }
}

proptest! {
    #[test]
    fn random_commands_have_the_same_effect_as_in_the_model(commands in prop::collection::vec(command(), 0..12)) {
        let mut intent = created();
        let mut requested_amount = None;
        for (step, command) in (1..).zip(commands) {
            let before = intent.clone();
            let change = match command {
                Command::Amount(minor_units) => intent.change_amount(amount(minor_units), at(step)),
                Command::Charge => intent.request_charge(at(step)),
                Command::Succeed => intent.settle(charged_as("ch_1"), at(step)),
                Command::Decline => intent.settle(declined(), at(step)),
            };
            let expected = model(before.state().name(), command);
            prop_assert_eq!(change.as_ref().ok().map(|change| change.after.state().name()), expected);
            let Ok(change) = change else { continue };
            prop_assert_eq!(change.after.version(), before.version() + 1);
            prop_assert_eq!(change.event.is_some(), change.after.state().name() != StateName::Created);
            intent = change.after;
            if let Some(requested) = requested_amount {
                prop_assert_eq!(intent.amount(), requested, "the amount does not change after the request");
            }
            if intent.state().name() == StateName::ChargeRequested {
                requested_amount = Some(intent.amount());
            }
        }
    }
}
