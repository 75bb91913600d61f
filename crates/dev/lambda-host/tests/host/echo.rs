//! The function behind every test of this crate: `examples/echo.rs`.

use std::env::consts::EXE_SUFFIX;
use std::time::Duration;

use lambda_host::lambda::Settings;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// A timeout that should not expire, even on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

/// Cargo builds the examples for `cargo test`, beside the tests.
pub(crate) fn settings() -> Settings {
    let test = std::env::current_exe().unwrap();
    let binary = test.ancestors().nth(2).unwrap().join("examples").join(format!("echo{EXE_SUFFIX}"));
    assert!(binary.exists(), "run `cargo build -p lambda-host --examples`: there is no {}", binary.display());
    Settings::new("echo", "bootstrap", binary)
}

/// Gives the function's responses to events that are not HTTP requests.
pub(crate) struct Handler(TcpListener);

impl Handler {
    /// Call before the function is started.
    pub(crate) async fn of(settings: &mut Settings) -> Self {
        let handler = TcpListener::bind("127.0.0.1:0").await.unwrap();
        settings.environment.push(("HANDLER".to_owned(), handler.local_addr().unwrap().to_string()));
        Self(handler)
    }

    /// The function's next invocation.
    pub(crate) async fn invocation(&self) -> Invocation {
        loop {
            let (mut stream, _) = timeout(TIMEOUT, self.0.accept()).await.expect("there was no invocation").unwrap();
            let mut received = Vec::new();
            // A process that is killed meanwhile sends only a part.
            if stream.read_to_end(&mut received).await.is_ok()
                && let Ok(received) = serde_json::from_slice(&received)
            {
                return Invocation { received, stream };
            }
        }
    }

    /// Asserts that there is no invocation within `time`.
    pub(crate) async fn assert_is_idle(&self, time: Duration) {
        assert!(timeout(time, self.0.accept()).await.is_err(), "there was an invocation");
    }
}

/// An invocation that waits for its response.
pub(crate) struct Invocation {
    received: Value,
    stream: TcpStream,
}

impl Invocation {
    pub(crate) fn event(&self) -> Value {
        self.received["event"].clone()
    }

    pub(crate) fn process(&self) -> u64 {
        self.received["process"].as_u64().unwrap()
    }

    pub(crate) fn records(&self) -> &[Value] {
        self.received["event"]["Records"].as_array().unwrap()
    }

    pub(crate) fn bodies(&self) -> Vec<String> {
        self.records().iter().map(|record| record["body"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn id_of(&self, body: &str) -> String {
        let record = self.records().iter().find(|record| record["body"] == body).expect("the key is not in this batch");
        record["messageId"].as_str().unwrap().to_owned()
    }

    /// How often the only message of this batch has been received.
    pub(crate) fn receives(&self) -> u32 {
        assert_eq!(self.records().len(), 1);
        self.records()[0]["attributes"]["ApproximateReceiveCount"].as_str().unwrap().parse().unwrap()
    }

    pub(crate) async fn succeed(self) {
        self.respond(&json!({"batchItemFailures": []})).await;
    }

    pub(crate) async fn respond(self, response: &Value) {
        self.finish("response", &response.to_string()).await;
    }

    pub(crate) async fn fail(self) {
        self.finish("error", r#"{"errorType": "Refused", "errorMessage": "as asked"}"#).await;
    }

    pub(crate) async fn exit(self) {
        self.finish("exit", "").await;
    }

    pub(crate) async fn finish(mut self, outcome: &str, payload: &str) {
        self.stream.write_all(format!("{outcome} {payload}").as_bytes()).await.unwrap();
        self.stream.shutdown().await.unwrap();
    }
}
