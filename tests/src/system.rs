//! A client of the running system, local or deployed.

use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::join_all;
use order_events::EventType;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::aws::Aws;
use crate::order::PublishedEvent;

/// For all waiting: longer than anything here takes, even on a busy machine.
pub const TIMEOUT: Duration = Duration::from_mins(3);

/// The largest number of messages that one request sends or receives:
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html>.
const BATCH: usize = 10;

/// A running system.
#[derive(Debug)]
pub struct System<E> {
    /// Local or deployed.
    pub environment: E,
    /// The AWS services that it uses.
    pub aws: Aws,
    /// The URL of the HTTP API.
    pub api: String,
    /// The URL of a type's queue, without the type's name.
    pub queues: String,
    /// The URL of the API of Payments.
    pub payments: String,
    /// The URL of the payment gateway.
    pub gateway: String,
    http: reqwest::Client,
}

/// The environment of a system: one machine, or AWS.
#[allow(async_fn_in_trait)] // The futures need not be `Send`.
pub trait Environment: Sized {
    /// Publishes events as the services do.
    async fn publish(system: &System<Self>, events: &[PublishedEvent]);

    /// A bearer token with these claims that the API accepts.
    fn token(&self, claims: &Value) -> String;

    /// Removes something that the function of this type needs.
    async fn break_function(system: &System<Self>, event_type: EventType);

    /// Restores it.
    async fn repair_function(system: &System<Self>, event_type: EventType);

    /// Moves the visible dead letters of a type back to its queue.
    async fn redrive(system: &System<Self>, event_type: EventType);
}

/// A response of the HTTP API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiResponse {
    /// The HTTP status.
    pub status: StatusCode,
    /// The body, which is always JSON.
    pub body: Value,
}

impl<E: Environment> System<E> {
    /// A system with these URLs.
    pub fn new(environment: E, aws: Aws, api: String, queues: String, payments: String, gateway: String) -> Self {
        Self { environment, aws, api, queues, payments, gateway, http: reqwest::Client::new() }
    }

    pub(crate) fn http(&self) -> &reqwest::Client {
        &self.http
    }

    /// Publishes events as the services do.
    pub async fn publish(&self, events: &[PublishedEvent]) {
        E::publish(self, events).await;
    }

    /// A bearer token of a consumer.
    pub fn consumer_token(&self, consumer_id: &str) -> String {
        self.environment.token(&json!({"sub": consumer_id}))
    }

    /// A bearer token of a user who may read all orders.
    pub fn reader_token(&self) -> String {
        self.environment.token(&json!({"sub": "support", "scope": "orders:read-any"}))
    }

    /// Sends a GET to the API.
    pub async fn get(&self, path: &str, headers: &[(&str, &str)]) -> ApiResponse {
        let mut request = self.http.get(format!("{}{path}", self.api));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.expect("the API does not answer");
        let (status, text) = (response.status(), response.text().await.unwrap());
        let body = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{path}: {status} is not JSON: {text}"));
        ApiResponse { status, body }
    }

    /// Sends a GET with a token to the API.
    pub async fn get_as(&self, token: &str, path: &str) -> ApiResponse {
        self.get(path, &[("authorization", &format!("Bearer {token}"))]).await
    }

    /// Sends messages with any content to a type's queue.
    pub async fn send(&self, event_type: EventType, bodies: &[String]) {
        let send = |batch: &[String]| {
            let entries = batch.iter().enumerate();
            let entries = entries.map(|(id, body)| json!({"Id": id.to_string(), "MessageBody": body}));
            json!({"QueueUrl": self.queue(event_type), "Entries": entries.collect::<Vec<_>>()})
        };
        for batch in bodies.chunks(BATCH) {
            let sent = self.aws.sqs("SendMessageBatch", &send(batch)).await;
            assert_eq!(sent["Successful"].as_array().unwrap().len(), batch.len(), "{sent}");
        }
    }

    /// The number of messages in a type's queue, visible or not.
    pub async fn waiting(&self, event_type: EventType) -> u64 {
        self.depth(&self.queue(event_type)).await
    }

    /// The number of messages in all queues.
    pub async fn waiting_in_all(&self) -> u64 {
        join_all(EventType::ALL.iter().map(|event_type| self.waiting(*event_type))).await.iter().sum()
    }

    /// Waits until a type has this many dead letters, and returns their bodies. The messages are visible again after a second.
    pub async fn dead_letters(&self, event_type: EventType, number: usize) -> Vec<String> {
        let queue = self.dead_letter_queue(event_type);
        let arrived = async || (self.depth(&queue).await == number as u64).then_some(());
        eventually(&format!("{number} dead letters of {event_type}"), arrived).await;
        let request =
            json!({"QueueUrl": queue, "MaxNumberOfMessages": BATCH, "VisibilityTimeout": 1, "WaitTimeSeconds": 1});
        let mut bodies = HashMap::new();
        let all = async || {
            let received = self.aws.sqs("ReceiveMessage", &request).await;
            for message in received["Messages"].as_array().into_iter().flatten() {
                let text = |member: &str| message[member].as_str().unwrap().to_owned();
                bodies.insert(text("MessageId"), text("Body"));
            }
            (bodies.len() >= number).then(|| bodies.values().cloned().collect())
        };
        eventually(&format!("to receive {number} dead letters of {event_type}"), all).await
    }

    /// Moves a type's dead letters back to its queue.
    pub async fn redrive(&self, event_type: EventType) {
        let empty = async || {
            E::redrive(self, event_type).await;
            (self.depth(&self.dead_letter_queue(event_type)).await == 0).then_some(())
        };
        eventually(&format!("{event_type}'s dead letters to be moved"), empty).await;
    }

    /// The URL of a type's queue.
    pub fn queue(&self, event_type: EventType) -> String {
        format!("{}{event_type}", self.queues)
    }

    /// The URL of a type's dead-letter queue.
    pub fn dead_letter_queue(&self, event_type: EventType) -> String {
        self.queue(event_type) + "-dlq"
    }

    /// The number of messages in a queue, visible or not.
    pub async fn depth(&self, queue: &str) -> u64 {
        let names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
        let request = json!({"QueueUrl": queue, "AttributeNames": names});
        let response = self.aws.sqs("GetQueueAttributes", &request).await;
        names.iter().map(|name| response["Attributes"][name].as_str().unwrap().parse::<u64>().unwrap()).sum()
    }
}

/// Calls `check` until it returns something. The system has no other way to signal that it is done.
pub async fn eventually<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    within(TIMEOUT, what, look).await
}

/// Calls `check` until it returns something, for at most `timeout`.
pub async fn within<T>(timeout: Duration, what: &str, mut check: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + timeout;
    loop {
        if let Some(found) = check().await {
            return found;
        }
        assert!(Instant::now() < end, "waited {timeout:?} for {what}");
        sleep(Duration::from_millis(100)).await;
    }
}

/// The path of a list, with these parameters.
#[must_use]
pub fn list(parameters: &[(&str, &str)]) -> String {
    format!("/orders?{}", form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish())
}
