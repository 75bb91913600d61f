//! Configuration: from the environment only.

use std::time::Duration;

use lambda_boot::{Environment, Missing};
use payment_store::{METRICS_NAMESPACE, Tables};

/// What a function needs to know. What the gateway's client needs, it reads itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// What this function does: its `Handler`.
    pub role: Role,
    /// The tables of Payments, without that of idempotency records.
    pub tables: Tables,
    /// The CloudWatch namespace of the metrics.
    pub metrics_namespace: String,
    /// The age from which on the reconciler finishes a requested charge: until then its message is in the queue.
    pub reconcile_after: Duration,
}

/// What a function of this binary does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It takes messages from the charge queue.
    Charge,
    /// It finishes, on a schedule, what was left open.
    Reconcile,
}

/// Why a function cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A variable is not set.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The function's `Handler` is none that this binary has.
    #[error("the function's Handler (_HANDLER) must be charge or reconcile")]
    Handler,
    /// `RECONCILE_AFTER_SECONDS` is no number of seconds.
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

    /// As the function's `Handler` and the metrics' dimension `Function` have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Reconcile => "reconcile",
        }
    }
}
