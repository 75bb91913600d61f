//! Every command in every state.

use order_events::{Payload, Timestamp};
use payment_intents::{
    Amount, ChargeId, ChargeKey, Decline, NewIntent, Outcome, PaymentIntent, PaymentIntentId, State, StateName,
    WrongState,
};

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(1_794_910_000_000 + millis).unwrap()
}

pub(crate) fn amount(minor_units: i64) -> Amount {
    Amount::parse(minor_units).unwrap()
}

pub(crate) fn created() -> PaymentIntent {
    let new = NewIntent {
        id: PaymentIntentId::random(),
        order_id: "99".parse().unwrap(),
        consumer_id: "1511300065921".parse().unwrap(),
        amount: amount(6_063),
        currency: "USD".parse().unwrap(),
    };
    PaymentIntent::create(new, at(0)).after
}

pub(crate) fn charged_as(charge_id: &str) -> Outcome {
    Outcome::Charged { charge_id: ChargeId::parse(charge_id).unwrap() }
}

pub(crate) fn declined() -> Outcome {
    Outcome::Declined(Decline::new(None, "card_declined", Some("Your card was declined.")))
}

fn requested() -> PaymentIntent {
    created().request_charge(at(1)).unwrap().after
}

fn in_state(state: StateName) -> PaymentIntent {
    match state {
        StateName::Created => created(),
        StateName::ChargeRequested => requested(),
        StateName::Charged => requested().settle(charged_as("ch_1"), at(2)).unwrap().after,
        StateName::ChargeFailed => requested().settle(declined(), at(2)).unwrap().after,
    }
}

#[test]
fn a_new_intent_is_created_in_version_1_without_an_event() {
    let intent = created();
    assert_eq!((intent.state(), intent.version()), (&State::Created, 1));
    let new = intent.fields();
    assert_eq!((new.created_at, new.updated_at), (at(0), at(0)));
}

#[test]
fn the_amount_changes_only_in_created() {
    for state in StateName::ALL {
        let intent = in_state(state);
        let changed = intent.change_amount(amount(7_000), at(9));
        if state == StateName::Created {
            let change = changed.unwrap();
            assert_eq!((change.after.amount(), change.after.version()), (amount(7_000), intent.version() + 1));
            assert_eq!((change.event, change.before), (None, Some(intent)));
        } else {
            assert_eq!(changed, Err(WrongState { state }));
        }
    }
}

#[test]
fn a_charge_is_requested_once_and_only_in_created() {
    for state in StateName::ALL {
        let intent = in_state(state);
        let requested = intent.request_charge(at(9));
        if state == StateName::Created {
            let change = requested.unwrap();
            let Some(Payload::PaymentIntentChargeRequested(event)) = change.event else { panic!("no event") };
            assert_eq!((event.order_id.as_str(), event.amount, event.currency.as_str()), ("99", 6_063, "USD"));
            let request = change.after.state().requested().unwrap();
            assert_eq!((&request.charge_key, request.at), (&ChargeKey::of(intent.id()), at(9)));
            assert_eq!(change.after.version(), 2);
        } else {
            assert_eq!(requested, Err(WrongState { state }));
        }
    }
}

#[test]
fn a_charge_is_settled_only_when_it_was_requested() {
    for state in StateName::ALL {
        for outcome in [charged_as("ch_2"), declined()] {
            let settled = in_state(state).settle(outcome, at(9));
            assert_eq!(settled.is_ok(), state == StateName::ChargeRequested, "{state}: {settled:?}");
        }
    }
}

#[test]
fn a_successful_charge_is_final_and_has_an_event() {
    let change = requested().settle(charged_as("ch_1"), at(2)).unwrap();
    let Some(Payload::PaymentIntentCharged(event)) = change.event else { panic!("no event") };
    assert_eq!((event.order_id.as_str(), event.amount, event.charge_id.as_str()), ("99", 6_063, "ch_1"));
    assert_eq!(change.after.state().name(), StateName::Charged);
    assert_eq!(change.after.state().charge_id().unwrap().as_str(), "ch_1");
    assert_eq!(change.after.version(), 3);
}

#[test]
fn a_declined_charge_is_final_and_has_an_event() {
    let change = requested().settle(declined(), at(2)).unwrap();
    let Some(Payload::PaymentIntentChargeFailed(event)) = change.event else { panic!("no event") };
    assert_eq!((event.error_code.as_str(), event.charge_id), ("card_declined", None));
    assert_eq!(event.error_message.as_deref(), Some("Your card was declined."));
    let State::ChargeFailed { decline, .. } = change.after.state() else { panic!("not failed") };
    assert_eq!(decline.code(), "card_declined");
}

#[test]
fn a_second_response_of_the_gateway_never_overwrites_the_first() {
    for (first, second) in [(charged_as("ch_1"), declined()), (declined(), charged_as("ch_1"))] {
        let settled = requested().settle(first, at(2)).unwrap().after;
        let state = settled.state().name();
        assert_eq!(settled.settle(second, at(3)), Err(WrongState { state }));
    }
}

#[test]
fn the_charge_key_is_the_intents_id_in_every_later_state() {
    for state in [StateName::ChargeRequested, StateName::Charged, StateName::ChargeFailed] {
        let intent = in_state(state);
        assert_eq!(intent.state().requested().unwrap().charge_key, ChargeKey::of(intent.id()));
    }
}

#[test]
fn a_clock_that_is_behind_does_not_move_updated_at_back() {
    let changed = created().change_amount(amount(1), at(-5_000)).unwrap().after;
    assert_eq!(changed.fields().updated_at, at(0));
}
