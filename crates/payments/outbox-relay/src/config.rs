//! The configuration, read from the environment only.

use std::time::Duration;

use lambda_boot::{Environment, Missing};

/// A function's settings. The SDK reads region, credentials and endpoints itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Which of the two functions this process runs: its `Handler`.
    pub role: Role,
    /// The table of events that are not published yet.
    pub outbox_table: String,
    /// The topic to publish to.
    pub topic_arn: String,
    /// The CloudWatch namespace of the metrics.
    pub metrics_namespace: String,
    /// The sweeper publishes rows that are at least this old. Younger ones are left to the relay. `None`: the sweeper's default.
    pub sweep_after: Option<Duration>,
}

/// The two functions of this binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Publishes new rows from the table's stream.
    Relay,
    /// Publishes old rows, on a schedule.
    Sweep,
}

/// Why a function cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A variable is not set.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// The function's `Handler` is neither of the two.
    #[error("the function's Handler (_HANDLER) must be relay or sweep")]
    Handler,
    /// `SWEEP_AFTER_SECONDS` is not a number of seconds.
    #[error("environment variable SWEEP_AFTER_SECONDS must be a whole number of seconds, such as 300")]
    SweepAfter,
}

/// The same as in `payment-store`, on which this crate does not depend.
const METRICS_NAMESPACE: &str = "FtgoPayments";

impl Config {
    /// Reads the environment.
    pub fn read(environment: &Environment<'_>) -> Result<Self, ConfigError> {
        let handler = environment.needed("_HANDLER", "relay or sweep (in Lambda: the function's Handler)")?;
        let seconds = environment.get("SWEEP_AFTER_SECONDS").map(|seconds| seconds.parse().map(Duration::from_secs));
        let config = Self {
            role: Role::parse(&handler).ok_or(ConfigError::Handler)?,
            outbox_table: environment
                .needed("OUTBOX_TABLE", "the table of events to publish, such as ftgo-payments-outbox")?,
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

    /// The value of the function's `Handler` and of the metrics' dimension `Function`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Relay => "relay",
            Self::Sweep => "sweep",
        }
    }
}
