//! The files of `events/`.

use std::path::Path;

use order_events::{EventType, Message};
use proptest::prelude::*;
use serde_json::Value;

fn sample(name: &str) -> Value {
    let events = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../events");
    serde_json::from_str(&std::fs::read_to_string(events.join(name)).unwrap()).unwrap()
}

#[test]
fn every_event_type_has_a_sample() {
    for &event_type in EventType::ALL {
        let sample = sample(&format!("{event_type}.json"));
        let record = &sample["Records"][0];
        let event = Message::parse(record["body"].as_str().unwrap()).unwrap().event;
        assert_eq!(event.event_type(), event_type);
        let queue = format!("ftgo-order-history-{event_type}");
        assert!(record["eventSourceARN"].as_str().unwrap().ends_with(&queue));
    }
}

/// serde also reads a struct from an array of its members' values, but no publisher sends that on purpose.
#[test]
fn an_array_instead_of_an_object_is_refused_for_every_type() {
    for &event_type in EventType::ALL {
        let sample = sample(&format!("{event_type}.json"));
        let mut message: Value = serde_json::from_str(sample["Records"][0]["body"].as_str().unwrap()).unwrap();
        let payload: Value = serde_json::from_str(message["payload"].as_str().unwrap()).unwrap();
        for place in objects(&payload, "") {
            let Some(Value::Object(members)) = payload.pointer(&place) else { unreachable!("it was found there") };
            let mut values: Vec<_> = members.values().cloned().collect();
            if place.ends_with("Address") {
                values.resize(5, Value::Null); // An address may leave members out, but an array must have all.
            }
            for array in permutations(&values) {
                let mut payload = payload.clone();
                *payload.pointer_mut(&place).unwrap() = array.into();
                message["payload"] = payload.to_string().into();
                let code = Message::parse(&message.to_string()).err().map(|refused| refused.code());
                assert_eq!(code, Some("malformed_payload"), "{event_type}: {payload}");
            }
        }
    }
}

/// The JSON pointers of the objects in a value.
fn objects(value: &Value, place: &str) -> Vec<String> {
    let members: Vec<_> = match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(elements) => elements.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
        _ => return Vec::new(),
    };
    let here = value.is_object().then(|| place.to_owned());
    let inside = members.iter().flat_map(|(name, value)| objects(value, &format!("{place}/{name}")));
    here.into_iter().chain(inside).collect()
}

/// One of them has the values in the order of the struct's members.
fn permutations(values: &[Value]) -> Vec<Vec<Value>> {
    let Some((first, rest)) = values.split_first() else { return vec![Vec::new()] };
    let with_first = |rest: Vec<Value>| {
        (0..=rest.len()).map(move |place| {
            let mut values = rest.clone();
            values.insert(place, first.clone());
            values
        })
    };
    permutations(rest).into_iter().flat_map(with_first).collect()
}

#[test]
fn an_event_can_be_written_as_a_message_and_read_again() {
    for message in sample("story.json").as_array().unwrap() {
        let event = Message::parse(&message.to_string()).unwrap().event;
        let again = Message::parse(&event.to_message().unwrap()).unwrap().event;
        assert_eq!(again, event);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Removes and inserts text in a valid body.
    #[test]
    fn a_damaged_body_never_causes_a_panic(at in 0.0..1.0, length in 0..40_usize, noise in "\\PC{0,8}") {
        let story = sample("story.json");
        for message in story.as_array().unwrap().iter().take(2) {
            let body: Vec<char> = message.to_string().chars().collect();
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
            let at = (at * body.len() as f64) as usize;
            let damaged: String = body[..at]
                .iter()
                .copied()
                .chain(noise.chars())
                .chain(body[at..].iter().copied().skip(length))
                .collect();
            let _ = Message::parse(&damaged);
        }
    }
}
