//! Valid and invalid values.

use payment_intents::{Amount, ChargeId, ChargeKey, Currency, Decline, Invalid, PaymentIntentId, StateName};

#[test]
fn an_amount_is_a_positive_number_of_minor_units_with_a_maximum() {
    for minor_units in [1, 6_063, Amount::MAX] {
        assert_eq!(Amount::parse(minor_units).unwrap().minor_units(), minor_units);
    }
    for minor_units in [0, -1, i64::MIN, Amount::MAX + 1, i64::MAX] {
        assert_eq!(Amount::parse(minor_units), Err(Invalid::Amount));
    }
}

#[test]
fn a_currency_is_three_upper_case_letters() {
    assert_eq!(Currency::parse("USD").unwrap().as_str(), "USD");
    for text in ["", "US", "USDX", "usd", "U$D", "US1", "ÄB"] {
        assert_eq!(Currency::parse(text), Err(Invalid::Currency), "{text}");
    }
}

#[test]
fn an_id_has_only_one_text_form() {
    let id = PaymentIntentId::random();
    assert_eq!(PaymentIntentId::parse(&id.to_string()), Ok(id));
    let text = id.to_string();
    for other in [
        text.to_uppercase(),
        text.replace('-', ""),
        format!("{{{text}}}"),
        format!("urn:uuid:{text}"),
        String::new(),
        "pi_3Q7x".to_owned(),
    ] {
        // An id without letters is the same in upper case.
        if other != text {
            assert_eq!(PaymentIntentId::parse(&other), Err(Invalid::PaymentIntentId), "{other}");
        }
    }
}

#[test]
fn charge_keys_and_charge_ids_have_limits() {
    for text in [String::new(), "a".repeat(256), "with space".to_owned(), "line\nbreak".to_owned()] {
        assert_eq!(ChargeKey::parse(text.clone()), Err(Invalid::ChargeKey));
        assert_eq!(ChargeId::parse(text), Err(Invalid::ChargeId));
    }
    assert_eq!(ChargeKey::parse("schlüssel"), Err(Invalid::ChargeKey));
    assert!(ChargeId::parse("schlüssel").is_ok());
    let id = PaymentIntentId::random();
    assert_eq!(ChargeKey::parse(id.to_string()), Ok(ChargeKey::of(id)), "the charge key is the intent's id");
}

#[test]
fn texts_of_the_gateway_are_cut_and_cleaned() {
    let decline = Decline::new(None, "", Some(&"ä".repeat(10_000)));
    assert_eq!((decline.code(), decline.message().unwrap().chars().count()), ("declined", 500));
    let decline = Decline::new(None, "no\u{1b}", Some("line\nbreak\u{ffff}"));
    assert_eq!((decline.code(), decline.message()), ("no ", Some("line break ")));
}

#[test]
fn a_state_can_be_parsed_from_its_name() {
    for state in StateName::ALL {
        assert_eq!(state.as_str().parse(), Ok(state));
    }
    assert_eq!("SETTLED".parse::<StateName>(), Err(Invalid::State));
}
