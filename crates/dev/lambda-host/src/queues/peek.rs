//! Inspects a queue: its size and its messages. Moves dead letters back to their queue.

use std::collections::BTreeMap;

use rustack_sqs_model::input::{
    ChangeMessageVisibilityInput, GetQueueAttributesInput, ReceiveMessageInput, StartMessageMoveTaskInput,
};

use super::{MAX_BATCH, Message, Queue, QueueError, Queues, large};

const WAITING: &str = "ApproximateNumberOfMessages";
const IN_FLIGHT: &str = "ApproximateNumberOfMessagesNotVisible";

/// How long `peek` hides a message at most, in seconds.
const HIDDEN_SECONDS: i32 = 30;

/// The number of messages in a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Messages that can be received.
    pub waiting: u64,
    /// Messages that were received, and are neither deleted nor visible again.
    pub in_flight: u64,
}

impl Queue {
    /// The number of messages in this queue.
    pub async fn size(&self) -> Result<Size, QueueError> {
        let attribute_names = vec![WAITING.to_owned(), IN_FLIGHT.to_owned()];
        let input = GetQueueAttributesInput { queue_url: self.url.clone(), attribute_names };
        let found = self.engine.get_queue_attributes(input).await?.attributes;
        let number = |name: &str| found.get(name).and_then(|number| number.parse().ok()).unwrap_or_default();
        Ok(Size { waiting: number(WAITING), in_flight: number(IN_FLIGHT) })
    }

    /// Returns up to `most` of the messages that can be received, the oldest first. They stay in the queue, and are visible again when
    /// this returns. As on AWS, each call counts as a receive of the message.
    pub async fn peek(&self, most: usize) -> Result<Vec<Message>, QueueError> {
        let mut seen = BTreeMap::new();
        let peeked = self.peek_into(most, &mut seen).await;
        for message in seen.values() {
            let (queue_url, receipt_handle) = (self.url.clone(), message.receipt_handle.clone());
            let input = ChangeMessageVisibilityInput { queue_url, receipt_handle, visibility_timeout: 0 };
            // This fails only if the message was deleted in the meantime.
            let _ = self.engine.change_message_visibility(input).await;
        }
        peeked?;
        Ok(seen.into_values().collect())
    }

    async fn peek_into(&self, most: usize, seen: &mut MessagesBySendTime) -> Result<(), QueueError> {
        while seen.len() < most {
            let missing = i32::try_from(most - seen.len()).unwrap_or(MAX_BATCH);
            let all = || vec!["All".to_owned()];
            let input = ReceiveMessageInput {
                queue_url: self.url.clone(),
                max_number_of_messages: Some(missing.min(MAX_BATCH)),
                visibility_timeout: Some(HIDDEN_SECONDS),
                wait_time_seconds: Some(0),
                message_system_attribute_names: all(),
                message_attribute_names: all(),
                ..ReceiveMessageInput::default()
            };
            let received = large::receive(&self.engine, input).await?.messages;
            if received.is_empty() {
                break;
            }
            for message in received.into_iter().map(Message::from) {
                seen.insert((message.sent_at(), message.id.clone()), message);
            }
        }
        Ok(())
    }
}

/// Messages by the time they were sent, and their id.
type MessagesBySendTime = BTreeMap<(u64, String), Message>;

impl Message {
    /// The time it was sent, in milliseconds since 1970.
    #[must_use]
    pub fn sent_at(&self) -> u64 {
        self.attributes.get("SentTimestamp").and_then(|number| number.parse().ok()).unwrap_or_default()
    }
}

impl Queues {
    /// Moves the messages of a dead-letter queue back to the queue they came from, and returns how many were moved.
    pub async fn redrive(&self, dead_letters: &Queue) -> Result<u64, QueueError> {
        let input = StartMessageMoveTaskInput {
            source_arn: dead_letters.arn.clone(),
            destination_arn: None,
            max_number_of_messages_per_second: None,
        };
        let task = self.tasks.start(&self.engine, input).await?.task_handle.unwrap_or_default();
        Ok(self.tasks.moved(&task)?)
    }
}
