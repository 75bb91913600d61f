//! A batch of SQS messages through a Lambda handler, on an engine in this process: `cargo run --example sqs_batch --features sqs`.

use std::io;
use std::time::{Duration, SystemTime};

use embedded_dynamodb::Engine;
use idempotency::sqs::{BatchFailed, SqsBatchResponse, SqsEvent, process_batch};
use idempotency::{IdempotencyStore, create_table};
use lambda_runtime::{Context, LambdaEvent};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Order {
    id: String,
    total: String,
}

/// What you would give to `lambda_runtime::service_fn`.
async fn handle(store: &IdempotencyStore, event: LambdaEvent<SqsEvent>) -> Result<SqsBatchResponse, BatchFailed> {
    let store = store.until(event.context.deadline());
    process_batch(&store, event.payload, |order: &Order| order.id.clone(), charge_card).await
}

async fn charge_card(order: &Order) -> Result<(), io::Error> {
    if order.total.starts_with('-') {
        return Err(io::Error::other("a negative amount"));
    }
    println!("  charged {} for order {}", order.total, order.id);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let engine = Engine::start();
    create_table(&engine.client(), "idempotency").await?;
    let store = IdempotencyStore::builder(engine.client(), "idempotency").key_prefix("charge-card").build();

    let messages = [
        ("m1", r#"{"id":"order-1","total":"9.90"}"#),
        ("m2", r#"{"id":"order-2","total":"5.00"}"#),
        ("m3, the same as m1", r#"{"id":"order-1","total":"9.90"}"#),
        ("m4, not JSON", "hello"),
        ("m5, fails", r#"{"id":"order-3","total":"-1.00"}"#),
        ("m6, the key of m2 with another total", r#"{"id":"order-2","total":"500.00"}"#),
    ];
    for delivery in ["first", "second"] {
        println!("the {delivery} time");
        let records: Vec<_> = messages.iter().map(|(id, body)| json!({"messageId": id, "body": body})).collect();
        let response = handle(&store, event(json!({ "Records": records }))?).await?;
        for failure in response.batch_item_failures {
            println!("  delivered again: {}", failure.item_identifier);
        }
    }
    Ok(())
}

/// An invocation as Lambda makes it, with 30 seconds of time.
fn event(batch: serde_json::Value) -> Result<LambdaEvent<SqsEvent>, Box<dyn std::error::Error>> {
    let deadline = SystemTime::now() + Duration::from_secs(30);
    let mut context = Context::default();
    context.deadline = deadline.duration_since(SystemTime::UNIX_EPOCH)?.as_millis().try_into()?;
    Ok(LambdaEvent::new(serde_json::from_value(batch)?, context))
}
