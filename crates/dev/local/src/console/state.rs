//! The state that the console polls.

use std::time::SystemTime;

use lambda_host::queues::Size;
use lambda_host::topics::PublishedMessage;
use order_events::Message;
use serde::Serialize;

use super::Console;
use super::archive::ArchiveState;
use super::functions::{FunctionState, rfc3339};
use super::orders::OrderState;
use super::outbox::OutboxState;
use super::problem::Problem;
use super::watched::WatchedQueue;

/// Everything that the console shows, except logs, dead letters and shuffles.
#[derive(Debug, Serialize)]
pub(super) struct State {
    now: String,
    queues: Vec<QueueState>,
    functions: Vec<FunctionState>,
    topic: TopicState,
    outbox: OutboxState,
    archive: ArchiveState,
    orders: Vec<OrderState>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct QueueState {
    name: String,
    function: String,
    waiting: u64,
    in_flight: u64,
    dead_letter_queue: String,
    dead_letters: u64,
}

#[derive(Debug, Serialize)]
struct TopicState {
    arn: String,
    published: u64,
    subscriptions: u64,
    recent: Vec<PublishedEvent>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PublishedEvent {
    at: String,
    event_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    event_id: Option<String>,
}

impl Console {
    pub(super) async fn state(&self) -> Result<State, Problem> {
        let mut queues = Vec::with_capacity(self.queues.len());
        for queue in &self.queues {
            queues.push(queue.state().await?);
        }
        Ok(State {
            now: rfc3339(SystemTime::now()),
            queues,
            functions: self.functions.state().await?,
            topic: self.topic_state()?,
            outbox: self.outbox.state().await?,
            archive: self.archive.state().await?,
            orders: self.orders.newest().await?,
        })
    }

    fn topic_state(&self) -> Result<TopicState, Problem> {
        Ok(TopicState {
            arn: self.topic.arn().to_owned(),
            published: self.topic.published(),
            subscriptions: self.topic.subscriptions()?,
            recent: self.topic.last_published().iter().map(PublishedEvent::of).collect(),
        })
    }
}

impl WatchedQueue {
    async fn state(&self) -> Result<QueueState, Problem> {
        let Size { waiting, in_flight } = self.queue.size().await?;
        let dead = self.dead_letters.size().await?;
        Ok(QueueState {
            name: self.queue.name().to_owned(),
            function: self.function.clone(),
            waiting,
            in_flight,
            dead_letter_queue: self.dead_letters.name().to_owned(),
            // Dead letters in flight are being read by the console.
            dead_letters: dead.waiting + dead.in_flight,
        })
    }
}

impl PublishedEvent {
    /// A message may be anything, so it may not be a readable event.
    fn of(published: &PublishedMessage) -> Self {
        let at = rfc3339(published.at);
        match Message::parse(&published.message) {
            Ok(Message { event, .. }) => Self {
                at,
                event_type: event.event_type().to_string(),
                order_id: Some(event.order_id().to_string()),
                event_id: Some(event.id.to_string()),
            },
            Err(_) => Self { at, event_type: "unreadable message".to_owned(), order_id: None, event_id: None },
        }
    }
}
