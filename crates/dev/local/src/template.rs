//! What `template.yaml` and `payments.yaml` say of queues, functions, routes and what connects them. `make generated` renders
//! them to `template.json` and `payments.json`.

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

/// What all event types share.
#[derive(Debug, Clone, Deserialize)]
pub struct Template {
    /// The HTTP API.
    pub http: Http,
    /// What writes every message of the topic to files.
    pub archive: Archive,
    projection: Projection,
}

/// What writes every message of the topic to files.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Archive {
    /// Where every message of the topic comes in.
    pub queue: queues::Settings,
    /// Where those end that could not be written.
    pub dead_letter_queue: queues::Settings,
    /// All messages: it has no filter.
    pub subscription: Subscription,
    /// What writes them.
    pub archiver: Function,
    /// The most messages of one invocation.
    pub batch_size: i32,
    batching_window: u64,
}

/// What each event type has.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Projection {
    /// Where its events come in.
    pub queue: queues::Settings,
    /// Where those end that cannot be projected.
    pub dead_letter_queue: queues::Settings,
    /// Which messages of the topic they are.
    pub subscription: Subscription,
    /// What projects them.
    pub handler: Function,
    /// The most messages of one invocation.
    pub batch_size: i32,
}

/// The HTTP API.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Http {
    /// What answers.
    pub query_api: Function,
    /// What is asked.
    pub routes: Vec<Route>,
}

/// A function.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Its `Handler`.
    pub handler: String,
    code: String,
    timeout: u64,
    /// In megabytes.
    pub memory_size: u32,
    /// Its environment variables.
    pub environment: BTreeMap<String, String>,
}

/// The names of the tables: the variables of a handler's environment.
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
    /// The functions, by the names that they have in this file.
    functions: BTreeMap<String, Function>,
    /// The queues: work and what became of it.
    pub queues: Vec<queues::Settings>,
    /// What the queues get of the topic.
    pub subscriptions: Vec<Subscription>,
    /// Which queue's messages invoke which function.
    pub queue_mappings: Vec<QueueMapping>,
    /// Which table's stream invokes which function.
    pub stream_mappings: Vec<StreamMapping>,
    /// Which function is invoked at which rate.
    pub schedules: Vec<Schedule>,
    /// What the HTTP function is asked.
    pub routes: Vec<Route>,
}

/// A queue whose messages invoke a function.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueMapping {
    /// The function's name in this file.
    pub function: String,
    /// The queue's name.
    pub queue: String,
    /// The most messages of one invocation.
    pub batch_size: i32,
}

/// A table whose stream invokes a function.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamMapping {
    /// The function's name in this file.
    pub function: String,
    /// The table's name.
    pub table: String,
    /// The name of the queue that is told what was discarded.
    pub on_failure_queue: String,
    /// How the stream is read.
    #[serde(flatten)]
    pub settings: stream::Settings,
}

/// A rate at which a function is invoked.
#[derive(Debug, Clone, Deserialize)]
pub struct Schedule {
    /// The function's name in this file.
    pub function: String,
    /// As in `rate(5 minutes)`.
    #[serde(deserialize_with = "rate")]
    pub expression: lambda_host::schedule::Rate,
}

fn rate<'de, D: Deserializer<'de>>(deserializer: D) -> Result<lambda_host::schedule::Rate, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

impl Payments {
    /// The function behind HTTP.
    pub const API: &str = "paymentApi";
    /// The function that publishes what the outbox has.
    pub const RELAY: &str = "relay";
    /// The function that publishes what the relay missed.
    pub const SWEEP: &str = "sweep";

    /// Reads it. It is part of this binary.
    pub fn read() -> serde_json::Result<Self> {
        serde_json::from_str(PAYMENTS)
    }

    /// A function, by its name in this file.
    pub fn function(&self, name: &str) -> serde_json::Result<&Function> {
        self.functions.get(name).ok_or_else(|| unknown("function", name))
    }

    /// The names of the tables: the variables of the environment of the function behind HTTP.
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

/// The template names what it does not have.
pub(crate) fn unknown(kind: &str, name: &str) -> serde_json::Error {
    serde_json::Error::custom(format!("there is no {kind} {name}"))
}

impl Template {
    /// Reads it. It is part of this binary.
    pub fn read() -> serde_json::Result<Self> {
        serde_json::from_str(TEMPLATE)
    }

    /// The names of the tables.
    pub fn tables(self) -> serde_json::Result<Tables> {
        serde_json::from_value(self.projection.handler.environment.into_iter().collect())
    }
}

impl Archive {
    /// How long messages are collected before they are written to one file.
    #[must_use]
    pub fn batching_window(&self) -> Duration {
        Duration::from_secs(self.batching_window)
    }
}

impl Projection {
    /// What this event type has.
    pub fn of(event_type: EventType) -> serde_json::Result<Self> {
        let template: Template = serde_json::from_str(&TEMPLATE.replace("${EventType}", event_type.name()))?;
        Ok(template.projection)
    }
}

impl Function {
    /// The name of its binary, which is also that of the folder it is deployed from.
    #[must_use]
    pub fn binary(&self) -> &str {
        self.code.rsplit('/').next().unwrap_or_default()
    }

    /// How long it may take.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        Duration::from_secs(self.timeout)
    }
}
