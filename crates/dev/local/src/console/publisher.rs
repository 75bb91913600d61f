//! Publishes events to the topic, with increasing ids.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use lambda_host::topics::Topic;
use order_events::{Event, EventId, Invalid, Timestamp};

use super::problem::Problem;

/// Publishes events as the services do.
#[derive(Clone)]
pub(super) struct Publisher {
    topic: Topic,
    /// The number of the next event, so that of two events in one millisecond the second has the higher id.
    number: Arc<AtomicU64>,
}

impl Publisher {
    pub(super) fn new(topic: Topic) -> Self {
        Self { topic, number: Arc::default() }
    }

    /// The id of an event that happens now.
    pub(super) fn next_id(&self) -> Result<EventId, Invalid> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        event_id(Timestamp::from(SystemTime::now()), number)
    }

    /// Publishes an event, and returns the message's id. The message is in the queues when this returns.
    pub(super) async fn publish(&self, event: &Event) -> Result<String, Problem> {
        let attributes = [("event-type", event.event_type().name())];
        Ok(self.topic.publish(event.to_message()?, &attributes).await?)
    }
}

/// The id of an event at this time.
pub(super) fn event_id(at: Timestamp, number: u64) -> Result<EventId, Invalid> {
    format!("{:016x}-{number:016x}", at.as_millis()).parse()
}
