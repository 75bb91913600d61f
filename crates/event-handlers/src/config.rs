//! Configuration: from the environment only.

use std::env::VarError;

use order_events::{EventType, UnknownEventType};

/// What a function needs to know. Region, credentials and endpoint are the SDK's to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The event type this function serves: its `Handler`.
    pub event_type: EventType,
    /// The view's table.
    pub order_history_table: String,
    /// The table of idempotency records.
    pub idempotency_table: String,
}

/// Why a function cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A variable is not set.
    #[error("environment variable {name} is not set: set it to {meaning}")]
    Missing {
        /// Which.
        name: &'static str,
        /// What it should say.
        meaning: &'static str,
    },
    /// The function's `Handler` names no event type.
    #[error("the function's Handler ({HANDLER}) names no event type: it {0}")]
    Handler(UnknownEventType),
}

const HANDLER: &str = "_HANDLER";

impl Config {
    /// Reads the environment of this process.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::read(std::env::var)
    }

    /// Reads an environment given as a function.
    pub fn read(variable: impl Fn(&'static str) -> Result<String, VarError>) -> Result<Self, ConfigError> {
        let needed = |name, meaning| match variable(name) {
            Ok(value) if !value.is_empty() => Ok(value),
            _ => Err(ConfigError::Missing { name, meaning }),
        };
        let handler =
            needed(HANDLER, "the event type to serve, such as OrderCreated (in Lambda: the function's Handler)")?;
        let config = Self {
            event_type: handler.parse().map_err(ConfigError::Handler)?,
            order_history_table: needed(
                "ORDER_HISTORY_TABLE",
                "the name of the view's table, such as ftgo-order-history",
            )?,
            idempotency_table: needed(
                "IDEMPOTENCY_TABLE",
                "the name of the idempotency records' table, such as ftgo-order-history-idempotency",
            )?,
        };
        // The Lambda runtime would panic without these.
        for name in RUNTIME {
            needed(name, "what Lambda sets it to; outside Lambda, run this binary under `make invoke`")?;
        }
        Ok(config)
    }
}

const RUNTIME: [&str; 4] = [
    "AWS_LAMBDA_RUNTIME_API",
    "AWS_LAMBDA_FUNCTION_NAME",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
    "AWS_LAMBDA_FUNCTION_VERSION",
];
