//! A payment and its events: committed together, published afterwards, and swept up where the stream has lost them.
//! `cargo run --example payment`

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, TransactWriteItem, Update};
use embedded_dynamodb::Engine;
use outbox::{EventRow, Outbox, Publisher, Relay, StreamBatch, Sweeper, create_table, next_event_id};
use serde_json::{Value, json};

const PAYMENTS: &str = "payments";
const OUTBOX: &str = "outbox";

/// In place of a topic: it prints what it gets. With the feature `sns`, `SnsTopic` publishes to SNS.
struct Printer;

impl Publisher for Printer {
    async fn publish(&self, rows: &[EventRow]) -> Vec<Result<(), outbox::Error>> {
        for row in rows {
            println!("  published {} {}", row.event_id, row.message);
        }
        rows.iter().map(|_| Ok(())).collect()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let engine = Engine::start();
    let client = engine.client();
    create_table(&client, OUTBOX).await?;
    // It has the keys that this example needs, so that it can serve for the payments too.
    create_table(&client, PAYMENTS).await?;

    println!("Three versions of a payment. The clock of the second writer is an hour behind:");
    let now = SystemTime::now();
    let first = commit(&client, 1, None, now).await?;
    let second = commit(&client, 2, Some(&first.event_id), now - Duration::from_hours(1)).await?;
    let third = commit(&client, 3, Some(&second.event_id), now).await?;
    for row in [&first, &second, &third] {
        println!("  committed {} of version {}", row.event_id, row.version);
    }

    println!("A writer that has read version 2 is too late. Neither its payment nor its event is written:");
    println!("  refused: {}", commit(&client, 3, Some(&second.event_id), now).await.is_err());

    println!("The stream brings the first two events, and loses the third:");
    let relay = Relay::new(client.clone(), OUTBOX, Printer);
    let relayed = relay.handle(&stream_batch(&[&first, &second])?, now + Duration::from_mins(1)).await;
    println!("  {} published", relayed.published);

    println!("Six minutes later the sweeper finds it:");
    let later = now + Duration::from_mins(6);
    let sweeper = Sweeper::new(client.clone(), OUTBOX, Printer).clock(move || later);
    let swept = sweeper.sweep(later + Duration::from_mins(1)).await;
    println!("  {} published", swept.published);

    println!("Rows that are left: {}", client.scan().table_name(OUTBOX).send().await?.count());
    Ok(())
}

/// Commits a version of the payment with its event, if the version before is the one that is there.
async fn commit(
    client: &Client,
    version: u64,
    last: Option<&str>,
    now: SystemTime,
) -> Result<EventRow, Box<dyn Error>> {
    let event_id = next_event_id(last, now)?;
    let event = EventRow {
        aggregate_type: "Payment".to_owned(),
        aggregate_id: "4711".to_owned(),
        version,
        // Only the message is published, so it has the id by which consumers recognize duplicates.
        message: json!({"id": event_id, "payment": "4711", "version": version}).to_string(),
        event_id,
        event_type: "PaymentChanged".to_owned(),
        at: now,
    };
    let number = |number: u64| AttributeValue::N(number.to_string());
    let payment = Update::builder()
        .table_name(PAYMENTS)
        .key("pk", AttributeValue::S("4711".to_owned()))
        .key("sk", number(0))
        .update_expression("SET #version = :version, lastEventId = :id")
        .expression_attribute_names("#version", "version")
        .expression_attribute_values(":version", number(version))
        .expression_attribute_values(":id", AttributeValue::S(event.event_id.clone()));
    // Only the first version creates the payment: a late writer must not bring back one that was deleted.
    let payment = if version == 1 {
        payment.condition_expression("attribute_not_exists(pk)")
    } else {
        payment.condition_expression("#version = :before").expression_attribute_values(":before", number(version - 1))
    };
    let payment = TransactWriteItem::builder().update(payment.build()?).build();
    let row = Outbox::new(OUTBOX).put(&event)?;
    client.transact_write_items().transact_items(payment).transact_items(row).send().await?;
    Ok(event)
}

/// What Lambda hands to a function behind the table's stream.
fn stream_batch(rows: &[&EventRow]) -> Result<StreamBatch, Box<dyn Error>> {
    let records: Result<Vec<Value>, Box<dyn Error>> = rows
        .iter()
        .enumerate()
        .map(|(number, row)| {
            let image = json!({
                "pk": {"S": format!("{}#{}", row.aggregate_type, row.aggregate_id)},
                "sk": {"N": row.version.to_string()},
                "eventId": {"S": row.event_id},
                "eventType": {"S": row.event_type},
                "message": {"S": row.message},
                "at": {"N": row.at.duration_since(UNIX_EPOCH)?.as_millis().to_string()},
            });
            Ok(json!({"eventName": "INSERT", "dynamodb": {"SequenceNumber": number.to_string(), "NewImage": image}}))
        })
        .collect();
    Ok(serde_json::from_value(json!({"Records": records?}))?)
}
