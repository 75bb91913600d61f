//! An event source mapping: the messages of a queue invoke a function, batch by batch.
//!
//! It does what Lambda does with an SQS queue and `ReportBatchItemFailures`:
//! <https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html>.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::REGION;
use crate::lambda::{InvokeError, PAYLOAD_LIMIT, Settings};
use crate::pool::Pool;
use crate::processes::Processes;
use crate::queues::{Message, MessageAttribute, Queue, QueueError};

/// The wait after a failed receive.
const PAUSE: Duration = Duration::from_secs(1);

/// The wait between two receives while a batch is gathered.
const POLL: Duration = Duration::from_millis(50);

/// An event without records: its length counts in every event.
const EMPTY_EVENT: &str = r#"{"Records":[]}"#;

/// How messages are gathered into a batch. A plain number is a batch size without a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batching {
    /// The largest number of messages of one invocation. Lambda's payload limit also applies.
    pub size: i32,
    /// How long messages are gathered after the first one. Without a window, the largest batch size is ten:
    /// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html>.
    pub window: Duration,
}

impl From<i32> for Batching {
    fn from(size: i32) -> Self {
        Self { size, window: Duration::ZERO }
    }
}

/// A queue and the function that its messages invoke. Both the polling and the function's processes end with this value.
#[derive(Debug)]
pub struct Mapping {
    done: watch::Receiver<u64>,
    processes: Processes,
    _poller: JoinSet<()>,
}

impl Mapping {
    /// Starts polling the queue.
    ///
    /// At most `concurrency` (at least one) of the function's processes run at the same time, each with a batch of messages.
    /// A process is started when there are messages and none is idle. Idle processes end when the queue has had no
    /// message for 20 seconds.
    #[must_use]
    pub fn start(queue: Queue, function: Settings, batching: impl Into<Batching>, concurrency: usize) -> Self {
        let (counter, done) = watch::channel(0);
        let function = Pool::new(function);
        let processes = Processes::new(&function);
        let source = Source { queue, function, batching: batching.into(), done: counter };
        let mut poller = JoinSet::new();
        poller.spawn(poll(Arc::new(source), concurrency.max(1)));
        Self { done, processes, _poller: poller }
    }

    /// The function's processes.
    #[must_use]
    pub fn processes(&self) -> &Processes {
        &self.processes
    }

    /// Waits until this many messages have been processed and deleted since the start.
    pub async fn done(&self, messages: u64) {
        // This fails only if the poller has ended, and it ends only with this value.
        let _ = self.done.clone().wait_for(|done| *done >= messages).await;
    }
}

struct Source {
    queue: Queue,
    function: Arc<Pool>,
    batching: Batching,
    done: watch::Sender<u64>,
}

/// Why no message of a batch is deleted.
#[derive(Debug, thiserror::Error)]
enum BatchError {
    #[error(transparent)]
    Invoke(#[from] InvokeError),
    #[error("the function's response is not a batch response")]
    Response,
    #[error(transparent)]
    Queue(#[from] QueueError),
}

async fn poll(source: Arc<Source>, concurrency: usize) {
    let mut batches = JoinSet::new();
    loop {
        // Messages stay in the queue until a process is free: a received message that waits may become visible again.
        while batches.len() >= concurrency {
            batches.join_next().await;
        }
        match source.gather().await {
            Ok(batch) if batch.is_empty() => source.function.stop_idle(),
            Ok(batch) => {
                let source = Arc::clone(&source);
                batches.spawn(async move {
                    for batch in source.invocations(batch) {
                        source.handle(&batch).await;
                    }
                });
            }
            Err(error) => {
                tracing::warn!(
                    queue = source.queue.arn(),
                    error = &error as &dyn std::error::Error,
                    "cannot receive messages"
                );
                tokio::time::sleep(PAUSE).await;
            }
        }
        while batches.try_join_next().is_some() {}
    }
}

impl Source {
    /// Receives a batch: the messages that arrive within the window after the first one.
    async fn gather(&self) -> Result<Vec<Message>, QueueError> {
        let Batching { size, window } = self.batching;
        let mut batch = self.queue.receive(size).await?;
        let end = Instant::now() + window;
        let mut length: usize = batch.iter().map(|message| message.body.len()).sum();
        while !batch.is_empty() && length < PAYLOAD_LIMIT && Instant::now() < end {
            let missing = size - i32::try_from(batch.len()).unwrap_or(i32::MAX);
            if missing <= 0 {
                break;
            }
            // An error must not lose the messages that were already received.
            match self.queue.receive_now(missing).await {
                Ok(more) if more.is_empty() => tokio::time::sleep_until(end.min(Instant::now() + POLL)).await,
                Ok(more) => {
                    length += more.iter().map(|message| message.body.len()).sum::<usize>();
                    batch.extend(more);
                }
                Err(error) => {
                    tracing::warn!(
                        queue = self.queue.arn(),
                        error = &error as &dyn std::error::Error,
                        "cannot receive messages"
                    );
                    break;
                }
            }
        }
        Ok(batch)
    }

    /// Splits a batch whose event would exceed Lambda's payload limit:
    /// <https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html#invocation-eventsourcemapping-batching>.
    fn invocations(&self, batch: Vec<Message>) -> Vec<Vec<Message>> {
        let mut invocations = Vec::<Vec<Message>>::new();
        let mut length = 0;
        for message in batch {
            let record = self.record(&message).to_string().len() + ",".len();
            length += record;
            match invocations.last_mut() {
                Some(invocation) if length <= PAYLOAD_LIMIT - EMPTY_EVENT.len() => invocation.push(message),
                _ => {
                    invocations.push(vec![message]);
                    length = record;
                }
            }
        }
        invocations
    }

    /// Failed messages are not deleted, so they are retried after the queue's visibility timeout.
    async fn handle(&self, batch: &[Message]) {
        let queue = self.queue.arn();
        match self.try_handle(batch).await {
            Ok(0) => {}
            Ok(failed) => tracing::warn!(queue, failed, of = batch.len(), "messages failed and will be retried"),
            Err(error) => {
                let (error, failed) = (&error as &dyn std::error::Error, batch.len());
                tracing::warn!(queue, error, failed, "a batch failed and will be retried");
            }
        }
    }

    /// Returns how many messages failed.
    async fn try_handle(&self, batch: &[Message]) -> Result<usize, BatchError> {
        let response = self.function.invoke(self.event(batch)).await.map_err(InvokeError::shortened)?;
        let failed = failures(&response, batch).ok_or(BatchError::Response)?;
        for message in batch.iter().filter(|message| !failed.contains(message.id.as_str())) {
            self.queue.delete(message).await?;
            self.done.send_modify(|done| *done += 1);
        }
        Ok(failed.len())
    }

    fn event(&self, batch: &[Message]) -> Value {
        json!({"Records": batch.iter().map(|message| self.record(message)).collect::<Vec<_>>()})
    }

    fn record(&self, message: &Message) -> Value {
        let attributes = message.message_attributes.iter();
        let mut record = json!({
            "messageId": message.id,
            "receiptHandle": message.receipt_handle,
            "body": message.body,
            "attributes": message.attributes,
            "messageAttributes": attributes.map(|(name, value)| (name.clone(), attribute(value))).collect::<Map<_, _>>(),
            "md5OfBody": message.md5_of_body,
            "eventSource": "aws:sqs",
            "eventSourceARN": self.queue.arn(),
            "awsRegion": REGION,
        });
        if let Some(md5) = &message.md5_of_message_attributes {
            record["md5OfMessageAttributes"] = json!(md5);
        }
        record
    }
}

fn attribute(attribute: &MessageAttribute) -> Value {
    let mut value = json!({"stringListValues": [], "binaryListValues": [], "dataType": attribute.data_type});
    if let Some(text) = &attribute.string_value {
        value["stringValue"] = json!(text);
    }
    if let Some(bytes) = &attribute.binary_value {
        value["binaryValue"] = json!(BASE64_STANDARD.encode(bytes));
    }
    value
}

/// The ids of the failed messages, or `None` if the response is not a batch response: then all messages failed. A response
/// without failures means success:
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html#services-sqs-batchfailurereporting>.
fn failures<'a>(response: &'a Value, batch: &[Message]) -> Option<HashSet<&'a str>> {
    let items = match response {
        Value::Null => &Value::Null,
        Value::Object(response) => response.get("batchItemFailures").unwrap_or(&Value::Null),
        _ => return None,
    };
    match items {
        Value::Null => Some(HashSet::new()),
        Value::Array(items) => items
            .iter()
            .map(|item| item.get("itemIdentifier")?.as_str())
            .map(|id| id.filter(|id| batch.iter().any(|message| message.id == *id)))
            .collect(),
        _ => None,
    }
}
