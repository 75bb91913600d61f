//! Only a definite response is an outcome.

use aws_smithy_http_client::tls::TlsContext;
use payment_gateway::{ChargeRequest, Gateway, HttpGateway, InvalidUrl, Outcome, RequestPolicy, Secret, Unknown};
use payment_intents::{ChargeId, ChargeKey, Decline};
use serde_json::{Value, json};

use crate::wire::{Wire, charged, in_time, request, response};

#[tokio::test]
async fn a_charge_is_sent_as_in_the_contract() {
    let wire = Wire::replying([charged()]);
    let request = request(1_250);
    let outcome = wire.gateway().charge(&request, in_time()).await.unwrap();
    assert_eq!(outcome, Outcome::Charged { charge_id: ChargeId::parse("ch_1").unwrap() });
    let [sent] = &wire.sent()[..] else { panic!("one request") };
    assert_eq!((sent.method.as_str(), sent.uri.as_str()), ("POST", "https://gateway.example.com/v1/charges"));
    assert_eq!(sent.key.as_deref(), Some(request.charge_key.as_str()));
    assert_eq!(sent.authorization.as_deref(), Some("Bearer s3cret"));
    let body: Value = serde_json::from_str(&sent.body).unwrap();
    let intent = request.payment_intent_id.to_string();
    assert_eq!(body, json!({"amount": 1_250, "currency": "USD", "paymentIntentId": intent, "orderId": "99"}));
}

#[tokio::test(start_paused = true)]
async fn only_402_with_a_valid_body_is_a_decline() {
    let declined = |charge_id: Option<&str>, code: &str, message: Option<&str>| {
        let charge_id = charge_id.map(|charge_id| ChargeId::parse(charge_id).unwrap());
        Ok(Outcome::Declined(Decline::new(charge_id, code, message)))
    };
    let refused = r#"{"chargeId":"ch_1","code":"card_declined","message":"No."}"#;
    let unexpected = Err("gateway_unexpected_response");
    let cases = [
        (402, refused, declined(Some("ch_1"), "card_declined", Some("No."))),
        (402, r#"{"code":"card_declined","more":1}"#, declined(None, "card_declined", None)),
        (402, r#"{"code":""}"#, unexpected.clone()),
        (402, r#"{"code":7}"#, unexpected.clone()),
        (402, r#"{"chargeId":"c h","code":"card_declined"}"#, unexpected.clone()),
        (402, "Payment Required", unexpected.clone()),
        (402, "", unexpected.clone()),
        (200, refused, unexpected.clone()),
        (400, refused, unexpected.clone()),
        (404, refused, unexpected),
        (409, refused, Err("gateway_in_progress")),
        (422, refused, Err("gateway_key_reused")),
        (500, refused, Err("gateway_failed")),
    ];
    for (status, body, expected) in cases {
        check(status, body, &expected).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_not_definite_is_unknown() {
    let succeeded = r#"{"chargeId":"ch_1","status":"succeeded"}"#;
    let too_large = format!(r#"{{"chargeId":"ch_1","status":"succeeded","more":"{}"}}"#, "x".repeat(64 * 1024));
    let cases = [
        (200, r#"{"chargeId":"ch_1","status":"pending"}"#, "gateway_unexpected_response"),
        (200, r#"{"chargeId":"","status":"succeeded"}"#, "gateway_unexpected_response"),
        (200, r#"{"status":"succeeded"}"#, "gateway_unexpected_response"),
        (200, r#"{"chargeId":"ch_1","status":"succeeded","amount":1,"currency":"USD"}"#, "gateway_unexpected_response"),
        (200, r#"{"chargeId":"ch_1","status":"succeeded","currency":"EUR"}"#, "gateway_unexpected_response"),
        (200, "<html>", "gateway_unexpected_response"),
        (200, &too_large, "gateway_unexpected_response"),
        (201, succeeded, "gateway_unexpected_response"),
        (202, succeeded, "gateway_unexpected_response"),
        (204, "", "gateway_unexpected_response"),
        (301, succeeded, "gateway_unexpected_response"),
        (307, succeeded, "gateway_unexpected_response"),
        (401, succeeded, "gateway_refused_secret"),
        (403, succeeded, "gateway_refused_secret"),
        (408, succeeded, "gateway_timeout"),
        (429, succeeded, "gateway_throttled"),
        (503, succeeded, "gateway_failed"),
    ];
    for (status, body, code) in cases {
        check(status, body, &Err(code)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_look_up_is_definite_only_with_no_charge_or_one_matching_charge() {
    let request = request(1_250);
    let key = request.charge_key.as_str();
    let charge =
        json!({"chargeId": "ch_1", "idempotencyKey": key, "amount": 1_250, "currency": "USD", "status": "succeeded"});
    let with = |name: &str, value: Value| {
        let mut charge = charge.clone();
        charge[name] = value;
        json!({"charges": [charge]}).to_string()
    };
    let unexpected = Err("gateway_unexpected_response");
    let cases = [
        (200, json!({"charges": [charge]}).to_string(), Ok(Some("ch_1"))),
        (200, json!({"charges": []}).to_string(), Ok(None)),
        (200, with("idempotencyKey", json!("another")), unexpected),
        (200, with("amount", json!(1_251)), unexpected),
        (200, with("currency", json!("EUR")), unexpected),
        (200, with("status", json!("pending")), unexpected),
        (200, with("chargeId", json!("")), unexpected),
        (200, json!({"charges": [charge, charge]}).to_string(), unexpected),
        (200, "{}".to_owned(), unexpected),
        (404, json!({"charges": []}).to_string(), unexpected),
        (402, json!({"code": "card_declined"}).to_string(), unexpected),
        (500, String::new(), Err("gateway_failed")),
    ];
    for (status, body, expected) in cases {
        let gateway = Wire::replying([response(status, &body)]).gateway();
        let found = gateway.look_up(&request, in_time()).await;
        let found = found.as_ref().map(|found| found.as_ref().map(ChargeId::as_str)).map_err(Unknown::code);
        assert_eq!(found, expected, "{status} {body}");
    }
}

#[tokio::test]
async fn the_key_of_a_look_up_is_encoded() {
    let wire = Wire::replying([response(200, r#"{"charges":[]}"#)]);
    let request = ChargeRequest { charge_key: ChargeKey::parse("a&b=c%#d").unwrap(), ..request(1) };
    assert_eq!(wire.gateway().look_up(&request, in_time()).await.unwrap(), None);
    let [sent] = &wire.sent()[..] else { panic!("one request") };
    let uri = "https://gateway.example.com/v1/charges?idempotencyKey=a%26b%3Dc%25%23d";
    assert_eq!((sent.method.as_str(), sent.uri.as_str()), ("GET", uri));
    assert_eq!(sent.authorization.as_deref(), Some("Bearer s3cret"));
}

#[test]
fn an_invalid_url_is_refused() {
    let gateway = |url: &str| {
        let secret = Secret::fixed("s3cret").unwrap();
        HttpGateway::new(url, TlsContext::default(), secret, RequestPolicy::default()).map(|_| ())
    };
    for url in ["", "gateway", "ftp://gateway", "https://", "https://a b", "https://a?b=c", "https://a#b"] {
        assert_eq!(gateway(url), Err(InvalidUrl), "{url}");
    }
    assert_eq!(gateway("http://127.0.0.1:3002"), Ok(()));
}

async fn check(status: u16, body: &str, expected: &Result<Outcome, &'static str>) {
    let gateway = Wire::replying([response(status, body)]).gateway();
    let outcome = gateway.charge(&request(1_250), in_time()).await;
    assert_eq!(outcome.as_ref().map_err(Unknown::code), expected.as_ref().map_err(|code| *code), "{status} {body}");
}
