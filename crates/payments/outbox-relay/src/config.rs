//! Configuration: from the environment only.

use std::time::Duration;

use lambda_boot::{Environment, Missing};

/// What a function needs to know. Region, credentials and endpoints are the SDK's to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// What this function does: its `Handler`.
    pub role: Role,
    /// The table of events to be published.
    pub outbox_table: String,
    /// The topic to publish to.
    pub topic_arn: String,
    /// The CloudWatch namespace of the metrics.
    pub metrics_namespace: String,
    /// The age from which on the sweeper publishes a row: until then it is the relay's. `None`: the sweeper's own default.
    pub sweep_after: Option<Duration>,
}

/// What a function of this binary does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It publishes the new rows that come by the table's stream.
    Relay,
    /// It publishes, on a schedule, the rows that were left behind.
    Sweep,
}

/// Why a function cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A variable is not set.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The function's `Handler` is none that this binary has.
    #[error("the function's Handler (_HANDLER) must be relay or sweep")]
    Handler,
    /// `SWEEP_AFTER_SECONDS` is no number of seconds.
    #[error("environment variable SWEEP_AFTER_SECONDS must be a whole number of seconds, such as 300")]
    SweepAfter,
}

/// As `payment-store` has it; this crate knows nothing of payment intents.
const METRICS_NAMESPACE: &str = "FtgoPayments";

impl Config {
    /// Reads the environment.
    pub fn read(environment: &Environment<'_>) -> Result<Self, ConfigError> {
        let handler = environment.needed("_HANDLER", "relay or sweep (in Lambda: the function's Handler)")?;
        let seconds = environment.get("SWEEP_AFTER_SECONDS").map(|seconds| seconds.parse().map(Duration::from_secs));
        let config = Self {
            role: Role::parse(&handler).ok_or(ConfigError::Handler)?,
            outbox_table: environment
                .needed("OUTBOX_TABLE", "the table of events to be published, such as ftgo-payments-outbox")?,
            topic_arn: environment.needed("TOPIC_ARN", "the ARN of the topic to publish to")?,
            metrics_namespace: environment.get("METRICS_NAMESPACE").unwrap_or_else(|| METRICS_NAMESPACE.to_owned()),
            sweep_after: seconds.transpose().map_err(|_| ConfigError::SweepAfter)?,
        };
        environment.check_lambda()?;
        Ok(config)
    }
}

impl Role {
    fn parse(handler: &str) -> Option<Self> {
        [Self::Relay, Self::Sweep].into_iter().find(|role| role.name() == handler)
    }

    /// As the function's `Handler` and the metrics' dimension `Function` have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Sweep => "sweep",
        }
    }
}
