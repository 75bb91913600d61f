//! The settings of a system, and the errors of its start.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use lambda_host::queues::QueueError;
use lambda_host::stream::StreamError;
use lambda_host::topics::TopicError;

/// The settings, from the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The HTTP API's port.
    pub http_port: u16,
    /// The DynamoDB API's port.
    pub dynamodb_port: u16,
    /// The SQS API's port.
    pub sqs_port: u16,
    /// The SNS API's port.
    pub sns_port: u16,
    /// The S3 API's port.
    pub s3_port: u16,
    /// The stand-in payment gateway's port.
    pub gateway_port: u16,
    /// The time after which a failed message is retried. Shorter than in production, because a person waits for it.
    pub visibility_timeout: Duration,
    /// The functions' log level, if it differs from the template's.
    pub log_level: Option<String>,
    /// How a charge is made (`saga` or `locked`), if it differs from the template's.
    pub charge_mode: Option<String>,
    /// The folder for all data.
    pub data_dir: PathBuf,
    /// The folder with the functions' binaries.
    pub binaries: PathBuf,
    /// Whether an empty store is filled with a demo.
    pub demo: bool,
    /// Whether requests need a token.
    pub authorization: Authorization,
    /// How long a step of a shuffle in the console lasts, so that a person can follow.
    pub shuffle_pace: Duration,
}

/// Whether requests need a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authorization {
    /// No token: every request may read and change everything.
    Off,
    /// The claims of a bearer token are used, as in production, but its signature is not checked.
    Unverified,
}

/// Why the system does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A port is taken.
    #[error("port {port} is in use: stop the program that uses it, or set {variable} to another port")]
    PortTaken {
        /// The port that another program uses.
        port: u16,
        /// The environment variable that sets the port.
        variable: &'static str,
    },
    /// A variable is not a port.
    #[error("environment variable {0} must be a port number")]
    InvalidPort(&'static str),
    /// A variable is not a number of seconds in range.
    #[error("environment variable {0} must be a number of seconds, from 1 to 43200")]
    InvalidSeconds(&'static str),
    /// A variable is not a number of milliseconds in range.
    #[error("environment variable {0} must be a number of milliseconds, from 0 to 10000")]
    InvalidMilliseconds(&'static str),
    /// `AUTHORIZATION` has an unknown value.
    #[error("environment variable AUTHORIZATION must be off (the default) or jwt")]
    InvalidAuthorization,
    /// `CHARGE_MODE` has an unknown value.
    #[error("environment variable CHARGE_MODE must be saga or locked, or unset")]
    InvalidChargeMode,
    /// The folder for the data cannot be used.
    #[error("cannot store data in {}: set DATA_DIR to a writable folder", path.display())]
    DataDir {
        /// The value of `DATA_DIR`.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// Another process uses the folder for the data.
    #[error("{} is in use by {}: stop it, or set DATA_DIR to another folder", path.display(), process(*holder))]
    InUse {
        /// The value of `DATA_DIR`.
        path: PathBuf,
        /// The id of that process, if it is known.
        holder: Option<u32>,
    },
    /// The file with the tables cannot be read.
    #[error("cannot open the tables in {}: move the file away to start without them, or set DATA_DIR to another folder", path.display())]
    UnreadableTables {
        /// The file with the tables.
        path: PathBuf,
        /// The error of the engine.
        source: io::Error,
    },
    /// An operation on files or processes failed.
    #[error("cannot {what}")]
    Io {
        /// The operation, such as `open a port`.
        what: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The rendered template cannot be read.
    #[error("cannot read the template")]
    Template(#[from] serde_json::Error),
    /// A table could not be created or read.
    #[error("cannot set up the tables")]
    Tables(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A queue could not be created.
    #[error("cannot set up the queues")]
    Queues(#[from] QueueError),
    /// The topic could not be set up.
    #[error("cannot set up the topic")]
    Topic(#[from] TopicError),
    /// A stream could not be read.
    #[error("cannot read a table's stream")]
    Stream(#[from] StreamError),
    /// The demo was not projected, or not paid for.
    #[error("the demo is not complete: {0}")]
    Demo(String),
}

fn process(id: Option<u32>) -> String {
    id.map_or_else(|| "another process".to_owned(), |id| format!("process {id}"))
}

impl Authorization {
    /// The value of the functions' variable `AUTHORIZATION`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Unverified => "jwt",
        }
    }
}

impl Config {
    /// Reads the environment: `HTTP_PORT`, `DYNAMODB_PORT`, `SQS_PORT`, `SNS_PORT`, `S3_PORT`, `GATEWAY_PORT`, `VISIBILITY_TIMEOUT`,
    /// `LOG_LEVEL`, `CHARGE_MODE`, `DATA_DIR`, `DEMO`, `AUTHORIZATION`, `SHUFFLE_PACE`.
    pub fn from_env(binaries: PathBuf) -> Result<Self, StartError> {
        Ok(Self {
            http_port: port("HTTP_PORT", 3_000)?,
            dynamodb_port: port("DYNAMODB_PORT", 8_000)?,
            sqs_port: port("SQS_PORT", 9_324)?,
            sns_port: port("SNS_PORT", 9_911)?,
            s3_port: port("S3_PORT", 9_000)?,
            gateway_port: port("GATEWAY_PORT", 3_002)?,
            visibility_timeout: seconds("VISIBILITY_TIMEOUT", 10)?,
            log_level: std::env::var("LOG_LEVEL").ok().filter(|level| !level.is_empty()),
            charge_mode: match std::env::var("CHARGE_MODE").as_deref() {
                Err(_) | Ok("") => None,
                Ok(mode @ ("saga" | "locked")) => Some(mode.to_owned()),
                Ok(_) => return Err(StartError::InvalidChargeMode),
            },
            data_dir: std::env::var_os("DATA_DIR")
                .filter(|folder| !folder.is_empty())
                .map_or_else(|| PathBuf::from("target/data"), PathBuf::from),
            binaries,
            demo: std::env::var("DEMO").as_deref() != Ok("0"),
            authorization: match std::env::var("AUTHORIZATION").as_deref() {
                Ok("jwt") => Authorization::Unverified,
                Ok("off") | Err(_) => Authorization::Off,
                Ok(_) => return Err(StartError::InvalidAuthorization),
            },
            shuffle_pace: milliseconds("SHUFFLE_PACE", 400)?,
        })
    }
}

fn port(variable: &'static str, default: u16) -> Result<u16, StartError> {
    match std::env::var(variable) {
        Err(_) => Ok(default),
        Ok(text) => text.parse().map_err(|_| StartError::InvalidPort(variable)),
    }
}

/// The upper limit is that of SQS for a visibility timeout:
/// <https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html>.
fn seconds(variable: &'static str, default: u64) -> Result<Duration, StartError> {
    let seconds = match std::env::var(variable) {
        Err(_) => Some(default),
        Ok(text) => text.parse().ok().filter(|seconds| (1..=43_200).contains(seconds)),
    };
    seconds.map(Duration::from_secs).ok_or(StartError::InvalidSeconds(variable))
}

fn milliseconds(variable: &'static str, default: u64) -> Result<Duration, StartError> {
    let milliseconds = match std::env::var(variable) {
        Err(_) => Some(default),
        Ok(text) => text.parse().ok().filter(|milliseconds| (0..=10_000).contains(milliseconds)),
    };
    milliseconds.map(Duration::from_millis).ok_or(StartError::InvalidMilliseconds(variable))
}
