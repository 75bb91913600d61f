//! The publisher for SNS on the real wire, with a topic that fails in every way.

use std::sync::Arc;

use embedded_dynamodb::Wire;
use outbox::{Error, EventRow, Publisher};

use crate::topic::{EntryResult, Message, Response, Topic};
use crate::world::World;

const POISON: &str = "poison";

fn row(number: usize) -> EventRow {
    EventRow {
        aggregate_type: "Payment".to_owned(),
        aggregate_id: number.to_string(),
        version: 1,
        event_id: format!("{number}-1"),
        event_type: "Charged".to_owned(),
        message: format!("message {number}"),
        at: std::time::SystemTime::UNIX_EPOCH,
    }
}

fn rows(count: usize) -> Vec<EventRow> {
    (0..count).map(row).collect()
}

/// The code of each row's error, or nothing where it is published.
fn codes(results: &[Result<(), Error>]) -> Vec<Option<&'static str>> {
    results.iter().map(|result| result.as_ref().err().map(Error::code)).collect()
}

fn texts(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.text.as_str()).collect()
}

fn all_taken(messages: &[Message]) -> Response {
    Response::Each(vec![EntryResult::Taken; messages.len()])
}

#[tokio::test]
async fn ten_rows_are_one_request_with_their_type_as_an_attribute() {
    let topic = Topic::start().await;
    let mut rows = rows(10);
    rows[1].message = "{\"text\":\"a & b = <c> + \u{1F355}\\n\u{e9}%20\"}\n".to_owned();
    rows[2].event_type = "Refunded".to_owned();
    let results = topic.publisher().publish(&rows).await;
    assert_eq!(codes(&results), [None; 10]);
    let expected: Vec<_> = rows
        .iter()
        .map(|row| Message {
            text: row.message.clone(),
            attributes: vec![("event-type".to_owned(), "String".to_owned(), row.event_type.clone())],
        })
        .collect();
    assert_eq!(topic.requests(), [expected]);
}

#[tokio::test]
async fn more_than_ten_rows_are_several_requests() {
    let topic = Topic::start().await;
    let results = topic.publisher().publish(&rows(23)).await;
    assert_eq!(codes(&results), [None; 23]);
    assert_eq!(topic.sizes(), [10, 10, 3]);
}

#[tokio::test]
async fn no_request_has_more_than_256_kib() {
    let topic = Topic::start().await;
    // Sixteen bytes for `event-type` and `String`, seven for `Charged`.
    let of_size = |number: usize, size: usize| EventRow { message: "m".repeat(size - 23), ..row(number) };
    let half = 131_072;
    let rows = [
        of_size(0, half),
        of_size(1, half),
        of_size(2, half),
        of_size(3, half + 1),
        of_size(4, 262_144),
        of_size(5, 30),
        of_size(6, 30),
    ];
    let results = topic.publisher().publish(&rows).await;
    assert_eq!(codes(&results), [None; 7]);
    assert_eq!(topic.sizes(), [2, 1, 1, 1, 2], "the topic would refuse more, and less would be a request too many");
}

#[tokio::test]
async fn a_message_that_is_too_large_alone_is_not_sent_and_does_not_delay_others() {
    for (too_large, sent, sizes) in [(0, [1, 2], &[2][..]), (1, [0, 2], &[1, 1])] {
        let topic = Topic::start().await;
        let mut rows = rows(3);
        rows[too_large].message = "m".repeat(262_144 - 23 + 1);
        let results = topic.publisher().publish(&rows).await;
        let mut expected = [None; 3];
        expected[too_large] = Some("message_too_large");
        assert_eq!(codes(&results), expected);
        assert_eq!(texts(&topic.taken()), sent.map(|number| format!("message {number}")));
        assert_eq!(topic.sizes(), sizes);
    }
}

#[tokio::test]
async fn no_rows_are_no_request() {
    let topic = Topic::start().await;
    assert_eq!(codes(&topic.publisher().publish(&[]).await), []);
    assert_eq!(topic.sizes(), [0; 0]);
}

#[tokio::test]
async fn a_message_that_the_topic_refuses_is_not_sent_again() {
    let topic = Topic::scripted(|_, messages| {
        let refused = EntryResult::Failed { code: "InvalidParameter", sender_fault: true };
        Response::Each(
            messages.iter().map(|m| if m.text == "message 1" { refused } else { EntryResult::Taken }).collect(),
        )
    })
    .await;
    let results = topic.publisher().publish(&rows(3)).await;
    assert_eq!(codes(&results), [None, Some("message_refused"), None]);
    assert!(results[1].as_ref().is_err_and(Error::is_poison));
    assert_eq!(topic.sizes(), [3]);
}

#[tokio::test]
async fn only_messages_that_the_topic_could_not_accept_are_sent_again() {
    let topic = Topic::scripted(|number, messages| {
        let failed = EntryResult::Failed { code: "InternalError", sender_fault: false };
        match number {
            1 => Response::Each(vec![EntryResult::Taken, failed, EntryResult::LeftOut, EntryResult::Taken]),
            2 => Response::Each(vec![EntryResult::Taken, failed]),
            _ => all_taken(messages),
        }
    })
    .await;
    let results = topic.publisher().publish(&rows(4)).await;
    assert_eq!(codes(&results), [None; 4]);
    assert_eq!(topic.sizes(), [4, 2, 1]);
    assert_eq!(texts(&topic.taken()), ["message 0", "message 3", "message 1", "message 2"], "each once");
}

#[tokio::test]
async fn a_message_for_which_the_topic_always_fails_is_not_poison() {
    for (result, expected) in [
        (EntryResult::Failed { code: "InternalError", sender_fault: false }, "topic_unavailable"),
        (EntryResult::Failed { code: "Throttled", sender_fault: true }, "topic_unavailable"),
        (EntryResult::LeftOut, "topic_unavailable"),
    ] {
        let topic = Topic::scripted(move |_, messages| Response::Each(vec![result; messages.len()])).await;
        let results = topic.publisher().publish(&rows(2)).await;
        assert_eq!(codes(&results), [Some(expected); 2], "{result:?}");
        assert!(results.iter().all(|result| result.as_ref().is_err_and(|error| !error.is_poison())));
        assert_eq!(topic.sizes(), [2, 2, 2]);
    }
}

#[tokio::test]
async fn a_message_without_permission_to_publish_is_not_poison() {
    for code in ["AuthorizationError", "AccessDenied", "KMSDisabled"] {
        let denied = EntryResult::Failed { code, sender_fault: true };
        let topic = Topic::scripted(move |_, messages| Response::Each(vec![denied; messages.len()])).await;
        let results = topic.publisher().publish(&rows(1)).await;
        assert_eq!(codes(&results), [Some("topic_rejected")]);
        assert_eq!(topic.sizes(), [1]);
    }
}

#[tokio::test]
async fn a_request_that_is_refused_for_one_message_is_sent_message_by_message() {
    for code in ["InvalidParameter", "ParameterValueInvalid", "ValidationException", "BatchRequestTooLong"] {
        let topic = Topic::scripted(move |_, messages| {
            let has_poison = messages.iter().any(|message| message.text == POISON);
            if has_poison { Response::Error(400, code, "Invalid parameter: Message") } else { all_taken(messages) }
        })
        .await;
        let mut rows = rows(4);
        POISON.clone_into(&mut rows[2].message);
        let results = topic.publisher().publish(&rows).await;
        assert_eq!(codes(&results), [None, None, Some("message_refused"), None], "{code}");
        assert_eq!(topic.sizes(), [4, 1, 1, 1, 1]);

        let results = topic.publisher().publish(&rows[2..3]).await;
        assert_eq!(codes(&results), [Some("message_refused")], "{code}");
        assert_eq!(topic.sizes()[5..], [1], "a message that was sent alone is not sent again");
    }
}

#[tokio::test]
async fn a_request_that_fails_for_other_reasons_makes_no_message_poison() {
    for (status, code, message, expected) in [
        (403, "AuthorizationError", "not allowed", "topic_rejected"),
        (404, "NotFound", "Topic does not exist", "topic_rejected"),
        (400, "InvalidParameter", "Invalid parameter: TopicArn", "topic_rejected"),
        (400, "KMSDisabled", "the key is disabled", "topic_rejected"),
        (400, "KMSThrottling", "slow down", "topic_unavailable"),
        (400, "Throttled", "slow down", "topic_unavailable"),
        (400, "ThrottlingException", "slow down", "topic_unavailable"),
        (500, "InternalError", "it failed", "topic_unavailable"),
        (503, "ServiceUnavailable", "it failed", "topic_unavailable"),
    ] {
        let topic = Topic::scripted(move |_, _| Response::Error(status, code, message)).await;
        let results = topic.publisher().publish(&rows(3)).await;
        assert_eq!(codes(&results), [Some(expected); 3], "{code}");
        assert!(results.iter().all(|result| result.as_ref().is_err_and(|error| !error.is_poison())));
        assert_eq!(topic.sizes(), [3], "the SDK has repeated it already");
    }
}

#[tokio::test]
async fn a_topic_that_fails_while_messages_are_sent_one_by_one_is_not_asked_for_each() {
    let topic = Topic::scripted(|number, messages| match number {
        1 => Response::Error(400, "InvalidParameter", "Invalid parameter: Message"),
        2 => all_taken(messages),
        _ => Response::Error(500, "InternalError", "it failed"),
    })
    .await;
    let results = topic.publisher().publish(&rows(4)).await;
    assert_eq!(
        codes(&results),
        [None, Some("topic_unavailable"), Some("topic_unavailable"), Some("topic_unavailable")]
    );
    assert_eq!(topic.sizes(), [4, 1, 1]);
}

#[tokio::test]
async fn a_topic_that_cannot_be_reached_is_unavailable() {
    let topic = Topic::start().await;
    let publisher = topic.publisher();
    drop(topic);
    let results = publisher.publish(&rows(2)).await;
    assert_eq!(codes(&results), [Some("topic_unavailable"); 2]);
    assert!(results.iter().all(|result| result.as_ref().is_err_and(Error::is_retryable)));
}

/// The whole way, with requests counted on both wires: 0.2 for each event, where 1.1 are allowed.
#[tokio::test]
async fn a_hundred_events_go_from_the_stream_to_the_topic_in_twenty_requests() {
    let world = World::start().await;
    world.commit_some(100).await;
    let topic = Topic::start().await;
    let wire = Wire::watched();
    let relay = world.relay_with(world.engine.client_over(&wire), &Arc::new(topic.publisher()));
    let relayed = relay.handle(&world.stream().await, world.later()).await;
    assert_eq!((relayed.published, relayed.retry_from), (100, None));
    assert_eq!(topic.taken().len(), 100);
    assert_eq!((topic.requests().len(), wire.requests().len()), (10, 10));
    assert!(world.left().await.is_empty());
}
