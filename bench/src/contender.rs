//! The contenders: our handler, and the same job in Python and in Node, each as a Lambda function.

use std::path::{Path, PathBuf};
use std::time::Duration;

use lambda_host::lambda::{Function, Settings};
use payment_store::Tables;
use sample_events::{IDEMPOTENCY_TABLE, ORDER_HISTORY_TABLE};

use serde_json::Value;

use crate::{Result, peers};

/// A Lambda function that handles our events.
#[derive(Debug, Clone)]
pub struct Contender {
    /// Its name in tables.
    pub name: &'static str,
    /// Its components, with versions.
    pub made_of: String,
    /// The executable that Lambda starts.
    pub bootstrap: PathBuf,
    /// The number of batches of ten in a round for each event type: about one second of work.
    pub batches: usize,
    /// The number of batches before that, as a warm-up: Node compiles frequent code, up to the thousandth event.
    pub warm_up: usize,
}

/// Our own handler's name in tables.
pub const OURS: &str = "ours";
/// The name of the Python peer.
pub const PYTHON: &str = "Python";
/// The name of the Node peer.
pub const NODE: &str = "Node";
/// The name of the bundled Node peer, which differs only in its cold start.
pub const BUNDLED_NODE: &str = "Node, bundled";
/// The name of the bare loop.
pub const FLOOR: &str = "bare loop, one at a time";
/// The name of the bare loop with ten concurrent requests.
pub const FLOOR_OF_TEN: &str = "bare loop, ten at once";

impl Contender {
    /// All contenders that can run on this machine. A peer whose language is missing is skipped with a message.
    pub fn all(binaries: &Path) -> Result<Vec<Self>> {
        let ours = Self {
            name: OURS,
            made_of: format!("event-handler {}, release build", env!("CARGO_PKG_VERSION")),
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

/// Whether a function's response reports success: no failed message of a batch, and no failed request.
#[must_use]
pub fn succeeded(response: &Value) -> bool {
    let failed = response["batchItemFailures"].as_array().is_some_and(|failures| !failures.is_empty());
    !failed && response["statusCode"].as_u64().is_none_or(|status| (200..300).contains(&status))
}

/// The tables of Payments. Its idempotency records are in the same table as those of the events, so that the meter recognizes them.
#[must_use]
pub fn payment_tables() -> Tables {
    Tables { idempotency: IDEMPOTENCY_TABLE.to_owned(), ..Tables::with_prefix("ftgo-payments") }
}

/// How a function reaches DynamoDB.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Its location.
    pub endpoint: String,
    /// The root certificate to trust, if it is not a public one.
    pub root: Option<PathBuf>,
    /// Variables that only some functions need, such as the gateway's URL.
    pub more: Vec<(&'static str, String)>,
}

impl Connection {
    /// Without TLS.
    #[must_use]
    pub fn plain(endpoint: &str) -> Self {
        Self { endpoint: endpoint.to_owned(), root: None, more: Vec::new() }
    }

    /// The variables that Lambda and the deployment would set.
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
        let Tables { payments, outbox, locks, .. } = payment_tables();
        variables.extend([("PAYMENTS_TABLE", payments), ("OUTBOX_TABLE", outbox), ("LOCKS_TABLE", locks)]);
        variables.extend(self.more.iter().cloned());
        if let Some(root) = &self.root {
            // The SDKs for Python and Rust read the first, Node the second.
            variables.push(("AWS_CA_BUNDLE", root.display().to_string()));
            variables.push(("NODE_EXTRA_CA_CERTS", root.display().to_string()));
        }
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failed_message_or_a_rejected_request_is_not_a_success() {
        for good in [json!({"batchItemFailures": []}), json!({"statusCode": 202}), json!({})] {
            assert!(succeeded(&good), "{good}");
        }
        for bad in [json!({"batchItemFailures": [{"itemIdentifier": "1"}]}), json!({"statusCode": 409})] {
            assert!(!succeeded(&bad), "{bad}");
        }
    }
}
