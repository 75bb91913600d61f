//! The `Idempotency-Key` header of an HTTP API, on an engine in this process: `cargo run --example http_key`.

use std::io;
use std::time::Duration;

use embedded_dynamodb::Engine;
use idempotency::{
    Fingerprint, IdempotencyKey, IdempotencyStore, IdempotentError, Outcome, Scope, TimedStore, create_table,
    idempotent,
};

/// A response's status and body.
type Response = (u16, String);

/// `POST /payments`, from an authenticated caller.
async fn pay(
    store: &TimedStore,
    caller: &str,
    header: Option<&str>,
    body: &str,
) -> Result<Response, Box<dyn std::error::Error>> {
    let key = match IdempotencyKey::from_headers(header) {
        Ok(key) => Scope { caller, route: "POST /payments" }.key(&key),
        Err(error) => return Ok((400, error.to_string())),
    };
    // Of the parsed command: spaces and the order of members do not matter.
    let Ok(command) = serde_json::from_str::<serde_json::Value>(body) else {
        return Ok((400, "the body is not JSON".to_owned()));
    };
    let fingerprint = Fingerprint::of_value(&command)?;
    match idempotent(store, &key, fingerprint, || charge_card(caller)).await {
        Ok(Outcome::New(receipt)) => Ok((201, receipt)),
        Ok(Outcome::Completed(receipt)) => Ok((201, format!("{receipt}, again"))),
        Err(IdempotentError::InProgress { .. }) => Ok((409, "this request is being processed".to_owned())),
        Err(IdempotentError::PayloadMismatch) => Ok((422, "this key was used for another payment".to_owned())),
        Err(error) => Err(error.into()),
    }
}

async fn charge_card(caller: &str) -> Result<String, io::Error> {
    // Here would be the request to the payment provider.
    tokio::task::yield_now().await;
    Ok(format!("a receipt for {caller}"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::start();
    create_table(&engine.client(), "idempotency").await?;
    // In a Lambda: `.until(context.deadline())`.
    let store = IdempotencyStore::builder(engine.client(), "idempotency").build().for_at_most(Duration::from_secs(30));

    let requests = [
        ("ann", Some("\"1\""), r#"{"amount":"9.90"}"#),
        ("ann", Some("1"), r#"{ "amount" : "9.90" }"#),
        ("ann", Some("1"), r#"{"amount":"5.00"}"#),
        ("bob", Some("1"), r#"{"amount":"9.90"}"#),
        ("ann", None, r#"{"amount":"9.90"}"#),
    ];
    for (caller, header, body) in requests {
        let (status, response) = pay(&store, caller, header, body).await?;
        println!("{caller}, key {}, {body}: {status} {response}", header.unwrap_or("none"));
    }
    Ok(())
}
