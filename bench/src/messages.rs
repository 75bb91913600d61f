//! Batches with the events of new orders, typical ones with three line items.

use order_events::EventType;
use sample_events::{message_of_order, story_messages};
use serde_json::{Value, json};

use crate::Result;

/// The first five events of a typical order, in sequence.
pub const FIRST_FIVE: [EventType; 5] = [
    EventType::OrderCreated,
    EventType::TicketCreated,
    EventType::PaymentIntentCharged,
    EventType::OrderAuthorized,
    EventType::TicketAccepted,
];

/// The messages of the story in `events/`, changed to other orders.
#[derive(Debug)]
pub struct Messages {
    samples: Vec<(EventType, Value)>,
    /// The time of the first event, in milliseconds since 1970. Every event is a millisecond later than the previous one.
    now: u64,
    orders: u64,
}

impl Messages {
    /// Reads the samples. The first event happens at `now`.
    pub fn starting_at(now: u64) -> Result<Self> {
        let mut samples = Vec::new();
        for message in story_messages() {
            let event_type = message["headers"]["event-type"].as_str().unwrap_or_default().parse();
            samples.push((event_type.map_err(|error| format!("a sample {error}"))?, message));
        }
        Ok(Self { samples, now, orders: 1_000_000 })
    }

    /// The ids of new orders.
    pub fn fresh_orders(&mut self, count: usize) -> Vec<String> {
        (0..count)
            .map(|_| {
                self.orders += 1;
                self.orders.to_string()
            })
            .collect()
    }

    /// The next event of an order, in its service's format.
    pub fn message(&mut self, event_type: EventType, order_id: &str) -> Result<String> {
        self.now += 1;
        let (_, sample) = self
            .samples
            .iter()
            .rfind(|(of, _)| *of == event_type)
            .ok_or_else(|| format!("no {event_type} in the story"))?;
        let id = format!("{:016x}-{:016x}", self.now, 0x0242_ac12_0008_0001_u64).parse()?;
        Ok(message_of_order(sample, id, order_id, None).to_string())
    }

    /// The next event of each of these orders, as Lambda's event for a batch of a queue.
    pub fn batch(&mut self, event_type: EventType, order_ids: &[String]) -> Result<Value> {
        let mut records = Vec::with_capacity(order_ids.len());
        for order_id in order_ids {
            let body = self.message(event_type, order_id)?;
            records.push(json!({
                "messageId": format!("60e7ed76-f09b-4866-a7f9-{:012x}", self.now),
                "receiptHandle": "AQEBf7d18bc41f681f242db6ae3b13fb42191972c14019c27c1bf7736660529deccd",
                "body": body,
                "attributes": {
                    "ApproximateReceiveCount": "1",
                    "SentTimestamp": self.now.to_string(),
                    "SenderId": "AIDAIENQZJOLO23YVJ4VO",
                    "ApproximateFirstReceiveTimestamp": self.now.to_string(),
                },
                "messageAttributes": {},
                "md5OfBody": "60122b5b77ff8c51e67b2b7df7710f55",
                "eventSource": "aws:sqs",
                "eventSourceARN": format!("arn:aws:sqs:us-east-1:123456789012:ftgo-order-history-{event_type}"),
                "awsRegion": "us-east-1",
            }));
        }
        Ok(json!({ "Records": records }))
    }

    /// For each of `groups` groups of `size` new orders: one batch for each of these events.
    pub fn batches(&mut self, events: &[EventType], size: usize, groups: usize) -> Result<Vec<(EventType, Value)>> {
        let mut batches = Vec::with_capacity(groups * events.len());
        for _ in 0..groups {
            let orders = self.fresh_orders(size);
            for event_type in events {
                batches.push((*event_type, self.batch(*event_type, &orders)?));
            }
        }
        Ok(batches)
    }
}
