//! The engine: dynoxide behind its HTTP API, on its own thread.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::thread::JoinHandle;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Builder, Config, Credentials, Region, retry::RetryConfig};
use aws_smithy_http_client::Builder as HttpClientBuilder;
use dynoxide::Database;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::{Stream, StreamError, Wire};

/// The engine keeps the records of all streams in one SQL table for ever. Each write to a table with a stream, and each
/// read of a stream, searches the whole SQL table: 50 ms with 100,000 records. With this index, it takes 0.1 ms.
const STREAM_INDEX: &str = "CREATE INDEX IF NOT EXISTS _stream_records_by_sequence_number \
                            ON _stream_records (table_name, CAST(sequence_number AS INTEGER))";

/// A running DynamoDB engine. It stops when this value is dropped.
pub struct Engine {
    database: Database,
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts an empty engine that keeps its data in memory, on a free loopback port.
    #[must_use]
    pub fn start() -> Self {
        let database = Database::memory().expect("an in-memory database opens");
        Self::serve(database, ([127, 0, 0, 1], 0).into()).expect("a free loopback port binds")
    }

    /// Starts an engine on `address` that keeps its data in the file `path`, so that it survives a restart.
    pub fn open(path: &Path, address: SocketAddr) -> std::io::Result<Self> {
        let path = path.to_str().ok_or_else(|| {
            std::io::Error::new(std::io::ErrorKind::InvalidInput, "the path of the data file is not UTF-8")
        })?;
        let database = Database::new(path).map_err(std::io::Error::other)?;
        // If it fails, everything still works, only slower.
        let _ = rusqlite::Connection::open(path).and_then(|file| file.execute(STREAM_INDEX, ()));
        Self::serve(database, address)
    }

    fn serve(database: Database, address: SocketAddr) -> std::io::Result<Self> {
        let listener = std::net::TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let served = database.clone();
        let thread = std::thread::Builder::new().name("dynamodb".to_owned()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime starts");
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).expect("the listener is valid");
                // A client that keeps its connection open must not delay the stop, so the server is
                // dropped and does not wait for open connections.
                tokio::select! {
                    ended = dynoxide::server::serve_with_shutdown(listener, served, std::future::pending()) => {
                        ended.expect("the server runs until it is stopped");
                    }
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { database, address, stop: Some(stop), thread: Some(thread) })
    }

    /// The URL of the engine, such as `http://127.0.0.1:40001`: a value for `AWS_ENDPOINT_URL_DYNAMODB`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A client with the default settings of the SDK.
    #[must_use]
    pub fn client(&self) -> Client {
        let http = HttpClientBuilder::new().build_http();
        Client::from_conf(self.config().http_client(http).build())
    }

    /// A client whose requests go over `wire`. The SDK's retries are off: they would hide what the wire does.
    #[must_use]
    pub fn client_over(&self, wire: &Wire) -> Client {
        let config = self.config().http_client(wire.clone()).retry_config(RetryConfig::disabled());
        Client::from_conf(config.build())
    }

    /// The stream of `table`, which must have been created with a stream.
    pub fn stream(&self, table: &str) -> Result<Stream, StreamError> {
        Stream::open(self.database.clone(), table)
    }

    /// The endpoint, region and credentials of this engine, for a client with other settings.
    #[must_use]
    pub fn config(&self) -> Builder {
        Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(self.endpoint())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "embedded"))
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // This fails only if the thread has already ended.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
