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
fn every_event_type_has_a_sample_of_its_own() {
    for &event_type in EventType::ALL {
        let sample = sample(&format!("{event_type}.json"));
        let record = &sample["Records"][0];
        let event = Message::parse(record["body"].as_str().unwrap()).unwrap().event;
        assert_eq!(event.event_type(), event_type);
        let queue = format!("ftgo-order-history-{event_type}");
        assert!(record["eventSourceARN"].as_str().unwrap().ends_with(&queue));
    }
}

#[test]
fn an_event_written_as_a_message_reads_back() {
    for message in sample("story.json").as_array().unwrap() {
        let event = Message::parse(&message.to_string()).unwrap().event;
        let again = Message::parse(&event.to_message().unwrap()).unwrap().event;
        assert_eq!(again, event);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever is cut out of, or put into, a good body: an error or an event, never a panic.
    #[test]
    fn a_damaged_body_never_panics(at in 0.0..1.0, length in 0..40_usize, noise in "\\PC{0,8}") {
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
