//! Queues and their SQS API: an engine in this process.
//!
//! The engine is rustack, which is young: no other module knows it, so that another can take its place.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use rustack_sqs_core::config::SqsConfig;
use rustack_sqs_core::handler::RustackSqsHandler;
use rustack_sqs_core::provider::RustackSqs;
use rustack_sqs_http::service::{SqsHttpConfig, SqsHttpService};
use rustack_sqs_model::error::SqsError;
use rustack_sqs_model::input::{CreateQueueInput, DeleteMessageInput, ReceiveMessageInput, SendMessageInput};
use rustack_sqs_model::types;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// The region of all that is local.
pub const REGION: &str = "us-east-1";

/// The account of all that is local.
pub const ACCOUNT: &str = "000000000000";

/// How often a message is received before it goes to the dead-letter queue.
pub const MAX_RECEIVE_COUNT: u32 = 5;

/// The most messages that one receive gives, and its longest wait:
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html>.
const BATCH: i32 = 10;
const LONGEST_WAIT: i32 = 20;

/// The longest that a queue can keep a message, for dead letters; the others keep theirs for four days, as is usual:
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>.
const FOURTEEN_DAYS: Duration = Duration::from_hours(14 * 24);

/// All queues. They are in memory, and end with the last clone of this value.
#[derive(Debug, Clone)]
pub struct Queues {
    engine: Arc<RustackSqs>,
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
    /// The message's id.
    pub id: String,
    /// What deletes it.
    pub receipt_handle: String,
    /// What was sent.
    pub body: String,
    /// The body's MD5, in hexadecimal.
    pub md5_of_body: String,
    /// What SQS says of it, such as `ApproximateReceiveCount`.
    pub attributes: BTreeMap<String, String>,
    /// What the sender says of it.
    pub message_attributes: BTreeMap<String, MessageAttribute>,
    /// Their MD5, in hexadecimal, if there are any.
    pub md5_of_message_attributes: Option<String>,
}

/// The value of a message attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageAttribute {
    /// Such as `String` or `Number`.
    pub data_type: String,
    /// The value of a text or a number.
    pub string_value: Option<String>,
    /// The value of a binary.
    pub binary_value: Option<Vec<u8>>,
}

/// A queue refused what was asked of it.
#[derive(Debug, thiserror::Error)]
#[error("the queue refused")]
pub struct QueueError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl From<SqsError> for QueueError {
    fn from(error: SqsError) -> Self {
        Self(error.into())
    }
}

impl Queues {
    /// No queues yet. Their URLs will say that their API is at `address`.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        let config = SqsConfig {
            skip_signature_validation: true,
            default_region: REGION.to_owned(),
            account_id: ACCOUNT.to_owned(),
            host: address.ip().to_string(),
            port: address.port(),
        };
        Self { engine: Arc::new(RustackSqs::new(config)) }
    }

    /// Creates a queue, and the dead-letter queue `<name>-dlq` that a message goes to after [`MAX_RECEIVE_COUNT`] receives.
    ///
    /// What is received and not deleted is there again after `visibility_timeout`, which counts in whole seconds.
    pub async fn create(&self, name: &str, visibility_timeout: Duration) -> Result<Queue, QueueError> {
        let retention = ("MessageRetentionPeriod", FOURTEEN_DAYS.as_secs().to_string());
        let dead_letters = self.create_queue(&format!("{name}-dlq"), [retention]).await?;
        let redrive = json!({"deadLetterTargetArn": dead_letters.arn, "maxReceiveCount": MAX_RECEIVE_COUNT});
        let visibility = ("VisibilityTimeout", visibility_timeout.as_secs().to_string());
        self.create_queue(name, [visibility, ("RedrivePolicy", redrive.to_string())]).await
    }

    /// Serves the SQS API, in its JSON protocol and without a look at signatures, until this future is dropped.
    pub async fn serve(&self, listener: TcpListener) -> io::Result<()> {
        let handler = Arc::new(RustackSqsHandler::new(Arc::clone(&self.engine)));
        let config = SqsHttpConfig { region: REGION.to_owned(), ..SqsHttpConfig::default() };
        let service = SqsHttpService::new(handler, config);
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await?;
            let service = service.clone();
            connections.spawn(async move {
                // A client that goes away is no error of ours.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
            while connections.try_join_next().is_some() {}
        }
    }

    async fn create_queue(
        &self,
        name: &str,
        attributes: impl IntoIterator<Item = (&str, String)>,
    ) -> Result<Queue, QueueError> {
        let input = CreateQueueInput {
            queue_name: name.to_owned(),
            attributes: attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            ..CreateQueueInput::default()
        };
        let created = self.engine.create_queue(input).await?;
        let (engine, url) = (Arc::clone(&self.engine), created.queue_url.unwrap_or_default());
        Ok(Queue { engine, url, arn: format!("arn:aws:sqs:{REGION}:{ACCOUNT}:{name}") })
    }
}

impl Queue {
    /// The queue's URL, which names it in every request.
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
        self.engine.send_message(input).await?;
        Ok(())
    }

    /// Up to ten messages. Waits for the first one, but not forever: none are no error.
    pub async fn receive(&self) -> Result<Vec<Message>, QueueError> {
        let all = || vec!["All".to_owned()];
        let input = ReceiveMessageInput {
            queue_url: self.url.clone(),
            max_number_of_messages: Some(BATCH),
            wait_time_seconds: Some(LONGEST_WAIT),
            message_system_attribute_names: all(),
            message_attribute_names: all(),
            ..ReceiveMessageInput::default()
        };
        let received = self.engine.receive_message(input).await?;
        Ok(received.messages.into_iter().map(Message::from).collect())
    }

    /// Deletes a message, which must have been received and be still invisible.
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
