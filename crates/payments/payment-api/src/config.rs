//! The configuration, read from the environment only.

use lambda_boot::{Environment, Missing};
use payment_store::{METRICS_NAMESPACE, Tables};

/// The function's settings. The SDK reads region, credentials and endpoint itself; the gateway's client reads its own settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The tables of Payments.
    pub tables: Tables,
    /// Who sends a charge to the gateway.
    pub charge_mode: ChargeMode,
    /// The settings that do not depend on the mode.
    pub settings: Settings,
}

/// The settings of the API in both modes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Who may do what.
    pub authorization: Authorization,
    /// The CloudWatch namespace of the metrics.
    pub metrics_namespace: String,
    /// The version of the function that this process runs. A rollback is decided by the metrics of the new version.
    pub function_version: String,
}

/// Who sends a charge to the gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChargeMode {
    /// The charge handler, after the response.
    Saga,
    /// The request itself, under the intent's lock.
    Locked,
}

/// Who may do what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorization {
    /// The claims that API Gateway's JWT authorizer has verified decide.
    Jwt {
        /// The claim that names the consumer.
        consumer_id_claim: String,
    },
    /// Everybody may do everything.
    Off,
}

/// Why the function cannot start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A variable is not set.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// `CHARGE_MODE` has another value.
    #[error("environment variable CHARGE_MODE must be saga (the default) or locked")]
    ChargeMode,
    /// `AUTHORIZATION` has another value.
    #[error("environment variable AUTHORIZATION must be jwt (the default) or off")]
    Authorization,
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
        let charge_mode = match environment.get("CHARGE_MODE").as_deref() {
            None | Some("saga") => ChargeMode::Saga,
            Some("locked") => ChargeMode::Locked,
            Some(_) => return Err(ConfigError::ChargeMode),
        };
        let tables = Tables::read(environment)?;
        let metrics_namespace = environment.get("METRICS_NAMESPACE").unwrap_or_else(|| METRICS_NAMESPACE.to_owned());
        environment.check_lambda()?;
        let function_version = environment.get("AWS_LAMBDA_FUNCTION_VERSION").unwrap_or_default();
        Ok(Self { tables, charge_mode, settings: Settings { authorization, metrics_namespace, function_version } })
    }
}
