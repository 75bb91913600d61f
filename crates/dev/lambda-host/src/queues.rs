//! Queues and their SQS API: an engine in this process.
//!
//! The engine is rustack, which is young: only this module uses it, so that it can be replaced.

mod api;
mod large;
mod move_task;
mod peek;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use rustack_sqs_core::config::SqsConfig;
use rustack_sqs_core::provider::RustackSqs;
use rustack_sqs_http::service::{SqsHttpConfig, SqsHttpService};
use rustack_sqs_model::error::SqsError;
use rustack_sqs_model::input::{
    CreateQueueInput, DeleteMessageInput, GetQueueUrlInput, ReceiveMessageInput, SendMessageInput,
};
use rustack_sqs_model::types;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;

use self::api::Api;
use self::move_task::Tasks;
pub use self::peek::Size;
use crate::{ACCOUNT, REGION, http_server};

/// The largest number of messages of one receive, and its longest wait in seconds:
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html>.
const MAX_BATCH: i32 = 10;
const MAX_WAIT: i32 = 20;

/// The configuration of a queue. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    /// The name, also the last part of the queue's ARN.
    pub name: String,
    /// How long a received message is hidden unless it is deleted.
    pub visibility_timeout: u64,
    /// How long a message is kept.
    pub message_retention_period: u64,
    /// The dead-letter queue, and when messages move there.
    #[serde(flatten)]
    pub redrive: Option<Redrive>,
}

/// The dead-letter queue of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Redrive {
    /// The name of the dead-letter queue.
    pub dead_letter_queue: String,
    /// How often a message may be received before it is moved.
    pub max_receive_count: u32,
}

/// All queues. They are in memory, and end with the last clone of this value.
#[derive(Debug, Clone)]
pub struct Queues {
    engine: Arc<RustackSqs>,
    tasks: Arc<Tasks>,
}

/// One queue.
#[derive(Debug, Clone)]
pub struct Queue {
    engine: Arc<RustackSqs>,
    url: String,
    arn: String,
}

/// A message as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The same for every receive of this message.
    pub id: String,
    /// Identifies this receive of the message; needed to delete it.
    pub receipt_handle: String,
    /// The body as it was sent.
    pub body: String,
    /// The body's MD5, in hexadecimal.
    pub md5_of_body: String,
    /// The attributes that SQS sets, such as `ApproximateReceiveCount`.
    pub attributes: BTreeMap<String, String>,
    /// The attributes that the sender sets.
    pub message_attributes: BTreeMap<String, MessageAttribute>,
    /// The MD5 of `message_attributes`, in hexadecimal, if there are any.
    pub md5_of_message_attributes: Option<String>,
}

/// The value of a message attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageAttribute {
    /// Such as `String` or `Number`.
    pub data_type: String,
    /// The value if the type is `String` or `Number`.
    pub string_value: Option<String>,
    /// The value if the type is `Binary`.
    pub binary_value: Option<Vec<u8>>,
}

/// A queue rejected a request.
#[derive(Debug, thiserror::Error)]
#[error("the queue rejected the request")]
pub struct QueueError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl From<SqsError> for QueueError {
    fn from(error: SqsError) -> Self {
        Self(error.into())
    }
}

impl Queues {
    /// Creates a host without queues. The queues' URLs contain `address`, where the API is served.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        let config = SqsConfig {
            skip_signature_validation: true,
            default_region: REGION.to_owned(),
            account_id: ACCOUNT.to_owned(),
            host: address.ip().to_string(),
            port: address.port(),
        };
        Self { engine: Arc::new(RustackSqs::new(config)), tasks: Arc::default() }
    }

    /// Creates a queue. Its dead-letter queue must exist.
    pub async fn create(&self, settings: &Settings) -> Result<Queue, QueueError> {
        let mut attributes = HashMap::from([
            ("VisibilityTimeout".to_owned(), settings.visibility_timeout.to_string()),
            ("MessageRetentionPeriod".to_owned(), settings.message_retention_period.to_string()),
        ]);
        if let Some(Redrive { dead_letter_queue, max_receive_count }) = &settings.redrive {
            let policy = json!({"deadLetterTargetArn": arn(dead_letter_queue), "maxReceiveCount": max_receive_count});
            attributes.insert("RedrivePolicy".to_owned(), policy.to_string());
        }
        let queue_name = settings.name.clone();
        let created = self
            .engine
            .create_queue(CreateQueueInput { queue_name, attributes, ..CreateQueueInput::default() })
            .await?;
        let (engine, url) = (Arc::clone(&self.engine), created.queue_url.unwrap_or_default());
        Ok(Queue { engine, url, arn: arn(&settings.name) })
    }

    /// Sends a message to the queue with this ARN.
    pub(crate) async fn deliver(
        &self,
        arn: &str,
        body: String,
        attributes: BTreeMap<String, MessageAttribute>,
    ) -> Result<(), QueueError> {
        let queue_name = arn.rsplit(':').next().unwrap_or_default().to_owned();
        let found = self.engine.get_queue_url(GetQueueUrlInput { queue_name, ..GetQueueUrlInput::default() }).await?;
        let attribute = |(name, value): (String, MessageAttribute)| {
            let MessageAttribute { data_type, string_value, binary_value } = value;
            (name, types::MessageAttributeValue { data_type, string_value, binary_value })
        };
        let input = SendMessageInput {
            queue_url: found.queue_url.unwrap_or_default(),
            message_body: body,
            message_attributes: attributes.into_iter().map(attribute).collect(),
            ..SendMessageInput::default()
        };
        large::send(&self.engine, input).await?;
        Ok(())
    }

    /// Serves the SQS API, in its JSON protocol, until this future is dropped. Signatures are not checked.
    pub async fn serve(&self, listener: TcpListener) -> io::Result<()> {
        let config = SqsHttpConfig { region: REGION.to_owned(), ..SqsHttpConfig::default() };
        let service =
            SqsHttpService::new(Arc::new(Api::new(Arc::clone(&self.engine), Arc::clone(&self.tasks))), config);
        http_server::serve(listener, service).await
    }
}

/// The ARN of a queue.
pub(crate) fn arn(queue: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{queue}")
}

impl Queue {
    /// The queue's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.arn.rsplit(':').next().unwrap_or_default()
    }

    /// The queue's URL, which identifies it in requests.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The queue's ARN.
    #[must_use]
    pub fn arn(&self) -> &str {
        &self.arn
    }

    /// Sends a message.
    pub async fn send(&self, body: String) -> Result<(), QueueError> {
        let input = SendMessageInput { queue_url: self.url.clone(), message_body: body, ..SendMessageInput::default() };
        large::send(&self.engine, input).await?;
        Ok(())
    }

    /// Receives up to `most` messages, at most ten. Waits up to 20 seconds for the first one; the result may be empty.
    pub async fn receive(&self, most: i32) -> Result<Vec<Message>, QueueError> {
        self.receive_within(most, MAX_WAIT).await
    }

    /// Receives up to `most` messages, at most ten, without waiting.
    pub async fn receive_now(&self, most: i32) -> Result<Vec<Message>, QueueError> {
        self.receive_within(most, 0).await
    }

    async fn receive_within(&self, most: i32, seconds: i32) -> Result<Vec<Message>, QueueError> {
        let all = || vec!["All".to_owned()];
        let input = ReceiveMessageInput {
            queue_url: self.url.clone(),
            max_number_of_messages: Some(most.min(MAX_BATCH)),
            wait_time_seconds: Some(seconds),
            message_system_attribute_names: all(),
            message_attribute_names: all(),
            ..ReceiveMessageInput::default()
        };
        let received = large::receive(&self.engine, input).await?;
        Ok(received.messages.into_iter().map(Message::from).collect())
    }

    /// Deletes a received message, which must still be invisible.
    pub async fn delete(&self, message: &Message) -> Result<(), QueueError> {
        let (queue_url, receipt_handle) = (self.url.clone(), message.receipt_handle.clone());
        self.engine.delete_message(DeleteMessageInput { queue_url, receipt_handle }).await?;
        Ok(())
    }
}

impl From<types::Message> for Message {
    fn from(message: types::Message) -> Self {
        let attribute = |(name, value): (String, types::MessageAttributeValue)| {
            let types::MessageAttributeValue { data_type, string_value, binary_value } = value;
            (name, MessageAttribute { data_type, string_value, binary_value })
        };
        Self {
            id: message.message_id.unwrap_or_default(),
            receipt_handle: message.receipt_handle.unwrap_or_default(),
            body: message.body.unwrap_or_default(),
            md5_of_body: message.md5_of_body.unwrap_or_default(),
            attributes: message.attributes.into_iter().collect(),
            message_attributes: message.message_attributes.into_iter().map(attribute).collect(),
            md5_of_message_attributes: message.md5_of_message_attributes,
        }
    }
}
