//! Who competes: our handler, and the same job in Python and in Node, each as a Lambda function.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lambda_host::lambda::{Function, Settings};
use sample_events::{IDEMPOTENCY_TABLE, ORDER_HISTORY_TABLE};

use crate::{Result, peers};

/// A handler of our events that Lambda could run.
#[derive(Debug, Clone)]
pub struct Contender {
    /// How it is called in tables.
    pub name: &'static str,
    /// What it is made of, with versions.
    pub made_of: String,
    /// What Lambda starts.
    pub bootstrap: PathBuf,
    /// How many batches of ten it gets in a round for each event type: about a second's worth.
    pub batches: usize,
    /// How many it gets before that, to be as fast as it will be: Node compiles what runs often, up to the thousandth event.
    pub warm_up: usize,
}

/// Our own handler's name in tables.
pub const OURS: &str = "ours";
/// The name of the Python peer.
pub const PYTHON: &str = "Python";
/// The name of the Node peer.
pub const NODE: &str = "Node";
/// The name of the Node peer in one file, which only differs in its cold start.
pub const BUNDLED_NODE: &str = "Node, bundled";
/// The name of the bare loop.
pub const FLOOR: &str = "bare loop, one at a time";
/// The name of the bare loop with ten requests under way.
pub const FLOOR_OF_TEN: &str = "bare loop, ten at once";

impl Contender {
    /// All that can run here: a peer whose language is missing is left out, and said to be.
    pub fn all(binaries: &Path) -> Result<Vec<Self>> {
        let ours = Self {
            name: OURS,
            made_of: format!("event-handler {}, as a release build has it", env!("CARGO_PKG_VERSION")),
            bootstrap: binaries.join("event-handler"),
            batches: 60,
            warm_up: 20,
        };
        let mut all = vec![ours];
        all.extend(peers::python()?);
        all.extend(peers::node()?);
        Ok(all)
    }

    /// Starts a function of it. `handler` is the function's `Handler`.
    pub async fn start(&self, handler: &str, connection: &Connection) -> Result<Function> {
        let settings = Settings {
            environment: connection.environment(),
            timeout: Duration::from_mins(1),
            ..Settings::new(&format!("ftgo-order-history-{handler}"), handler, self.bootstrap.clone())
        };
        Ok(Function::start(settings).await.map_err(|error| format!("cannot start {}: {error}", self.name))?)
    }
}

/// How a function reaches DynamoDB.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Where it is.
    pub endpoint: String,
    /// The root certificate to trust, if it is not of this world.
    pub root: Option<PathBuf>,
}

impl Connection {
    /// Without TLS.
    #[must_use]
    pub fn plain(endpoint: &str) -> Self {
        Self { endpoint: endpoint.to_owned(), root: None }
    }

    /// What Lambda and the deployment would set.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        let mut variables = vec![
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_DEFAULT_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "local".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "local".to_owned()),
            ("AWS_ENDPOINT_URL_DYNAMODB", self.endpoint.clone()),
            ("ORDER_HISTORY_TABLE", ORDER_HISTORY_TABLE.to_owned()),
            ("IDEMPOTENCY_TABLE", IDEMPOTENCY_TABLE.to_owned()),
        ];
        if let Some(root) = &self.root {
            // The SDKs of Python and of Rust read the first, Node the second.
            variables.push(("AWS_CA_BUNDLE", root.display().to_string()));
            variables.push(("NODE_EXTRA_CA_CERTS", root.display().to_string()));
        }
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
