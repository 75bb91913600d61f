//! Topics and their SNS API: an engine in this process, which delivers to [`Queues`].
//!
//! The engine is rustack, which is young: only this module uses it, so that it can be replaced. It sends
//! only notifications; this module unwraps them for queues with raw message delivery.

mod recent;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Bytes;
use axum::http::{Response, StatusCode};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustack_sns_core::config::SnsConfig;
use rustack_sns_core::handler::RustackSnsHandler;
use rustack_sns_core::provider::RustackSns;
use rustack_sns_core::publisher::{DeliveryError, SqsPublisher};
use rustack_sns_http::body::SnsResponseBody;
use rustack_sns_http::dispatch::SnsHandler;
use rustack_sns_http::service::{SnsHttpConfig, SnsHttpService};
use rustack_sns_model::error::SnsError;
use rustack_sns_model::input::{CreateTopicInput, GetTopicAttributesInput, PublishInput, SubscribeInput};
use rustack_sns_model::operations::SnsOperation;
use rustack_sns_model::types::MessageAttributeValue;
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpListener;

pub use self::recent::PublishedMessage;
use self::recent::RecentMessages;
use crate::queues::{self, MessageAttribute, Queues};
use crate::{ACCOUNT, REGION, http_server};

/// The largest number of bytes of all messages of a batch, with their attributes:
/// <https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html>.
const MAX_BYTES: usize = 256 * 1024;

/// The configuration of a queue's subscription.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    /// The queue's name.
    pub queue: String,
    /// Selects messages by their attributes: for each attribute of the policy a list of values, or of
    /// `{"prefix": "a"}`, `{"suffix": "a"}`, `{"anything-but": ["a"]}`, `{"numeric": [">", 0]}` or `{"exists": true}`. Without
    /// a policy the queue gets all messages.
    pub filter_policy: Option<Value>,
    /// Whether the queue gets the message and its attributes directly, instead of a notification that contains them.
    #[serde(default)]
    pub raw_message_delivery: bool,
}

/// All topics. They are in memory, and end with the last clone of this value.
#[derive(Debug, Clone)]
pub struct Topics {
    engine: Arc<RustackSns>,
    raw: Arc<RawSubscriptions>,
    recent: Arc<RecentMessages>,
}

/// One topic.
#[derive(Debug, Clone)]
pub struct Topic {
    topics: Topics,
    arn: String,
}

/// A topic rejected a request.
#[derive(Debug, thiserror::Error)]
#[error("the topic rejected the request")]
pub struct TopicError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl From<SnsError> for TopicError {
    fn from(error: SnsError) -> Self {
        Self(error.into())
    }
}

/// The subscriptions with raw message delivery, by the ARNs of topic and queue.
#[derive(Debug, Default)]
struct RawSubscriptions(Mutex<HashSet<(String, String)>>);

impl RawSubscriptions {
    fn insert(&self, topic: &str, queue: &str) {
        let mut raw = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        raw.insert((topic.to_owned(), queue.to_owned()));
    }

    fn contains(&self, topic: &str, queue: &str) -> bool {
        let raw = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        raw.contains(&(topic.to_owned(), queue.to_owned()))
    }
}

impl Topics {
    /// Creates a host without topics. They deliver to these queues; `address` is where the API is served.
    #[must_use]
    pub fn new(address: SocketAddr, queues: &Queues) -> Self {
        let config = SnsConfig {
            skip_signature_validation: true,
            default_region: REGION.to_owned(),
            account_id: ACCOUNT.to_owned(),
            host: address.ip().to_string(),
            port: address.port(),
        };
        let raw = Arc::<RawSubscriptions>::default();
        let sender = QueueSender { queues: queues.clone(), raw: Arc::clone(&raw) };
        Self { engine: Arc::new(RustackSns::new(config, Arc::new(sender))), raw, recent: Arc::default() }
    }

    /// Creates a topic.
    pub fn create(&self, name: &str) -> Result<Topic, TopicError> {
        let input = CreateTopicInput { name: name.to_owned(), ..CreateTopicInput::default() };
        let arn = self.engine.create_topic(input)?.topic_arn;
        Ok(Topic { topics: self.clone(), arn })
    }

    /// Serves the SNS API until this future is dropped. Signatures are not checked.
    pub async fn serve(&self, listener: TcpListener) -> io::Result<()> {
        let config = SnsHttpConfig { region: REGION.to_owned(), ..SnsHttpConfig::default() };
        let recent = Arc::clone(&self.recent);
        let api = Api { handler: RustackSnsHandler::new(Arc::clone(&self.engine)), recent };
        let service = SnsHttpService::new(Arc::new(api), config);
        http_server::serve(listener, service).await
    }
}

impl Topic {
    /// The topic's ARN, which identifies it in requests.
    #[must_use]
    pub fn arn(&self) -> &str {
        &self.arn
    }

    /// Subscribes a queue.
    pub fn subscribe(&self, subscription: &Subscription) -> Result<(), TopicError> {
        let queue = queues::arn(&subscription.queue);
        let mut attributes = HashMap::new();
        if let Some(policy) = &subscription.filter_policy {
            check_policy(policy)?;
            attributes.insert("FilterPolicy".to_owned(), policy.to_string());
        }
        let input = SubscribeInput {
            topic_arn: self.arn.clone(),
            protocol: "sqs".to_owned(),
            endpoint: Some(queue.clone()),
            attributes,
            ..SubscribeInput::default()
        };
        self.topics.engine.subscribe(input)?;
        if subscription.raw_message_delivery {
            self.topics.raw.insert(&self.arn, &queue);
        }
        Ok(())
    }

    /// The number of subscribed queues.
    pub fn subscriptions(&self) -> Result<u64, TopicError> {
        let input = GetTopicAttributesInput { topic_arn: self.arn.clone() };
        let attributes = self.topics.engine.get_topic_attributes(&input)?.attributes;
        Ok(attributes.get("SubscriptionsConfirmed").and_then(|number| number.parse().ok()).unwrap_or_default())
    }

    /// The number of messages published since the start.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.topics.recent.published(&self.arn)
    }

    /// The last published messages, up to twenty, the newest first.
    #[must_use]
    pub fn last_published(&self) -> Vec<PublishedMessage> {
        self.topics.recent.last(&self.arn)
    }

    /// Publishes a message with these string attributes, and returns its id. The message is in the queues when this returns.
    pub async fn publish(&self, message: String, attributes: &[(&str, &str)]) -> Result<String, TopicError> {
        let attribute = |(name, value): &(&str, &str)| {
            let (data_type, string_value) = ("String".to_owned(), Some((*value).to_owned()));
            ((*name).to_owned(), MessageAttributeValue { data_type, string_value, binary_value: None })
        };
        let input = PublishInput {
            topic_arn: Some(self.arn.clone()),
            message: message.clone(),
            message_attributes: attributes.iter().map(attribute).collect(),
            ..PublishInput::default()
        };
        let published = self.topics.engine.publish(input).await?;
        self.topics.recent.add(&self.arn, message);
        Ok(published.message_id.unwrap_or_default())
    }
}

/// Rejects rules that the engine does not know: they would never match, without an error.
fn check_policy(policy: &Value) -> Result<(), SnsError> {
    let invalid = |name: &str| SnsError::invalid_parameter(format!("Invalid parameter: FilterPolicy Reason: {name}"));
    for (name, rules) in policy.as_object().ok_or_else(|| invalid("it is not an object"))? {
        for rule in rules.as_array().ok_or_else(|| invalid(name))? {
            let known = ["prefix", "suffix", "anything-but", "numeric", "exists"];
            if let Value::Object(rule) = rule
                && !rule.keys().all(|kind| known.contains(&kind.as_str()))
            {
                return Err(invalid(name));
            }
        }
    }
    Ok(())
}

/// The engine's API, with the checks that the engine lacks.
struct Api {
    handler: RustackSnsHandler,
    recent: Arc<RecentMessages>,
}

type Handled = Pin<Box<dyn Future<Output = Result<Response<SnsResponseBody>, SnsError>> + Send>>;

impl SnsHandler for Api {
    fn handle_operation(&self, operation: SnsOperation, body: Bytes) -> Handled {
        let mut parameters: Vec<(String, String)> = form_urlencoded::parse(&body).into_owned().collect();
        match operation {
            SnsOperation::PublishBatch if size(&parameters) > MAX_BYTES => return Box::pin(async { Ok(too_long()) }),
            SnsOperation::Publish | SnsOperation::PublishBatch => with_binary_values(&mut parameters),
            SnsOperation::Subscribe | SnsOperation::SetSubscriptionAttributes
                // With this setting the engine would reject all messages with attributes.
                if parameters.iter().any(|(_, value)| value == "RawMessageDelivery") =>
            {
                let reason = "Invalid parameter: RawMessageDelivery Reason: it cannot be set over this API";
                return Box::pin(async move { Err(SnsError::invalid_parameter(reason)) });
            }
            _ => {}
        }
        let published = match operation {
            SnsOperation::Publish | SnsOperation::PublishBatch => recent::messages(&parameters),
            _ => None,
        };
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
        let handled = self.handler.handle_operation(operation, body.into());
        let Some((topic, messages)) = published else { return handled };
        let recent = Arc::clone(&self.recent);
        Box::pin(async move {
            let response = handled.await?;
            for message in messages {
                recent.add(&topic, message);
            }
            Ok(response)
        })
    }
}

/// The engine does not have this error.
fn too_long() -> Response<SnsResponseBody> {
    let error = format!(
        "<ErrorResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\"><Error><Type>Sender</Type>\
         <Code>BatchRequestTooLong</Code><Message>The length of all the messages in the batch is more than {MAX_BYTES} \
         bytes.</Message></Error></ErrorResponse>"
    );
    let mut response = Response::new(SnsResponseBody::from_xml(error.into_bytes()));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}

/// The bytes of all messages of a batch, with their attributes.
fn size(parameters: &[(String, String)]) -> usize {
    let counted = [".Message", ".Name", ".Value.DataType", ".Value.StringValue", ".Value.BinaryValue"];
    let counted = parameters.iter().filter(|(name, _)| counted.iter().any(|end| name.ends_with(end)));
    counted.map(|(_, value)| value.len()).sum()
}

/// A notification contains a binary attribute in base64, as the request does. The engine includes only strings.
fn with_binary_values(parameters: &mut Vec<(String, String)>) {
    let binary = parameters.iter().filter_map(|(name, value)| {
        let attribute = name.strip_suffix(".Value.BinaryValue")?;
        Some((format!("{attribute}.Value.StringValue"), value.clone()))
    });
    let texts: Vec<_> = binary.collect();
    parameters.extend(texts);
}

/// Sends the messages of topics to the queues.
struct QueueSender {
    queues: Queues,
    raw: Arc<RawSubscriptions>,
}

/// The message that a queue gets: <https://docs.aws.amazon.com/sns/latest/dg/sns-message-and-json-formats.html>.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Notification {
    topic_arn: String,
    message: String,
    #[serde(default)]
    message_attributes: BTreeMap<String, NotifiedAttribute>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NotifiedAttribute {
    r#type: String,
    value: String,
}

#[async_trait::async_trait]
impl SqsPublisher for QueueSender {
    fn validate(&self, queue_arn: &str) -> Result<(), DeliveryError> {
        if queue_arn.starts_with(&queues::arn("")) {
            Ok(())
        } else {
            Err(DeliveryError::Unsupported(format!("{queue_arn} is not the ARN of a queue on this host")))
        }
    }

    async fn send_message(
        &self,
        queue_arn: &str,
        body: &str,
        _group: Option<&str>,
        _deduplication: Option<&str>,
    ) -> Result<(), DeliveryError> {
        self.deliver(queue_arn, body).await.map_err(|error| {
            let source = &*error as &dyn std::error::Error;
            tracing::error!(queue = queue_arn, error = source, "cannot send a topic's message to a queue");
            DeliveryError::SqsDeliveryFailed { queue_arn: queue_arn.to_owned(), reason: error.to_string() }
        })
    }
}

impl QueueSender {
    async fn deliver(&self, queue: &str, body: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let notification: Notification = serde_json::from_str(body)?;
        if !self.raw.contains(&notification.topic_arn, queue) {
            return Ok(self.queues.deliver(queue, body.to_owned(), BTreeMap::new()).await?);
        }
        let mut attributes = BTreeMap::new();
        for (name, NotifiedAttribute { r#type: data_type, value }) in notification.message_attributes {
            let is_binary = data_type.starts_with("Binary");
            let binary_value = is_binary.then(|| BASE64_STANDARD.decode(&value)).transpose()?;
            let string_value = (!is_binary).then_some(value);
            attributes.insert(name, MessageAttribute { data_type, string_value, binary_value });
        }
        Ok(self.queues.deliver(queue, notification.message, attributes).await?)
    }
}
