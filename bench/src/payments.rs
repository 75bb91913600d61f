//! Payments: the commands of `payment-api` in saga mode, then the charge handler and the relay.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use payment_store::create_tables;
use serde_json::{Map, Value, json};
use stand_in_gateway::{Settings, StandIn};
use tokio::net::TcpListener;

use crate::Result;
use crate::contender::{Connection, Contender, payment_tables};
use crate::dynamodb::DynamoDb;
use crate::logs::Logged;
use crate::projection::{BATCH, PerEvent};
use crate::query::{RequestCost, RunningFunction, without_peers};
use crate::units::Item;

/// The name of the HTTP Lambda of Payments.
pub const PAYMENT_API: &str = "payment-api";

/// The steps of a payment, in sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// `POST /payment-intents`.
    Create,
    /// `PATCH /payment-intents/{id}`.
    ChangeAmount,
    /// `POST /payment-intents/{id}/charge`.
    Charge,
    /// The charge handler, in batches of ten.
    Settle,
    /// The relay, in batches of ten.
    Relay,
}

impl Step {
    const ALL: [Self; 5] = [Self::Create, Self::ChangeAmount, Self::Charge, Self::Settle, Self::Relay];

    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create an intent",
            Self::ChangeAmount => "change its amount",
            Self::Charge => "request its charge",
            Self::Settle => "charge and settle (charge handler)",
            Self::Relay => "publish an event (relay)",
        }
    }

    /// The binary of the step, and the function's `Handler`.
    fn function(self) -> (&'static str, &'static str) {
        match self {
            Self::Create | Self::ChangeAmount | Self::Charge => (PAYMENT_API, PAYMENT_API),
            Self::Settle => ("charge-handler", "charge"),
            Self::Relay => ("outbox-relay", "relay"),
        }
    }
}

/// The number of intents in a round.
const INTENTS: usize = 200;
/// The number of intents through the meter: a full batch, so that the last batch of every step is full.
const METERED: usize = BATCH;

/// The HTTP Lambda of Payments as a contender without peers.
#[must_use]
pub fn payment_api(binaries: &Path) -> Contender {
    without_peers(PAYMENT_API, binaries)
}

/// A request for a charge with any id: the stub always finds an intent that can be charged.
#[must_use]
pub fn any_charge() -> Value {
    sample("request-charge")
}

/// Runs all steps with new intents, in rounds.
pub async fn pay(binaries: &Path, dynamodb: &mut DynamoDb, rounds: usize) -> Result<Vec<RequestCost>> {
    let client = dynamodb.client();
    create_tables(&client, &payment_tables()).await?;
    let gateway = StandIn::start(TcpListener::bind("127.0.0.1:0").await?, Settings::default())?;
    let endpoints = dynamodb.endpoints.clone();
    let more = vec![
        ("GATEWAY_URL", gateway.url()),
        ("GATEWAY_SECRET", "bench".to_owned()),
        ("AWS_ENDPOINT_URL_SNS", endpoints.topic.clone()),
        ("TOPIC_ARN", "arn:aws:sns:us-east-1:000000000000:domain-events".to_owned()),
    ];
    let connection = |endpoint: &str| Connection { more: more.clone(), ..Connection::plain(endpoint) };

    // The first group goes through the meter, the second warms up the engine, then one for each round.
    let mut groups = vec![Group::of(0, METERED)];
    for round in 0..=rounds {
        groups.push(Group::of(METERED + round * INTENTS, INTENTS));
    }
    let mut steps = Vec::new();
    for step in Step::ALL {
        eprintln!("payments: {}", step.name());
        let (binary, handler) = step.function();
        let lambda = without_peers(binary, binaries);
        let rows = Rows::read(&client).await?;
        let mut found = RequestCost { question: step.name().to_owned(), ..RequestCost::default() };

        let on_meter = RunningFunction::start_as(&lambda, handler, &connection(&endpoints.meter)).await?;
        let events = groups[0].events(step, &rows)?;
        dynamodb.metered().await?;
        let (effort, responses) = on_meter.send_each(events.clone()).await?;
        let tally = dynamodb.metered().await?;
        if tally.refused > 0 {
            return Err(format!("{} requests to {} were rejected", tally.refused, step.name()).into());
        }
        groups[0].note(step, &responses)?;
        found.per_request = PerEvent::of(&tally, effort.count);
        // A start prints nothing.
        found.logged = Logged::between(&[], &on_meter.stop().await?, effort.count);

        // From here on the stub repeats the engine's last responses, so the last request can be repeated.
        let on_stub = RunningFunction::start_as(&lambda, handler, &connection(&endpoints.stub)).await?;
        let on_engine = RunningFunction::start_as(&lambda, handler, &connection(&endpoints.engine)).await?;
        let again = again(step, &events)?;
        for (round, group) in groups.iter_mut().skip(1).enumerate() {
            let (stub, _) = on_stub.send_each(again.clone()).await?;
            let (engine, responses) = on_engine.send_each(group.events(step, &rows)?).await?;
            group.note(step, &responses)?;
            if round > 0 {
                found.stub.add(&stub);
                found.engine.add(&engine);
            }
        }
        found.peak_memory = on_engine.peak_memory()?;
        steps.push(found);
    }
    Ok(steps)
}

/// The last of these events, repeated for a round.
fn again(step: Step, events: &[Value]) -> Result<Vec<Value>> {
    let last = events.last().ok_or("there are no events")?;
    let times = match step {
        Step::Create | Step::ChangeAmount | Step::Charge => INTENTS,
        Step::Settle | Step::Relay => INTENTS / BATCH,
    };
    Ok(vec![last.clone(); times])
}

/// Intents that go through the steps together.
struct Group {
    orders: Vec<String>,
    /// The intents of those orders, once they are created.
    intents: Vec<String>,
}

impl Group {
    fn of(first_order: usize, count: usize) -> Self {
        Self {
            orders: (first_order..first_order + count).map(|order| order.to_string()).collect(),
            intents: Vec::new(),
        }
    }

    /// What the step's function gets.
    fn events(&self, step: Step, rows: &Rows) -> Result<Vec<Value>> {
        match step {
            Step::Create => Ok(self.orders.iter().map(|order_id| create(order_id)).collect()),
            Step::ChangeAmount => Ok(self.intents.iter().map(|id| command("change-amount", id, "")).collect()),
            Step::Charge => Ok(self.intents.iter().map(|id| command("request-charge", id, "/charge")).collect()),
            Step::Settle => {
                // Only the first event of each has happened yet.
                let rows = self.intents.iter().filter_map(|id| rows.of(id).first());
                batches(&rows.map(message).collect::<Result<Vec<_>>>()?)
            }
            Step::Relay => {
                let rows = self.intents.iter().flat_map(|id| rows.of(id));
                batches(&rows.map(stream_record).collect::<Result<Vec<_>>>()?)
            }
        }
    }

    /// Records the created intents.
    fn note(&mut self, step: Step, responses: &[Value]) -> Result<()> {
        if step == Step::Create {
            self.intents = responses.iter().map(created).collect::<Result<_>>()?;
        }
        Ok(())
    }
}

fn batches(records: &[Value]) -> Result<Vec<Value>> {
    if records.is_empty() {
        return Err("there are no event rows".into());
    }
    Ok(records.chunks(BATCH).map(|records| json!({"Records": records})).collect())
}

/// A file of `events/payments/`.
fn sample(name: &str) -> Value {
    sample_events::sample(&format!("payments/{name}"))
}

fn create(order_id: &str) -> Value {
    let mut event = sample("create");
    event["headers"]["idempotency-key"] = format!("\"create-{order_id}\"").into();
    event["body"] = json!({"orderId": order_id, "amount": 6063, "currency": "USD"}).to_string().into();
    event
}

/// A command for an intent, from a sample.
fn command(name: &str, intent_id: &str, rest: &str) -> Value {
    let mut event = sample(name);
    let path = format!("/payment-intents/{intent_id}{rest}");
    event["headers"]["idempotency-key"] = format!("\"{name}-{intent_id}\"").into();
    event["requestContext"]["http"]["path"] = path.as_str().into();
    event["rawPath"] = path.into();
    event["pathParameters"]["paymentIntentId"] = intent_id.into();
    event
}

/// The id in the response to a creation.
fn created(response: &Value) -> Result<String> {
    let body: Value = serde_json::from_str(response["body"].as_str().ok_or("a response without a body")?)?;
    Ok(body["paymentIntentId"].as_str().ok_or("an intent without an id")?.to_owned())
}

/// The unpublished event rows of each intent, in order of their versions.
struct Rows(HashMap<String, Vec<Item>>);

impl Rows {
    async fn read(client: &Client) -> Result<Self> {
        let mut rows: HashMap<String, BTreeMap<u64, Item>> = HashMap::new();
        let table = payment_tables().outbox;
        let mut pages = client.scan().table_name(table).consistent_read(true).into_paginator().items().send();
        while let Some(row) = pages.next().await.transpose()? {
            let aggregate = text(&row, "pk")?.to_owned();
            let (_, intent_id) = aggregate.split_once('#').ok_or("a row without an aggregate")?;
            let version = row.get("sk").and_then(|version| version.as_n().ok()).ok_or("a row without a version")?;
            rows.entry(intent_id.to_owned()).or_default().insert(version.parse()?, row);
        }
        Ok(Self(rows.into_iter().map(|(intent_id, rows)| (intent_id, rows.into_values().collect())).collect()))
    }

    fn of(&self, intent_id: &str) -> &[Item] {
        self.0.get(intent_id).map_or(&[], Vec::as_slice)
    }
}

/// The row's event as a message of the charge queue.
fn message(row: &Item) -> Result<Value> {
    let mut record = sample("charge")["Records"][0].take();
    let mut notification: Value = serde_json::from_str(record["body"].as_str().ok_or("a message without a body")?)?;
    notification["Message"] = text(row, "message")?.into();
    record["body"] = notification.to_string().into();
    record["messageId"] = text(row, "eventId")?.into();
    Ok(record)
}

/// The row as a record of the table's stream.
fn stream_record(row: &Item) -> Result<Value> {
    let mut image = Map::new();
    for (name, value) in row {
        let value = match value {
            AttributeValue::S(text) => json!({"S": text}),
            AttributeValue::N(digits) => json!({"N": digits}),
            other => return Err(format!("a row with {other:?}").into()),
        };
        image.insert(name.clone(), value);
    }
    let mut record = sample("relay")["Records"][0].take();
    record["dynamodb"]["Keys"] = json!({"pk": image.get("pk"), "sk": image.get("sk")});
    record["dynamodb"]["SequenceNumber"] = text(row, "eventId")?.into();
    record["dynamodb"]["NewImage"] = image.into();
    Ok(record)
}

fn text<'a>(row: &'a Item, name: &str) -> Result<&'a str> {
    let value = row.get(name).and_then(|value| value.as_s().ok());
    Ok(value.ok_or_else(|| format!("a row without {name}"))?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A test that cannot go on should stop there.
mod tests {
    use super::*;

    fn row() -> Item {
        let text = |text: &str| AttributeValue::S(text.to_owned());
        Item::from([
            ("pk".to_owned(), text("PaymentIntent#1")),
            ("sk".to_owned(), AttributeValue::N("2".to_owned())),
            ("eventId".to_owned(), text("7-8")),
            ("message".to_owned(), text("a message")),
        ])
    }

    #[test]
    fn a_row_becomes_a_queue_message_and_a_stream_record() {
        let message = message(&row()).unwrap();
        let body: Value = serde_json::from_str(message["body"].as_str().unwrap()).unwrap();
        assert_eq!((&body["Type"], &body["Message"]), (&json!("Notification"), &json!("a message")));
        let record = stream_record(&row()).unwrap();
        assert_eq!(record["dynamodb"]["NewImage"]["message"], json!({"S": "a message"}));
        assert_eq!(record["dynamodb"]["Keys"], json!({"pk": {"S": "PaymentIntent#1"}, "sk": {"N": "2"}}));
    }

    #[test]
    fn batches_are_of_ten_and_none_is_empty() {
        let records: Vec<Value> = (0..12).map(Value::from).collect();
        let sizes: Vec<_> =
            batches(&records).unwrap().iter().map(|batch| batch["Records"].as_array().unwrap().len()).collect();
        assert_eq!(sizes, [10, 2]);
        assert!(batches(&[]).is_err());
    }
}
