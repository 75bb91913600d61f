//! The queues, functions, routes and mappings of `template.yaml` and `payments.yaml`. `make generated` renders
//! both to `template.json` and `payments.json`.

use std::collections::BTreeMap;
use std::time::Duration;

use lambda_host::route::Route;
use lambda_host::topics::Subscription;
use lambda_host::{queues, stream};
use order_events::EventType;
use payment_store::Tables as PaymentTables;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

const TEMPLATE: &str = include_str!("../template.json");
const PAYMENTS: &str = include_str!("../payments.json");

/// The order history's template.
#[derive(Debug, Clone, Deserialize)]
pub struct Template {
    /// The HTTP API.
    pub http: Http,
    /// The archive of all messages of the topic.
    pub archive: Archive,
    projection: Projection,
}

/// The archive: its function writes every message of the topic to files.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Archive {
    /// The queue that gets every message of the topic.
    pub queue: queues::Settings,
    /// The queue of messages that could not be written.
    pub dead_letter_queue: queues::Settings,
    /// The queue's subscription, without a filter.
    pub subscription: Subscription,
    /// The function that writes the files.
    pub archiver: Function,
    /// The largest number of messages of one invocation.
    pub batch_size: i32,
    batching_window: u64,
}

/// The resources of one event type.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Projection {
    /// The queue of its events.
    pub queue: queues::Settings,
    /// The queue of events that cannot be projected.
    pub dead_letter_queue: queues::Settings,
    /// The queue's subscription, filtered by event type.
    pub subscription: Subscription,
    /// The function that projects the events.
    pub handler: Function,
    /// The largest number of messages of one invocation.
    pub batch_size: i32,
}

/// The HTTP API.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Http {
    /// The function that answers.
    pub query_api: Function,
    /// The function's routes.
    pub routes: Vec<Route>,
}

/// A function.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Function {
    /// The deployed name.
    pub name: String,
    /// The `Handler` property.
    pub handler: String,
    code: String,
    timeout: u64,
    /// In megabytes.
    pub memory_size: u32,
    /// Its environment variables.
    pub environment: BTreeMap<String, String>,
}

/// The names of the tables, from a handler's environment variables.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub struct Tables {
    /// The view's table.
    pub order_history_table: String,
    /// The idempotency records' table.
    pub idempotency_table: String,
}

/// The Payments service.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Payments {
    /// The functions, by their names in `payments.json`.
    functions: BTreeMap<String, Function>,
    /// All queues, including dead-letter and on-failure queues.
    pub queues: Vec<queues::Settings>,
    /// The queues' subscriptions to the topic.
    pub subscriptions: Vec<Subscription>,
    /// The event source mappings of queues.
    pub queue_mappings: Vec<QueueMapping>,
    /// The event source mappings of streams.
    pub stream_mappings: Vec<StreamMapping>,
    /// The functions that are invoked at a rate.
    pub schedules: Vec<Schedule>,
    /// The routes of the HTTP function.
    pub routes: Vec<Route>,
}

/// A queue whose messages invoke a function.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueMapping {
    /// The function's name in `payments.json`.
    pub function: String,
    /// The queue's name.
    pub queue: String,
    /// The largest number of messages of one invocation.
    pub batch_size: i32,
}

/// A table whose stream invokes a function.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamMapping {
    /// The function's name in `payments.json`.
    pub function: String,
    /// The table's name.
    pub table: String,
    /// The name of the queue that gets reports of discarded records.
    pub on_failure_queue: String,
    /// How the stream is read.
    #[serde(flatten)]
    pub settings: stream::Settings,
}

/// A rate at which a function is invoked.
#[derive(Debug, Clone, Deserialize)]
pub struct Schedule {
    /// The function's name in `payments.json`.
    pub function: String,
    /// Such as `rate(5 minutes)`.
    #[serde(deserialize_with = "rate")]
    pub expression: lambda_host::schedule::Rate,
}

fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<lambda_host::schedule::Rate, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

impl Payments {
    /// The HTTP function.
    pub const API: &str = "paymentApi";
    /// The function that publishes the outbox's rows.
    pub const RELAY: &str = "relay";
    /// The function that publishes the rows that the relay missed.
    pub const SWEEP: &str = "sweep";

    /// Parses the rendered template, which is compiled into this binary.
    pub fn read() -> serde_json::Result<Self> {
        serde_json::from_str(PAYMENTS)
    }

    /// Finds a function by its name in `payments.json`.
    pub fn function(&self, name: &str) -> serde_json::Result<&Function> {
        self.functions.get(name).ok_or_else(|| unknown("function", name))
    }

    /// The names of the tables, from the HTTP function's environment variables.
    pub fn tables(&self) -> serde_json::Result<PaymentTables> {
        let environment = &self.function(Self::API)?.environment;
        let environment = lambda_boot::Environment::from_fn(|name| environment.get(name).cloned());
        PaymentTables::read(&environment).map_err(serde_json::Error::custom)
    }

    /// The name of the topic that both services share.
    pub fn topic(&self) -> serde_json::Result<&str> {
        let arn = self.function(Self::RELAY)?.environment.get("TOPIC_ARN");
        let name = arn.and_then(|arn| arn.rsplit(':').next());
        name.ok_or_else(|| serde_json::Error::custom("the relay has no TOPIC_ARN"))
    }
}

/// The template refers to something that it does not define.
pub(crate) fn unknown(kind: &str, name: &str) -> serde_json::Error {
    serde_json::Error::custom(format!("there is no {kind} {name}"))
}

impl Template {
    /// Parses the rendered template, which is compiled into this binary.
    pub fn read() -> serde_json::Result<Self> {
        serde_json::from_str(TEMPLATE)
    }

    /// The names of the tables.
    pub fn tables(self) -> serde_json::Result<Tables> {
        serde_json::from_value(self.projection.handler.environment.into_iter().collect())
    }
}

impl Archive {
    /// How long messages are gathered for one file.
    #[must_use]
    pub fn batching_window(&self) -> Duration {
        Duration::from_secs(self.batching_window)
    }
}

impl Projection {
    /// The resources of an event type.
    pub fn of(event_type: EventType) -> serde_json::Result<Self> {
        let template: Template = serde_json::from_str(&TEMPLATE.replace("${EventType}", event_type.name()))?;
        Ok(template.projection)
    }
}

impl Function {
    /// The name of the binary, which is also the name of its deployment folder.
    #[must_use]
    pub fn binary(&self) -> &str {
        self.code.rsplit('/').next().unwrap_or_default()
    }

    /// The longest time of one invocation.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }
}
