//! The whole system on one machine: real tables, the real binaries as functions, HTTP.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use embedded_dynamodb::Engine;
use order_events::{Event, EventType, Timestamp};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::lambda::{Function, Settings};
use crate::{demo, gateway};

const ORDERS: &str = "ftgo-order-history";
const RECORDS: &str = "ftgo-order-history-idempotency";

/// How many requests the HTTP API serves at once.
const HTTP_CONCURRENCY: usize = 4;

/// Where things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The HTTP API's port.
    pub http_port: u16,
    /// The DynamoDB API's port.
    pub dynamodb_port: u16,
    /// Where the data is kept.
    pub data_dir: PathBuf,
    /// Where the binaries are.
    pub binaries: PathBuf,
    /// Whether an empty store is filled with a demo.
    pub demo: bool,
    /// Who may see what.
    pub authorization: Authorization,
}

/// Who may see what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authorization {
    /// Everybody sees everything.
    Off,
    /// The claims of a bearer token count, as in production, but nobody checks its signature.
    Unverified,
}

/// Why the system does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port is taken.
    #[error("port {port} is taken: stop what uses it, or set {variable} to another")]
    PortTaken {
        /// Which.
        port: u16,
        /// What sets it.
        variable: &'static str,
    },
    /// A variable is not what it should be.
    #[error("environment variable {0} must be a port number")]
    NoPort(&'static str),
    /// Files or processes.
    #[error("cannot {what}")]
    Io {
        /// Doing what.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// A table could not be created or read.
    #[error("cannot set up the tables")]
    Tables(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The demo was not projected.
    #[error("the demo was not projected: {0}")]
    Demo(String),
}

impl Authorization {
    /// As the query function's environment has it.
    fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Unverified => "jwt",
        }
    }
}

impl Config {
    /// Reads the environment: `HTTP_PORT`, `DYNAMODB_PORT`, `DATA_DIR`, `DEMO`, `AUTHORIZATION`.
    pub fn from_env(binaries: PathBuf) -> Result<Self, StartError> {
        Ok(Self {
            http_port: port("HTTP_PORT", 3_000)?,
            dynamodb_port: port("DYNAMODB_PORT", 8_000)?,
            data_dir: std::env::var_os("DATA_DIR").map_or_else(|| PathBuf::from("target/data"), PathBuf::from),
            binaries,
            demo: std::env::var("DEMO").as_deref() != Ok("0"),
            authorization: match std::env::var("AUTHORIZATION").as_deref() {
                Ok("jwt") => Authorization::Unverified,
                _ => Authorization::Off,
            },
        })
    }
}

fn port(variable: &'static str, default: u16) -> Result<u16, StartError> {
    match std::env::var(variable) {
        Err(_) => Ok(default),
        Ok(text) => text.parse().map_err(|_| StartError::NoPort(variable)),
    }
}

/// The running system. All of it ends when this value is dropped.
#[derive(Debug)]
pub struct Stack {
    engine: Engine,
    http: TcpListener,
    config: Config,
}

impl Stack {
    /// Starts the engine, sets up the tables, and projects the demo into an empty store.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let http = TcpListener::bind(loopback(config.http_port))
            .await
            .map_err(|error| not_opened(error, "the HTTP port", config.http_port, "HTTP_PORT"))?;
        let dir = &config.data_dir;
        let file = dir.join("dynamodb.sqlite");
        let engine = std::fs::create_dir_all(dir)
            .and_then(|()| Engine::open(&file, loopback(config.dynamodb_port)))
            .map_err(|error| not_opened(error, &file.display().to_string(), config.dynamodb_port, "DYNAMODB_PORT"))?;
        let stack = Self { engine, http, config };
        let is_new = stack.create_tables().await?;
        if is_new && stack.config.demo {
            stack.project_demo().await?;
        }
        Ok(stack)
    }

    /// Serves the HTTP API until this future is dropped.
    pub async fn serve(self) -> Result<(), StartError> {
        let query_api = self.function("query-api", "bootstrap", "query-api");
        gateway::serve(self.http, query_api, HTTP_CONCURRENCY, unverified_claims)
            .await
            .map_err(|source| StartError::Io { what: "serve HTTP".to_owned(), source })
    }

    async fn create_tables(&self) -> Result<bool, StartError> {
        let client = self.engine.client();
        let created = order_store::table::create_if_missing(&client, ORDERS)
            .await
            .map_err(|error| StartError::Tables(error.into()))?;
        idempotency::create_table(&client, RECORDS).await.map_err(|error| StartError::Tables(error.into()))?;
        Ok(created)
    }

    async fn project_demo(&self) -> Result<(), StartError> {
        let failed = |error: &dyn ToString| StartError::Demo(error.to_string());
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = now.as_millis().try_into().ok().and_then(Timestamp::from_millis).unwrap_or(Timestamp::EPOCH);
        let events = demo::events(now).map_err(|error| failed(&error))?;
        for &event_type in EventType::ALL {
            let batch: Vec<&Event> = events.iter().filter(|event| event.event_type() == event_type).collect();
            if batch.is_empty() {
                continue;
            }
            let name = format!("ftgo-order-history-{event_type}");
            let settings = self.function(&name, event_type.name(), "event-handler");
            let function = Function::start(settings)
                .await
                .map_err(|source| StartError::Io { what: format!("start {name}"), source })?;
            let answer = function.invoke(sqs_event(&batch).map_err(|error| failed(&error))?).await;
            let answer = answer.map_err(|error| failed(&error))?;
            if answer["batchItemFailures"] != json!([]) {
                return Err(StartError::Demo(answer.to_string()));
            }
        }
        Ok(())
    }

    fn function(&self, name: &str, handler: &str, binary: &str) -> Settings {
        let environment = [
            ("ORDER_HISTORY_TABLE", ORDERS.to_owned()),
            ("IDEMPOTENCY_TABLE", RECORDS.to_owned()),
            ("AUTHORIZATION", self.config.authorization.name().to_owned()),
            ("AWS_ENDPOINT_URL_DYNAMODB", self.engine.endpoint()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "local".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "local".to_owned()),
        ];
        Settings {
            name: name.to_owned(),
            handler: handler.to_owned(),
            binary: self.config.binaries.join(binary),
            environment: environment.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            timeout: Duration::from_secs(30),
        }
    }
}

/// What to try first.
#[must_use]
pub fn commands_to_try(http_port: u16) -> String {
    let (order, consumer) = (demo::ORDER, demo::CONSUMER);
    format!(
        "  curl http://127.0.0.1:{http_port}/orders/{order}\n  \
           curl 'http://127.0.0.1:{http_port}/orders?consumerId={consumer}'\n  \
           curl 'http://127.0.0.1:{http_port}/orders?consumerId={consumer}&keywords=br%C3%BBl%C3%A9e'"
    )
}

/// The claims of a bearer token, as API Gateway's JWT authorizer hands them over after it has checked the token.
fn unverified_claims(headers: &HeaderMap) -> Option<Value> {
    let token = headers.get("authorization")?.to_str().ok()?.strip_prefix("Bearer ")?;
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    claims.is_object().then(|| json!({"jwt": {"claims": claims, "scopes": null}}))
}

fn sqs_event(events: &[&Event]) -> serde_json::Result<Value> {
    let records = events.iter().enumerate().map(|(place, event)| {
        Ok(json!({"messageId": place.to_string(), "body": event.to_message()?, "eventSource": "aws:sqs"}))
    });
    Ok(json!({"Records": records.collect::<serde_json::Result<Vec<_>>>()?}))
}

fn not_opened(source: io::Error, what: &str, port: u16, variable: &'static str) -> StartError {
    match source.kind() {
        io::ErrorKind::AddrInUse => StartError::PortTaken { port, variable },
        _ => StartError::Io { what: format!("open {what}"), source },
    }
}

fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
