//! Shuffles: both items are equal in the end, for any sequence of events.

use std::collections::BTreeSet;

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::system::{System, send};

/// A short visibility timeout, and no pause between steps.
const QUICK: [(&str, &str); 3] = [("DEMO", "0"), ("VISIBILITY_TIMEOUT", "2"), ("SHUFFLE_PACE", "10")];

#[tokio::test]
async fn ten_shuffles_end_with_equal_orders() {
    let system = System::start("shuffles", &QUICK);
    let mut orders = BTreeSet::new();
    for seed in 1..=10 {
        let shuffle = system.shuffle(seed).await;
        assert_eq!(shuffle["equal"], true, "{shuffle:#}");
        assert_eq!((&shuffle["error"], &shuffle["seed"]), (&Value::Null, &json!(seed)));
        let [ordered, shuffled] = [&shuffle["lanes"][0], &shuffle["lanes"][1]];
        assert_eq!((&ordered["name"], &shuffled["name"]), (&json!("in order"), &json!("shuffled")));
        assert!(ordered["digest"].is_string(), "{ordered}");
        assert_eq!(ordered["digest"], shuffled["digest"]);
        assert_eq!(ordered["pieces"], shuffled["pieces"]);
        check_story(&shuffle);
        check_in_order(&shuffle, ordered);
        check_shuffled(&shuffle, shuffled);
        orders.extend([ordered, shuffled].map(|lane| lane["orderId"].as_str().unwrap().to_owned()));
    }
    assert_eq!(orders.len(), 20, "no two shuffles share an order");
    let state = system.read("state").await;
    let dead = state["queues"].as_array().unwrap().iter().map(|queue| queue["deadLetters"].as_u64().unwrap());
    assert_eq!(dead.sum::<u64>(), 0, "{state:#}");
    let shown = state["orders"].as_array().unwrap().iter().filter(|order| order["consumerId"] == "1511300065921");
    assert_eq!(shown.count(), 20, "the list of orders shows them");
}

/// The story has events of all services, but no requested charge.
fn check_story(shuffle: &Value) {
    let story = shuffle["story"].as_array().unwrap();
    let all = |key: &str| story.iter().map(|event| event[key].as_str().unwrap()).collect::<BTreeSet<_>>();
    assert_eq!(story.len(), 16);
    assert_eq!(all("aggregate"), BTreeSet::from(["Order", "Ticket", "Delivery", "PaymentIntent"]));
    assert!(!all("eventType").contains("PaymentIntentChargeRequested"), "the charge handler would look for its intent");
    assert_eq!(story[0]["pieces"], json!(["details", "state", "total", "address", "timeline"]));
}

/// Each event was sent once and written.
fn check_in_order(shuffle: &Value, lane: &Value) {
    let messages = lane["messages"].as_array().unwrap();
    for (index, message) in messages.iter().enumerate() {
        let pieces = shuffle["story"][index]["pieces"].as_array().unwrap().iter();
        let written: Vec<_> = pieces.map(|piece| json!({"piece": piece, "outcome": "written"})).collect();
        assert_eq!(message, &json!({"event": index, "copy": 1, "state": "done", "outcomes": written}));
    }
    assert_eq!(messages.len(), 16);
}

/// Each event was sent, a third of them twice, in another sequence, with a killed function and a late event.
fn check_shuffled(shuffle: &Value, lane: &Value) {
    let messages = lane["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 22);
    assert!(messages.iter().all(|message| message["state"] == "done"), "{lane:#}");
    assert_eq!(messages.iter().filter(|message| message["copy"] == 2).count(), 6);
    let events: Vec<_> = messages.iter().map(|message| message["event"].as_u64().unwrap()).collect();
    assert!(!events.is_sorted(), "{events:?}");
    assert!(messages.iter().any(|message| message["kills"].as_u64() >= Some(1)), "{lane:#}");
    let outcomes = |message: &Value| {
        let outcomes = message["outcomes"].as_array().unwrap().iter();
        outcomes.map(|outcome| outcome["outcome"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(messages.iter().flat_map(outcomes).any(|outcome| outcome == "late"), "{lane:#}");
    let no_news = |message: &Value| outcomes(message).iter().all(|outcome| outcome == "no news");
    assert_eq!(messages.iter().filter(|message| no_news(message)).count(), 6, "one copy of each pair: {lane:#}");
    for message in messages {
        let event = usize::try_from(message["event"].as_u64().unwrap()).unwrap();
        let pieces: Vec<_> = message["outcomes"].as_array().unwrap().iter().map(|outcome| &outcome["piece"]).collect();
        assert_eq!(pieces, shuffle["story"][event]["pieces"].as_array().unwrap().iter().collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_changed_item_is_reported_and_only_one_shuffle_runs_at_a_time() {
    let system = System::start("changed", &QUICK);
    let started = system.act("shuffles", json!({})).await;
    let id = started["id"].as_str().unwrap();
    let (status, problem) = send(system.post("api/shuffles", &json!({}))).await;
    assert_eq!((status, problem["message"].is_string()), (StatusCode::CONFLICT, true), "{problem}");

    let running = system.read(&format!("shuffles/{id}")).await;
    assert_eq!((&running["running"], &running["equal"]), (&json!(true), &Value::Null), "{running}");
    system.add_attribute(running["lanes"][1]["orderId"].as_str().unwrap(), "note").await;
    let ended = system.shuffled(id).await;
    assert_eq!((&ended["equal"], &ended["error"]), (&json!(false), &Value::Null), "{ended:#}");
    assert_ne!(ended["lanes"][0]["digest"], ended["lanes"][1]["digest"]);
    assert_eq!(system.shuffle(3).await["equal"], true, "the next shuffle is not affected");
    assert_eq!(system.shuffled(id).await, ended, "an earlier shuffle is kept");
}

/// Functions that the user kills do not change the result either.
#[tokio::test]
async fn more_killed_functions_do_not_change_the_result() {
    let system = System::start("more-kills", &QUICK);
    let started = system.act("shuffles", json!({"seed": 5})).await;
    let path = format!("shuffles/{}", started["id"].as_str().unwrap());
    let mut killed = 0;
    while system.read(&path).await["running"] == true && killed < 5 {
        for event_type in ["OrderRevised", "TicketAccepted", "DeliveryLocationUpdated"] {
            let response = system.act(&format!("functions/ftgo-order-history-{event_type}/kill"), json!({})).await;
            killed += response["killed"].as_u64().unwrap();
        }
    }
    let ended = system.shuffled(started["id"].as_str().unwrap()).await;
    assert_eq!(ended["equal"], true, "{ended:#}");
}
