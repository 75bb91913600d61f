//! The configuration, read from the environment only.

use lambda_boot::{Environment, Missing};
use order_events::{EventType, UnknownEventType};
use order_store::METRICS_NAMESPACE;

/// A function's settings. The SDK reads region, credentials and endpoint itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The event type that this function processes: its `Handler`.
    pub event_type: EventType,
    /// The view's table.
    pub order_history_table: String,
    /// The table of idempotency records.
    pub idempotency_table: String,
    /// The CloudWatch namespace of the metrics.
    pub metrics_namespace: String,
}

/// Why a function cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A variable is not set.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The function's `Handler` is not an event type.
    #[error("the function's Handler (_HANDLER) {0}")]
    Handler(UnknownEventType),
}

impl Config {
    /// Reads the environment.
    pub fn read(environment: &Environment<'_>) -> Result<Self, ConfigError> {
        let handler = environment.needed(
            "_HANDLER",
            "the event type to process, such as OrderCreated (in Lambda: the function's Handler)",
        )?;
        let config = Self {
            event_type: handler.parse().map_err(ConfigError::Handler)?,
            order_history_table: environment
                .needed("ORDER_HISTORY_TABLE", "the name of the view's table, such as ftgo-order-history")?,
            idempotency_table: environment.needed(
                "IDEMPOTENCY_TABLE",
                "the name of the idempotency records' table, such as ftgo-order-history-idempotency",
            )?,
            metrics_namespace: environment.get("METRICS_NAMESPACE").unwrap_or_else(|| METRICS_NAMESPACE.to_owned()),
        };
        environment.check_lambda()?;
        Ok(config)
    }
}
