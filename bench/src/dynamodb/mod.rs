//! DynamoDB and a topic in a separate process, so that their CPU time is not part of the contender's.

mod meter;
mod server;
mod stub;
mod tls;
mod topic;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use aws_smithy_http_client::Builder;
use embedded_dynamodb::Engine;
use sample_events::{IDEMPOTENCY_TABLE, ORDER_HISTORY_TABLE};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

pub use meter::{MeterCounts, Units};

use crate::Result;
use meter::Meter;
use stub::Stub;
use topic::Topic;

/// The argument with which this program runs as that process.
pub const COMMAND: &str = "dynamodb";

/// The latency of the distant stub. AWS calls DynamoDB's "single-digit milliseconds".
pub const DISTANCE: Duration = Duration::from_millis(5);

/// The endpoints for the contenders.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Endpoints {
    /// The engine itself.
    pub engine: String,
    /// The engine behind the meter.
    pub meter: String,
    /// A server that answers immediately.
    pub stub: String,
    /// The same, with the latency [`DISTANCE`].
    pub distant_stub: String,
    /// A topic of SNS.
    pub topic: String,
    /// The stub behind TLS.
    pub tls: String,
    /// The root certificate of that TLS.
    pub root: PathBuf,
}

/// The process. It ends when this value is dropped.
#[derive(Debug)]
pub struct DynamoDb {
    /// Its location.
    pub endpoints: Endpoints,
    process: Child,
    requests: ChildStdin,
    responses: Lines<BufReader<ChildStdout>>,
}

impl DynamoDb {
    /// Starts the process, and creates the tables in its engine.
    pub async fn start() -> Result<Self> {
        let mut process = Command::new(std::env::current_exe()?)
            .arg(COMMAND)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let requests = process.stdin.take().ok_or("the process has no standard input")?;
        let stdout = process.stdout.take().ok_or("the process has no standard output")?;
        let mut responses = BufReader::new(stdout).lines();
        let endpoints = responses.next_line().await?.ok_or("DynamoDB's side did not start")?;
        let endpoints: Endpoints = serde_json::from_str(&endpoints)?;
        let client = client(&endpoints.engine);
        order_store::table::create_if_missing(&client, ORDER_HISTORY_TABLE).await?;
        idempotency::create_table(&client, IDEMPOTENCY_TABLE).await?;
        Ok(Self { endpoints, process, requests, responses })
    }

    /// The meter's tally since the last call.
    pub async fn metered(&mut self) -> Result<MeterCounts> {
        self.requests.write_all(b"metered\n").await?;
        let tally = self.responses.next_line().await?.ok_or("DynamoDB's side has ended")?;
        Ok(serde_json::from_str(&tally)?)
    }

    /// The process.
    pub fn process_id(&self) -> Result<u32> {
        Ok(self.process.id().ok_or("DynamoDB's side has ended")?)
    }

    /// A client of the engine, to fill its tables.
    #[must_use]
    pub fn client(&self) -> Client {
        client(&self.endpoints.engine)
    }
}

fn client(endpoint: &str) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(Builder::new().build_http())
        .endpoint_url(endpoint)
        .region(Region::from_static("us-east-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "bench"));
    Client::from_conf(config.build())
}

/// The main function of that process: prints its endpoints, then answers each line on standard input with the meter's tally, until there
/// are no more.
pub async fn serve() -> Result<()> {
    let engine = Engine::start();
    let meter = Arc::new(Meter::new(&engine.endpoint()));
    let stub = Arc::new(Stub::new(Duration::ZERO, meter.last_reads()));
    let distant_stub = Arc::new(Stub::new(DISTANCE, meter.last_reads()));
    let (acceptor, root) = tls::endpoint()?;
    let endpoints = Endpoints {
        engine: engine.endpoint(),
        meter: server::listen(Arc::clone(&meter)).await?,
        stub: server::listen(Arc::clone(&stub)).await?,
        distant_stub: server::listen(distant_stub).await?,
        topic: server::listen(Arc::new(Topic(Arc::clone(&meter)))).await?,
        tls: server::listen_tls(stub, acceptor).await?,
        root,
    };
    println!("{}", serde_json::to_string(&endpoints)?);
    let mut requests = BufReader::new(tokio::io::stdin()).lines();
    while requests.next_line().await?.is_some() {
        println!("{}", serde_json::to_string(&meter.take())?);
    }
    Ok(())
}
