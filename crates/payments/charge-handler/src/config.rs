//! The configuration, read from the environment only.

use std::time::Duration;

use lambda_boot::{Environment, Missing};
use payment_store::{METRICS_NAMESPACE, Tables};

/// A function's settings. The gateway's client reads its own settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Which of the two functions this process runs: its `Handler`.
    pub role: Role,
    /// The tables of Payments, except the idempotency records.
    pub tables: Tables,
    /// The CloudWatch namespace of the metrics.
    pub metrics_namespace: String,
    /// The reconciler finishes charges that are at least this old. The messages of younger ones may still be in the queue.
    pub reconcile_after: Duration,
}

/// The two functions of this binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Processes messages from the charge queue.
    Charge,
    /// Finishes open charges, on a schedule.
    Reconcile,
}

/// Why a function cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A variable is not set.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The function's `Handler` is neither of the two.
    #[error("the function's Handler (_HANDLER) must be charge or reconcile")]
    Handler,
    /// `RECONCILE_AFTER_SECONDS` is not a number of seconds.
    #[error("environment variable RECONCILE_AFTER_SECONDS must be a whole number of seconds, such as 300")]
    ReconcileAfter,
}

const RECONCILE_AFTER: Duration = Duration::from_mins(5);

impl Config {
    /// Reads the environment.
    pub fn read(environment: &Environment<'_>) -> Result<Self, ConfigError> {
        let handler = environment.needed("_HANDLER", "charge or reconcile (in Lambda: the function's Handler)")?;
        let config = Self {
            role: Role::parse(&handler).ok_or(ConfigError::Handler)?,
            tables: Tables::read_to_settle(environment)?,
            metrics_namespace: environment.get("METRICS_NAMESPACE").unwrap_or_else(|| METRICS_NAMESPACE.to_owned()),
            reconcile_after: match environment.get("RECONCILE_AFTER_SECONDS") {
                Some(seconds) => Duration::from_secs(seconds.parse().map_err(|_| ConfigError::ReconcileAfter)?),
                None => RECONCILE_AFTER,
            },
        };
        environment.check_lambda()?;
        Ok(config)
    }
}

impl Role {
    fn parse(handler: &str) -> Option<Self> {
        [Self::Charge, Self::Reconcile].into_iter().find(|role| role.name() == handler)
    }

    /// The value of the function's `Handler` and of the metrics' dimension `Function`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Reconcile => "reconcile",
        }
    }
}
