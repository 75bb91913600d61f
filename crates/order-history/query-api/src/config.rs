//! Configuration: from the environment only.

use std::time::Duration;

use lambda_boot::{Environment, Missing};
use order_store::METRICS_NAMESPACE;
use order_store::table::INDEX;

use crate::consistency::MAX_WAIT;

/// What the function needs to know. Region, credentials and endpoint are the SDK's to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The view's table.
    pub order_history_table: String,
    /// The table's index that histories are read from.
    pub order_history_index: String,
    /// Who may see what.
    pub authorization: Authorization,
    /// The most orders that one request reads to fill a page.
    pub read_budget: usize,
    /// The longest that a request may wait for an event, whatever it prefers; at most ten seconds.
    pub max_wait: Duration,
    /// The CloudWatch namespace of the metrics.
    pub metrics_namespace: String,
    /// The version of the function that this process runs: a rollout is taken back by what the new version does.
    pub function_version: String,
}

/// Who may see what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorization {
    /// What the JWT authorizer in front of us says.
    Jwt {
        /// The claim that names the consumer.
        consumer_id_claim: String,
    },
    /// Everybody may see everything.
    Off,
}

/// Why the function cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A variable is not set.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// `AUTHORIZATION` is neither of the two.
    #[error("environment variable AUTHORIZATION must be jwt (also if it is not set) or off")]
    Authorization,
    /// `READ_BUDGET` is no number.
    #[error("environment variable READ_BUDGET must be a whole number from 1 to 100000 (1000 if it is not set)")]
    ReadBudget,
    /// `MAX_WAIT_SECONDS` is no number.
    #[error(
        "environment variable MAX_WAIT_SECONDS must be a whole number from 0 to {MAX_WAIT} ({MAX_WAIT} if it is not set)"
    )]
    MaxWait,
}

impl Config {
    /// Reads the environment.
    pub fn read(environment: &Environment<'_>) -> Result<Self, ConfigError> {
        let authorization = match environment.get("AUTHORIZATION").as_deref() {
            None | Some("jwt") => Authorization::Jwt {
                consumer_id_claim: environment.get("CONSUMER_ID_CLAIM").unwrap_or_else(|| "sub".to_owned()),
            },
            Some("off") => Authorization::Off,
            Some(_) => return Err(ConfigError::Authorization),
        };
        let read_budget = match environment.get("READ_BUDGET") {
            None => 1_000,
            Some(number) => {
                number.parse().ok().filter(|number| (1..=100_000).contains(number)).ok_or(ConfigError::ReadBudget)?
            }
        };
        let max_wait = match environment.get("MAX_WAIT_SECONDS") {
            None => MAX_WAIT,
            Some(number) => number.parse().ok().filter(|number| *number <= MAX_WAIT).ok_or(ConfigError::MaxWait)?,
        };
        let max_wait = Duration::from_secs(max_wait);
        let order_history_table =
            environment.needed("ORDER_HISTORY_TABLE", "the name of the view's table, such as ftgo-order-history")?;
        let order_history_index = environment.get("ORDER_HISTORY_INDEX").unwrap_or_else(|| INDEX.to_owned());
        let metrics_namespace = environment.get("METRICS_NAMESPACE").unwrap_or_else(|| METRICS_NAMESPACE.to_owned());
        environment.check_lambda()?;
        let function_version = environment.get("AWS_LAMBDA_FUNCTION_VERSION").unwrap_or_default();
        Ok(Self {
            order_history_table,
            order_history_index,
            authorization,
            read_budget,
            max_wait,
            metrics_namespace,
            function_version,
        })
    }
}
