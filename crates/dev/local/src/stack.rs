//! The whole system on one machine: real tables, queues, the real binaries as functions, HTTP.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use embedded_dynamodb::Engine;
use lambda_host::lambda::Settings;
use lambda_host::mapping::Mapping;
use lambda_host::queues::{self, Queue, QueueError, Queues};
use lambda_host::{REGION, gateway};
use order_events::{EventType, Timestamp};
use tokio::net::TcpListener;

use crate::data_dir::DataDir;
use crate::demo;
use crate::template::{Function, Projection, Template};

/// How many requests the HTTP API serves at once. More than there are cores: a request that waits for its event does nothing else.
const HTTP_CONCURRENCY: usize = 16;

/// How many batches of one event type are handled at once. Lambda would handle more, but has more cores.
const EVENT_CONCURRENCY: usize = 2;

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
    /// What the functions log at least, if not what the template says.
    pub log_level: Option<String>,
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
    /// The folder for the data cannot be used.
    #[error("cannot keep data in {}: set DATA_DIR to a folder that can be written", path.display())]
    DataDir {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process has the folder for the data.
    #[error("{} is in use by {}: stop it, or set DATA_DIR to another folder", path.display(), process(*holder))]
    InUse {
        /// Which.
        path: PathBuf,
        /// The process that has it, if it has said so.
        holder: Option<u32>,
    },
    /// The tables that were kept cannot be read.
    #[error("cannot open the tables in {}: move the file away to start without them, or set DATA_DIR to another folder", path.display())]
    NoTables {
        /// Where they are.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Files or processes.
    #[error("cannot {what}")]
    Io {
        /// Doing what.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// What the template says cannot be read.
    #[error("cannot read the template")]
    Template(#[from] serde_json::Error),
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

fn process(id: Option<u32>) -> String {
    id.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"))
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
    /// Reads the environment: `HTTP_PORT`, `DYNAMODB_PORT`, `SQS_PORT`, `VISIBILITY_TIMEOUT`, `LOG_LEVEL`, `DATA_DIR`,
    /// `DEMO`, `AUTHORIZATION`.
    pub fn from_env(binaries: PathBuf) -> Result<Self, StartError> {
        Ok(Self {
            http_port: port("HTTP_PORT", 3_000)?,
            dynamodb_port: port("DYNAMODB_PORT", 8_000)?,
            sqs_port: port("SQS_PORT", 9_324)?,
            visibility_timeout: seconds("VISIBILITY_TIMEOUT", 10)?,
            log_level: std::env::var("LOG_LEVEL").ok().filter(|level| !level.is_empty()),
            data_dir: std::env::var_os("DATA_DIR")
                .filter(|folder| !folder.is_empty())
                .map_or_else(|| PathBuf::from("target/data"), PathBuf::from),
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
    sqs: Port,
    engine: Engine,
    http: Port,
    config: Config,
    /// After the engine, which is then closed before the folder is free.
    data: DataDir,
}

/// Where the events of one type come from.
#[derive(Debug)]
struct Source {
    event_type: EventType,
    queue: Queue,
    mapping: Mapping,
}

/// A port that is open, and where it is.
#[derive(Debug)]
struct Port {
    listener: TcpListener,
    address: SocketAddr,
}

impl Stack {
    /// Starts the engine, sets up tables and queues, and publishes the demo for an empty store.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        let data = DataDir::open(&config.data_dir)?;
        let http = Port::open(config.http_port, "HTTP_PORT").await?;
        let sqs = Port::open(config.sqs_port, "SQS_PORT").await?;
        if config.demo && !data.has_tables() && data.planned_demo().is_none() {
            data.plan_demo(Timestamp::from(SystemTime::now()))?;
        }
        let engine = data.open_engine(config.dynamodb_port)?;
        create_tables(&engine).await?;
        let queues = Queues::new(sqs.address);
        let mut stack = Self { sources: Vec::new(), queues, sqs, engine, http, config, data };
        for &event_type in EventType::ALL {
            let source = stack.create_source(event_type).await?;
            stack.sources.push(source);
        }
        if stack.config.demo
            && let Some(now) = stack.data.planned_demo()
        {
            stack.publish_demo(now).await?;
            stack.data.finish_demo()?;
        }
        Ok(stack)
    }

    /// Serves the HTTP API and the SQS API until this future is dropped.
    pub async fn serve(self) -> Result<(), StartError> {
        let template = Template::read()?;
        let mut query_api = self.config.function(&template.http.query_api, &self.engine.endpoint())?;
        query_api.log_file = Some(self.data.new_log(&query_api.name)?);
        query_api.environment.push(("AUTHORIZATION".to_owned(), self.config.authorization.name().to_owned()));
        let routes = template.http.routes;
        let authorizer = gateway::unverified_claims;
        let http = gateway::serve(self.http.listener, query_api, HTTP_CONCURRENCY, routes, authorizer);
        let sqs = self.queues.serve(self.sqs.listener);
        tokio::select! {
            served = http => served.map_err(|source| StartError::Io { what: "serve HTTP".to_owned(), source }),
            served = sqs => served.map_err(|source| StartError::Io { what: "serve SQS".to_owned(), source }),
        }
    }

    /// Where the HTTP API is.
    #[must_use]
    pub fn http_url(&self) -> String {
        self.http.url()
    }

    /// What else is where, in one line.
    #[must_use]
    pub fn places(&self) -> String {
        let (dynamodb, sqs, logs) = (self.engine.endpoint(), self.sqs.url(), self.data.logs());
        format!("DynamoDB at {dynamodb}, SQS at {sqs}, the functions' logs in {}", logs.display())
    }

    /// What to try first: an order, an event for it, a consumer's history.
    #[must_use]
    pub fn commands_to_try(&self) -> String {
        let (order, consumer) = (demo::ORDER, demo::CONSUMER);
        let (event_type, message) = demo::next_message(Timestamp::from(SystemTime::now()));
        let (http, sqs) = (self.http.url(), self.sqs.url());
        let queue = self.sources.iter().find(|source| source.event_type == event_type);
        let queue_url = queue.map(|source| source.queue.url()).unwrap_or_default();
        format!(
            "  curl {http}/orders/{order}\n  \
               aws sqs send-message --no-sign-request --region {REGION} --endpoint-url {sqs} \\\n    \
                 --queue-url {queue_url} \\\n    \
                 --message-body '{message}'\n  \
               curl '{http}/orders?consumerId={consumer}'"
        )
    }

    async fn create_source(&self, event_type: EventType) -> Result<Source, StartError> {
        let Projection { queue, dead_letter_queue, handler, batch_size } = Projection::of(event_type)?;
        self.queues.create(&dead_letter_queue).await?;
        let visibility_timeout = self.config.visibility_timeout;
        let queue = queues::Settings { visibility_timeout: visibility_timeout.as_secs(), ..queue };
        let queue = self.queues.create(&queue).await?;
        let mut function = self.config.function(&handler, &self.engine.endpoint())?;
        function.log_file = Some(self.data.new_log(&function.name)?);
        // A function that was killed has claimed its events for as long as it might have run. When they come again, that
        // time must have passed; with the whole visibility timeout it would not, by the time the function took to start.
        function.timeout = function.timeout.min(visibility_timeout / 2);
        let mapping = Mapping::start(queue.clone(), function, batch_size, EVENT_CONCURRENCY);
        Ok(Source { event_type, queue, mapping })
    }

    /// Publishes the demo of a moment, and waits until all of it is in the view.
    async fn publish_demo(&self, now: Timestamp) -> Result<(), StartError> {
        let failed = |error: &dyn ToString| StartError::Demo(error.to_string());
        let events = demo::events(now).map_err(|error| failed(&error))?;
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
        in_time.map_err(|_| failed(&format!("it took longer than {DEMO_TIMEOUT:?}; start again to finish it")))
    }
}

/// Creates the tables that are not there.
pub(crate) async fn create_tables(engine: &Engine) -> Result<(), StartError> {
    let tables = Template::read()?.tables()?;
    let client = engine.client();
    order_store::table::create_if_missing(&client, &tables.order_history_table)
        .await
        .map_err(|error| StartError::Tables(error.into()))?;
    idempotency::create_table(&client, &tables.idempotency_table)
        .await
        .map_err(|error| StartError::Tables(error.into()))?;
    Ok(())
}

impl Config {
    /// A function as the template has it, with a DynamoDB that is at `dynamodb`.
    pub(crate) fn function(&self, function: &Function, dynamodb: &str) -> Result<Settings, StartError> {
        let binary = self.binaries.join(function.binary());
        // Its processes start with the first events; that it is there is found out now.
        std::fs::metadata(&binary)
            .map_err(|source| StartError::Io { what: format!("find {}", binary.display()), source })?;
        let ours = [
            ("AWS_ENDPOINT_URL_DYNAMODB", dynamodb),
            ("AWS_REGION", REGION),
            ("AWS_ACCESS_KEY_ID", "local"),
            ("AWS_SECRET_ACCESS_KEY", "local"),
        ];
        let log_level = self.log_level.as_deref().map(|level| ("LOG_LEVEL", level));
        let ours = ours.into_iter().chain(log_level).map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(Settings {
            name: function.name.clone(),
            handler: function.handler.clone(),
            binary,
            environment: function.environment.clone().into_iter().chain(ours).collect(),
            timeout: function.timeout(),
            memory_size: function.memory_size,
            log_file: None,
        })
    }
}

impl Port {
    async fn open(port: u16, variable: &'static str) -> Result<Self, StartError> {
        let opened = TcpListener::bind(loopback(port)).await;
        let opened = opened.and_then(|listener| Ok(Self { address: listener.local_addr()?, listener }));
        opened.map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => StartError::PortTaken { port, variable },
            _ => StartError::Io { what: format!("open port {port}"), source },
        })
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

pub(crate) fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
