//! Retries and deadlines. There is no I/O here, so time is paused.

use std::collections::BTreeSet;
use std::time::Duration;

use payment_gateway::{Gateway, Outcome};
use tokio::time::Instant;

use crate::wire::{Reply, Wire, charged, in_time, request, response};

#[tokio::test(start_paused = true)]
async fn temporary_failures_are_retried_with_the_same_key() {
    let temporary =
        [Reply::Broken, Reply::Silence, response(500, ""), response(503, ""), response(409, ""), response(429, "")];
    for reply in temporary {
        let wire = Wire::replying([reply.clone(), reply.clone(), charged()]);
        let request = request(1_250);
        let outcome = wire.gateway().charge(&request, in_time()).await;
        assert!(matches!(outcome, Ok(Outcome::Charged { .. })), "{reply:?}: {outcome:?}");
        let sent = wire.sent();
        assert_eq!(sent.len(), 3, "{reply:?}");
        assert!(sent.iter().all(|sent| sent.key.as_deref() == Some(request.charge_key.as_str())), "{sent:?}");
        assert!(sent.iter().all(|other| other.body == sent[0].body), "{sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_persists_is_unknown_after_three_attempts() {
    let cases = [
        (Reply::Broken, "gateway_unreachable"),
        (Reply::Silence, "gateway_timeout"),
        (response(500, ""), "gateway_failed"),
        (response(409, ""), "gateway_in_progress"),
        (response(429, ""), "gateway_throttled"),
    ];
    for (reply, code) in cases {
        let wire = Wire::replying([reply]);
        let unknown = wire.gateway().charge(&request(1_250), in_time()).await.unwrap_err();
        assert_eq!((unknown.code(), unknown.is_retryable()), (code, true));
        assert_eq!(wire.sent().len(), 3, "{code}");
        let found = wire.gateway().look_up(&request(1_250), in_time()).await.unwrap_err();
        assert_eq!(found.code(), code);
        assert_eq!(wire.sent().len(), 6, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn permanent_failures_are_not_retried() {
    for reply in [
        response(400, ""),
        response(422, ""),
        response(401, ""),
        response(302, ""),
        response(200, "?"),
        response(402, "?"),
    ] {
        let wire = Wire::replying([reply.clone(), charged()]);
        let unknown = wire.gateway().charge(&request(1_250), in_time()).await.unwrap_err();
        assert!(!unknown.is_retryable(), "{reply:?}");
        assert_eq!(wire.sent().len(), 1, "{reply:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_returns_before_its_deadline() {
    for left in [0, 1, 100, 4_999, 5_001, 7_000, 12_000] {
        let left = Duration::from_millis(left);
        for reply in [Reply::Silence, Reply::Broken, response(503, "")] {
            let wire = Wire::replying([reply.clone()]);
            let begun = Instant::now();
            let unknown = wire.gateway().charge(&request(1_250), begun + left).await.unwrap_err();
            assert!(unknown.is_retryable());
            // Tokio's timer rounds up to its next millisecond.
            assert!(
                begun.elapsed() <= left + Duration::from_millis(1),
                "{reply:?} took {:?} of {left:?}",
                begun.elapsed()
            );
            assert!(wire.sent().iter().all(|sent| sent.at < begun + left || left.is_zero()), "sent after the deadline");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_without_a_response_does_not_use_up_the_time_of_its_retries() {
    let wire = Wire::replying([Reply::Silence, charged()]);
    let begun = Instant::now();
    let outcome = wire.gateway().charge(&request(1_250), in_time()).await;
    assert!(matches!(outcome, Ok(Outcome::Charged { .. })), "{outcome:?}");
    assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn pauses_are_random_and_have_a_limit() {
    let mut pauses = BTreeSet::new();
    for _ in 0..50 {
        let wire = Wire::replying([response(500, "")]);
        let _ = wire.gateway().charge(&request(1_250), in_time()).await;
        let sent = wire.sent();
        let (first, second) = (sent[1].at - sent[0].at, sent[2].at - sent[1].at);
        assert!(first <= Duration::from_millis(401) && second <= Duration::from_millis(801), "{first:?} {second:?}");
        pauses.extend([first, second]);
    }
    assert!(pauses.len() > 20, "{pauses:?}");
}
