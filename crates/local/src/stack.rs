//! The whole system on one machine: real tables, queues, the real binaries as functions, HTTP.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use embedded_dynamodb::Engine;
use order_events::{EventType, Timestamp};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::lambda::Settings;
use crate::mapping::Mapping;
use crate::queues::{ACCOUNT, Queue, QueueError, Queues, REGION};
use crate::{demo, gateway};

const ORDERS: &str = "ftgo-order-history";
const RECORDS: &str = "ftgo-order-history-idempotency";

/// The binary that serves every event type.
const EVENT_HANDLER: &str = "event-handler";

/// How many requests the HTTP API serves at once.
const HTTP_CONCURRENCY: usize = 4;

/// How many batches of one event type are handled at once.
const EVENT_CONCURRENCY: usize = 2;

/// How long the HTTP API waits for its function.
const HTTP_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the demo may take. It takes about a second; a message that had to come again takes longer.
const DEMO_TIMEOUT: Duration = Duration::from_mins(1);

/// Where things are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The HTTP API's port.
    pub http_port: u16,
    /// The DynamoDB API's port.
    pub dynamodb_port: u16,
    /// The SQS API's port.
    pub sqs_port: u16,
    /// When a message that failed comes again. It is shorter than in production, where nobody sits and waits for it.
    pub visibility_timeout: Duration,
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
    /// A variable is not what it should be.
    #[error("environment variable {0} must be a number of seconds, from 1 to 43200")]
    NoSeconds(&'static str),
    /// A variable is not what it should be.
    #[error("environment variable AUTHORIZATION must be off (also if it is not set) or jwt")]
    NoAuthorization,
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
    /// A queue could not be created.
    #[error("cannot set up the queues")]
    Queues(#[from] QueueError),
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
    /// Reads the environment: `HTTP_PORT`, `DYNAMODB_PORT`, `SQS_PORT`, `VISIBILITY_TIMEOUT`, `DATA_DIR`, `DEMO`,
    /// `AUTHORIZATION`.
    pub fn from_env(binaries: PathBuf) -> Result<Self, StartError> {
        Ok(Self {
            http_port: port("HTTP_PORT", 3_000)?,
            dynamodb_port: port("DYNAMODB_PORT", 8_000)?,
            sqs_port: port("SQS_PORT", 9_324)?,
            visibility_timeout: seconds("VISIBILITY_TIMEOUT", 10)?,
            data_dir: std::env::var_os("DATA_DIR").map_or_else(|| PathBuf::from("target/data"), PathBuf::from),
            binaries,
            demo: std::env::var("DEMO").as_deref() != Ok("0"),
            authorization: match std::env::var("AUTHORIZATION").as_deref() {
                Ok("jwt") => Authorization::Unverified,
                Ok("off") | Err(_) => Authorization::Off,
                Ok(_) => return Err(StartError::NoAuthorization),
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

/// SQS has a longest visibility timeout:
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>.
fn seconds(variable: &'static str, default: u64) -> Result<Duration, StartError> {
    let seconds = match std::env::var(variable) {
        Err(_) => Some(default),
        Ok(text) => text.parse().ok().filter(|seconds| (1..=43_200).contains(seconds)),
    };
    seconds.map(Duration::from_secs).ok_or(StartError::NoSeconds(variable))
}

/// The running system. All of it ends when this value is dropped.
#[derive(Debug)]
pub struct Stack {
    sources: Vec<Source>,
    queues: Queues,
    sqs: TcpListener,
    engine: Engine,
    http: TcpListener,
    config: Config,
}

/// Where the events of one type come from.
#[derive(Debug)]
struct Source {
    event_type: EventType,
    queue: Queue,
    mapping: Mapping,
}

impl Stack {
    /// Starts the engine, sets up tables and queues, and publishes the demo for an empty store.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let http = bind(config.http_port, "the HTTP port", "HTTP_PORT").await?;
        let sqs = bind(config.sqs_port, "the SQS port", "SQS_PORT").await?;
        let dir = &config.data_dir;
        let file = dir.join("dynamodb.sqlite");
        let engine = std::fs::create_dir_all(dir)
            .and_then(|()| Engine::open(&file, loopback(config.dynamodb_port)))
            .map_err(|error| not_opened(error, &file.display().to_string(), config.dynamodb_port, "DYNAMODB_PORT"))?;
        let address =
            sqs.local_addr().map_err(|error| not_opened(error, "the SQS port", config.sqs_port, "SQS_PORT"))?;
        let queues = Queues::new(address);
        // Its processes start with the first messages; that it is there is found out now.
        let handler = config.binaries.join(EVENT_HANDLER);
        std::fs::metadata(&handler)
            .map_err(|source| StartError::Io { what: format!("find {}", handler.display()), source })?;
        let mut stack = Self { sources: Vec::new(), queues, sqs, engine, http, config };
        let is_new = stack.create_tables().await?;
        for &event_type in EventType::ALL {
            let source = stack.create_source(event_type).await?;
            stack.sources.push(source);
        }
        if is_new && stack.config.demo {
            stack.publish_demo().await?;
        }
        Ok(stack)
    }

    /// Serves the HTTP API and the SQS API until this future is dropped.
    pub async fn serve(self) -> Result<(), StartError> {
        let query_api = self.function("query-api", "bootstrap", "query-api", HTTP_TIMEOUT);
        let http = gateway::serve(self.http, query_api, HTTP_CONCURRENCY, unverified_claims);
        let sqs = self.queues.serve(self.sqs);
        tokio::select! {
            served = http => served.map_err(|source| StartError::Io { what: "serve HTTP".to_owned(), source }),
            served = sqs => served.map_err(|source| StartError::Io { what: "serve SQS".to_owned(), source }),
        }
    }

    async fn create_tables(&self) -> Result<bool, StartError> {
        let client = self.engine.client();
        let created = order_store::table::create_if_missing(&client, ORDERS)
            .await
            .map_err(|error| StartError::Tables(error.into()))?;
        idempotency::create_table(&client, RECORDS).await.map_err(|error| StartError::Tables(error.into()))?;
        Ok(created)
    }

    async fn create_source(&self, event_type: EventType) -> Result<Source, StartError> {
        let name = format!("{ORDERS}-{event_type}");
        let visibility_timeout = self.config.visibility_timeout;
        let queue = self.queues.create(&name, visibility_timeout).await?;
        // A function that was killed has claimed its events for as long as it might have run. When they come again, that
        // time must have passed; with the whole visibility timeout it would not, by the time the function took to start.
        let function = self.function(&name, event_type.name(), EVENT_HANDLER, visibility_timeout / 2);
        let mapping = Mapping::start(queue.clone(), function, EVENT_CONCURRENCY);
        Ok(Source { event_type, queue, mapping })
    }

    async fn publish_demo(&self) -> Result<(), StartError> {
        let failed = |error: &dyn ToString| StartError::Demo(error.to_string());
        let events = demo::events(now()).map_err(|error| failed(&error))?;
        let mut published = Vec::new();
        for source in &self.sources {
            let mut messages = 0;
            for event in events.iter().filter(|event| event.event_type() == source.event_type) {
                source.queue.send(event.to_message().map_err(|error| failed(&error))?).await?;
                messages += 1;
            }
            published.push((source, messages));
        }
        let projected = async {
            for (source, messages) in published {
                source.mapping.done(messages).await;
            }
        };
        let in_time = tokio::time::timeout(DEMO_TIMEOUT, projected).await;
        in_time.map_err(|_| failed(&format!("it took longer than {DEMO_TIMEOUT:?}")))
    }

    fn function(&self, name: &str, handler: &str, binary: &str, timeout: Duration) -> Settings {
        let environment = [
            ("ORDER_HISTORY_TABLE", ORDERS.to_owned()),
            ("IDEMPOTENCY_TABLE", RECORDS.to_owned()),
            ("AUTHORIZATION", self.config.authorization.name().to_owned()),
            ("AWS_ENDPOINT_URL_DYNAMODB", self.engine.endpoint()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_ACCESS_KEY_ID", "local".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "local".to_owned()),
        ];
        Settings {
            name: name.to_owned(),
            handler: handler.to_owned(),
            binary: self.config.binaries.join(binary),
            environment: environment.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            timeout,
        }
    }
}

/// What to try first: an order, an event for it, a consumer's history.
#[must_use]
pub fn commands_to_try(http_port: u16, sqs_port: u16) -> String {
    let (order, consumer) = (demo::ORDER, demo::CONSUMER);
    let (event_type, message) = demo::next_message(now());
    let (http, sqs) = (format!("http://127.0.0.1:{http_port}"), format!("http://127.0.0.1:{sqs_port}"));
    format!(
        "  curl {http}/orders/{order}\n  \
           aws sqs send-message --no-sign-request --region {REGION} --endpoint-url {sqs} \\\n    \
             --queue-url {sqs}/{ACCOUNT}/{ORDERS}-{event_type} \\\n    \
             --message-body '{message}'\n  \
           curl '{http}/orders?consumerId={consumer}'"
    )
}

/// The claims of a bearer token, as API Gateway's JWT authorizer hands them over after it has checked the token.
fn unverified_claims(headers: &HeaderMap) -> Option<Value> {
    let token = headers.get("authorization")?.to_str().ok()?.strip_prefix("Bearer ")?;
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    claims.is_object().then(|| json!({"jwt": {"claims": claims, "scopes": null}}))
}

fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    now.as_millis().try_into().ok().and_then(Timestamp::from_millis).unwrap_or(Timestamp::EPOCH)
}

async fn bind(port: u16, what: &str, variable: &'static str) -> Result<TcpListener, StartError> {
    TcpListener::bind(loopback(port)).await.map_err(|error| not_opened(error, what, port, variable))
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
