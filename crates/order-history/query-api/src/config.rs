//! The configuration, read from the environment only.

use std::time::Duration;

use lambda_boot::{Environment, Missing};
use order_store::METRICS_NAMESPACE;
use order_store::table::INDEX;

use crate::consistency::MAX_WAIT;
use crate::web_page::{SignIn, WebPage};

/// The function's settings. The SDK reads region, credentials and endpoint itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The view's table.
    pub order_history_table: String,
    /// The table's index for lists.
    pub order_history_index: String,
    /// Who may see what.
    pub authorization: Authorization,
    /// The largest number of orders that one request reads to fill a page.
    pub read_budget: usize,
    /// The longest time that a request waits for an event, at most ten seconds.
    pub max_wait: Duration,
    /// The settings of the web page.
    pub web_page: WebPage,
    /// The CloudWatch namespace of the metrics.
    pub metrics_namespace: String,
    /// The version of the function that this process runs. A rollback is decided by the metrics of the new version.
    pub function_version: String,
}

/// Who may see what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorization {
    /// The claims that API Gateway's JWT authorizer has verified decide.
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
    /// `AUTHORIZATION` has another value.
    #[error("environment variable AUTHORIZATION must be jwt (the default) or off")]
    Authorization,
    /// `READ_BUDGET` is not a number in its range.
    #[error("environment variable READ_BUDGET must be a whole number from 1 to 100000 (the default is 1000)")]
    ReadBudget,
    /// `MAX_WAIT_SECONDS` is not a number in its range.
    #[error(
        "environment variable MAX_WAIT_SECONDS must be a whole number from 0 to {MAX_WAIT} (the default is {MAX_WAIT})"
    )]
    MaxWait,
    /// One of `SIGN_IN_ISSUER` and `SIGN_IN_CLIENT_ID` is set without the other.
    #[error("environment variables SIGN_IN_ISSUER and SIGN_IN_CLIENT_ID: set both or neither")]
    IncompleteSignIn,
    /// `SIGN_IN_ISSUER` is not the URL of an issuer.
    #[error(
        "environment variable SIGN_IN_ISSUER must be a URL without a query, such as https://login.ftgo.example/users \
         (http is allowed only for this machine)"
    )]
    Issuer,
    /// `SIGN_IN_ORIGINS` contains something that is not an origin.
    #[error(
        "environment variable SIGN_IN_ORIGINS must be origins separated by spaces, such as https://login.ftgo.example \
         (http is allowed only for this machine)"
    )]
    Origins,
    /// `SIGN_IN_SCOPE` does not contain `openid`.
    #[error("environment variable SIGN_IN_SCOPE must be scopes separated by spaces, and must contain openid")]
    Scope,
    /// `CURRENCY` is not a currency code.
    #[error("environment variable CURRENCY must be an ISO 4217 code such as EUR (the default is USD)")]
    Currency,
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
        let web_page = web_page(environment)?;
        let metrics_namespace = environment.get("METRICS_NAMESPACE").unwrap_or_else(|| METRICS_NAMESPACE.to_owned());
        environment.check_lambda()?;
        let function_version = environment.get("AWS_LAMBDA_FUNCTION_VERSION").unwrap_or_default();
        Ok(Self {
            order_history_table,
            order_history_index,
            authorization,
            read_budget,
            max_wait,
            web_page,
            metrics_namespace,
            function_version,
        })
    }
}

fn web_page(environment: &Environment<'_>) -> Result<WebPage, ConfigError> {
    let currency = environment.get("CURRENCY").unwrap_or_else(|| "USD".to_owned());
    if currency.len() != 3 || !currency.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err(ConfigError::Currency);
    }
    let consumers = environment.get("SAMPLE_CONSUMERS").unwrap_or_default();
    let consumers = consumers.split(',').map(str::trim).filter(|consumer| !consumer.is_empty());
    Ok(WebPage {
        sign_in: sign_in(environment)?,
        currency,
        sample_consumers: consumers.map(str::to_owned).collect(),
        console: environment.get("CONSOLE"),
    })
}

fn sign_in(environment: &Environment<'_>) -> Result<Option<SignIn>, ConfigError> {
    let (issuer, client_id) = match (environment.get("SIGN_IN_ISSUER"), environment.get("SIGN_IN_CLIENT_ID")) {
        (Some(issuer), Some(client_id)) => (issuer, client_id),
        (None, None) => return Ok(None),
        (Some(_), None) | (None, Some(_)) => return Err(ConfigError::IncompleteSignIn),
    };
    // The URL of the discovery document is the issuer followed by a path.
    let of_issuer = origin(&issuer).filter(|_| !issuer.contains(['?', '#'])).ok_or(ConfigError::Issuer)?;
    let mut origins = vec![of_issuer.to_owned()];
    for text in environment.get("SIGN_IN_ORIGINS").unwrap_or_default().split_whitespace() {
        origin(text).filter(|origin| *origin == text).ok_or(ConfigError::Origins)?;
        if !origins.iter().any(|known| known == text) {
            origins.push(text.to_owned());
        }
    }
    let scope = environment.get("SIGN_IN_SCOPE").unwrap_or_else(|| "openid".to_owned());
    if !scope.split_whitespace().any(|scope| scope == "openid") {
        return Err(ConfigError::Scope);
    }
    Ok(Some(SignIn { issuer, client_id, scope, audience: environment.get("SIGN_IN_AUDIENCE"), origins }))
}

/// The origin of a URL. It becomes part of a header, so it must not contain semicolons or spaces.
fn origin(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let is_name = |host: &str| host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
    let is_host = host == "[::1]" || !host.is_empty() && is_name(host);
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0));
    let is_this_machine = ["localhost", "127.0.0.1", "[::1]"].contains(&host);
    let is_scheme = scheme == "https" || scheme == "http" && is_this_machine;
    let is_path = !url.contains(|character: char| character.is_whitespace() || character.is_control());
    (is_host && is_port && is_scheme && is_path).then(|| &url[..scheme.len() + "://".len() + authority.len()])
}
