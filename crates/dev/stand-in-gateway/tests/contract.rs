//! Tests the contract of the README over HTTP.
#![allow(clippy::unwrap_used)] // A failed unwrap fails the test.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::{Client, Response};
use serde_json::{Value, json};
use stand_in_gateway::{Settings, StandIn, Status};
use tokio::net::TcpListener;

/// An amount without a fault.
const GOOD: i64 = 1_250;

#[tokio::test]
async fn a_charge_is_made_once_for_a_key_and_listed() {
    let shop = Shop::open(Settings::default()).await;
    let first = shop.charge("key-1", GOOD).await.unwrap();
    assert_eq!(first.status(), 200);
    let first: Value = read(first).await;
    assert_eq!(first["status"], "succeeded");
    assert_eq!(read(shop.charge("key-1", GOOD).await.unwrap()).await, first, "the same response");

    let listed = shop.list("?idempotencyKey=key-1").await;
    let [charge] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!(charge["chargeId"], first["chargeId"]);
    let what = (&charge["idempotencyKey"], &charge["paymentIntentId"], &charge["orderId"], &charge["amount"]);
    assert_eq!(what, (&json!("key-1"), &json!("intent-1"), &json!("order-1"), &json!(GOOD)));
    assert_eq!((&charge["currency"], &charge["status"]), (&json!("USD"), &json!("succeeded")));
    assert!(charge["createdAt"].as_str().unwrap().ends_with('Z'), "{charge}");
    assert_eq!(shop.list("?idempotencyKey=key-2").await, [] as [Value; 0]);
    assert_eq!((shop.gateway.posts(), shop.gateway.look_ups()), (2, 2));
}

#[tokio::test]
async fn a_list_without_a_key_has_every_charge_in_order() {
    let shop = Shop::open(Settings::default()).await;
    for (key, amount) in [("b", GOOD), ("a", GOOD), ("declined", 1_002)] {
        shop.charge(key, amount).await.unwrap();
    }
    let keys: Vec<_> = shop.list("").await.into_iter().map(|charge| charge["idempotencyKey"].clone()).collect();
    assert_eq!(keys, ["b", "a"], "a declined charge is not listed");
}

#[tokio::test]
async fn a_key_with_another_body_is_rejected() {
    let shop = Shop::open(Settings::default()).await;
    shop.charge("key-1", GOOD).await.unwrap();
    assert_eq!(shop.charge("key-1", GOOD + 10).await.unwrap().status(), 422);
    assert_eq!(shop.gateway.charges().len(), 1);
}

#[tokio::test]
async fn a_request_without_key_or_secret_or_with_a_bad_body_charges_nothing() {
    let shop = Shop::open(Settings { secret: Some("s3cret".to_owned()), ..Settings::default() }).await;
    let good = body(GOOD);
    let cases = [
        (None, Some("key"), good.clone(), 401),
        (Some("Bearer other"), Some("key"), good.clone(), 401),
        (Some("s3cret"), Some("key"), good.clone(), 401),
        (Some("Bearer s3cret"), None, good.clone(), 400),
        (Some("Bearer s3cret"), Some(""), good.clone(), 400),
        (Some("Bearer s3cret"), Some("key"), body(0), 400),
        (Some("Bearer s3cret"), Some("key"), json!({"amount": GOOD}), 400),
        (Some("Bearer s3cret"), Some("key"), good, 200),
    ];
    for (authorization, key, body, status) in cases {
        let mut request = shop.client.post(format!("{}/charges", shop.gateway.url())).body(body.to_string());
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        assert_eq!(request.send().await.unwrap().status(), status, "{authorization:?} {key:?} {body}");
    }
    assert_eq!(shop.gateway.charges().len(), 1);
}

#[tokio::test]
async fn an_amount_that_ends_with_02_is_declined_for_good() {
    let shop = Shop::open(Settings::default()).await;
    let mut bodies = Vec::new();
    for _ in 0..2 {
        let declined = shop.charge("key", 1_002).await.unwrap();
        assert_eq!(declined.status(), 402);
        bodies.push(read(declined).await);
    }
    assert_eq!(bodies[0]["code"], "card_declined");
    assert_eq!(bodies[0], bodies[1]);
    assert_eq!(shop.gateway.charges(), []);
}

#[tokio::test]
async fn an_amount_that_ends_with_03_loses_its_first_response_after_charging() {
    let shop = Shop::open(Settings::default()).await;
    assert!(shop.charge("key", 1_003).await.is_err(), "the connection closes");
    assert_eq!(shop.gateway.charges().len(), 1);
    assert_eq!(shop.charge("key", 1_003).await.unwrap().status(), 200);
    assert_eq!(shop.gateway.charges().len(), 1);
}

#[tokio::test]
async fn an_amount_that_ends_with_05_fails_once_for_each_key_without_charging() {
    let shop = Shop::open(Settings::default()).await;
    for key in ["key-1", "key-2"] {
        let charged = shop.gateway.charges().len();
        assert_eq!(shop.charge(key, 1_005).await.unwrap().status(), 500);
        assert_eq!(shop.gateway.charges().len(), charged);
        assert_eq!(shop.charge(key, 1_005).await.unwrap().status(), 200);
        assert_eq!(shop.gateway.charges().len(), charged + 1);
    }
}

#[tokio::test]
async fn an_amount_that_ends_with_09_is_charged_later_even_if_the_client_disconnects() {
    let slow = Duration::from_millis(300);
    let shop = Shop::open(Settings { slow, ..Settings::default() }).await;
    let first = tokio::time::timeout(slow / 3, shop.charge("key", 1_009)).await;
    assert!(first.is_err(), "the response was too early");
    assert_eq!(shop.charge("key", 1_009).await.unwrap().status(), 409);
    assert_eq!(shop.charge("key", 1_109).await.unwrap().status(), 422);
    let response = loop {
        let response = shop.charge("key", 1_009).await.unwrap();
        if response.status() != 409 {
            break response;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(response.status(), 200);
    assert_eq!(shop.gateway.charges().len(), 1);
}

#[tokio::test]
async fn a_restart_keeps_charges_and_declines_and_ignores_an_incomplete_line() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("restart").join("charges.jsonl");
    let _ = std::fs::remove_file(&file);
    let settings = Settings { file: Some(file.clone()), ..Settings::default() };
    let shop = Shop::open(settings.clone()).await;
    let charged = read(shop.charge("charged", GOOD).await.unwrap()).await;
    let declined = read(shop.charge("declined", 1_002).await.unwrap()).await;
    let before = shop.gateway.charges();
    drop(shop);
    let mut kept = std::fs::read_to_string(&file).unwrap();
    kept.push_str(r#"{"chargeId":"ch_cut"#);
    std::fs::write(&file, kept).unwrap();

    let shop = Shop::open(settings.clone()).await;
    assert_eq!(shop.gateway.charges(), before);
    assert_eq!(before[0].status, Status::Succeeded);
    assert_eq!(read(shop.charge("charged", GOOD).await.unwrap()).await, charged);
    assert_eq!(read(shop.charge("declined", 1_002).await.unwrap()).await, declined);
    shop.charge("later", GOOD).await.unwrap();
    drop(shop);
    assert_eq!(Shop::open(settings).await.gateway.charges().len(), 2);
}

struct Shop {
    gateway: StandIn,
    client: Client,
}

impl Shop {
    async fn open(settings: Settings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { gateway: StandIn::start(listener, settings).unwrap(), client: Client::new() }
    }

    async fn charge(&self, key: &str, amount: i64) -> reqwest::Result<Response> {
        let url = format!("{}/charges", self.gateway.url());
        self.client.post(url).header("idempotency-key", key).body(body(amount).to_string()).send().await
    }

    async fn list(&self, query: &str) -> Vec<Value> {
        let listed = self.client.get(format!("{}/charges{query}", self.gateway.url())).send().await.unwrap();
        read(listed).await["charges"].as_array().unwrap().clone()
    }
}

fn body(amount: i64) -> Value {
    json!({"amount": amount, "currency": "USD", "paymentIntentId": "intent-1", "orderId": "order-1"})
}

async fn read(response: Response) -> Value {
    serde_json::from_slice(&response.bytes().await.unwrap()).unwrap()
}
