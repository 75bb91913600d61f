//! What `template.yaml` says of queues, functions and routes. `make generated` renders it to `template.json`.

use std::collections::BTreeMap;
use std::time::Duration;

use lambda_host::queues;
use lambda_host::route::Route;
use order_events::EventType;
use serde::Deserialize;

const TEMPLATE: &str = include_str!("../template.json");

/// What all event types share.
#[derive(Debug, Clone, Deserialize)]
pub struct Template {
    /// The HTTP API.
    pub http: Http,
    projection: Projection,
}

/// What each event type has.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Projection {
    /// Where its events come in.
    pub queue: queues::Settings,
    /// Where those end that cannot be projected.
    pub dead_letter_queue: queues::Settings,
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
