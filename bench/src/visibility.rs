//! The time from sending a message until its order is visible over HTTP, on the local system.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Request, StatusCode};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use order_events::{ConsistencyToken, EventType, Message};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::messages::Messages;
use crate::statistics::Rounds;
use crate::{Result, peers, process};

/// Milliseconds from the send of an `OrderCreated` to the response that shows its order, order by order.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Visibility {
    /// For a client that polls, without a consistency token.
    pub polled: Rounds,
    /// For a client that sends one request with a consistency token and `Prefer: wait`.
    pub waited: Rounds,
}

/// The number of orders in a round, for each kind of client.
const ORDERS: usize = 60;
/// The number of orders before the measurement, so that the functions are warm.
const WARM_UP: usize = 10;
/// The pause of the polling client after each response.
const PAUSE: Duration = Duration::from_millis(1);
/// The longest wait for an order.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Starts the local system with these functions, and sends orders; the two kinds of clients take turns.
pub async fn measure(binaries: &Path, messages: &mut Messages, rounds: usize) -> Result<Visibility> {
    let system = System::start(binaries).await?;
    for order_id in messages.fresh_orders(WARM_UP) {
        system.poll(&order_id, &messages.message(EventType::OrderCreated, &order_id)?).await?;
    }
    let mut visibility = Visibility::default();
    for round in 1..=rounds {
        eprintln!("time until an order is visible, round {round} of {rounds}");
        for _ in 0..ORDERS {
            let orders = messages.fresh_orders(2);
            let message = messages.message(EventType::OrderCreated, &orders[0])?;
            visibility.polled.0.push(in_millis(system.poll(&orders[0], &message).await?));
            let message = messages.message(EventType::OrderCreated, &orders[1])?;
            visibility.waited.0.push(in_millis(system.wait(&orders[1], &message).await?));
        }
    }
    Ok(visibility)
}

fn in_millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The local system, in its own process. It ends when this value is dropped.
pub(crate) struct System {
    process: Child,
    http: String,
    queue: Queue,
    client: Client<HttpConnector, Full<Bytes>>,
}

struct Queue {
    endpoint: String,
    url: String,
}

impl System {
    /// Starts it with these functions.
    pub(crate) async fn start(binaries: &Path) -> Result<Self> {
        let home = install(binaries)?;
        let mut process = Command::new(home.join("local"))
            .envs(
                ["HTTP_PORT", "DYNAMODB_PORT", "SQS_PORT", "SNS_PORT", "S3_PORT", "GATEWAY_PORT", "DEMO"]
                    .map(|name| (name, "0")),
            )
            .env("DATA_DIR", home.join("data"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().ok_or("no standard output")?).lines();
        let (mut http, mut sqs) = (None, None);
        while http.is_none() || sqs.is_none() {
            let line = lines.next_line().await?.ok_or("the local system did not start")?;
            http = http.or_else(|| line.strip_prefix("ready ").map(str::to_owned));
            sqs = sqs.or_else(|| Some(line.split_once("SQS at ")?.1.split(',').next()?.to_owned()));
        }
        // The system continues to print; an unread pipe would block it.
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });

        let client = Client::builder(TokioExecutor::new()).build_http();
        let (http, endpoint) = (http.unwrap_or_default(), sqs.unwrap_or_default());
        let name = format!("ftgo-order-history-{}", EventType::OrderCreated);
        let found = sqs_request(&client, &endpoint, "GetQueueUrl", &json!({ "QueueName": name })).await?;
        let url = found["QueueUrl"].as_str().ok_or("the response of SQS has no queue URL")?.to_owned();
        Ok(Self { process, http, queue: Queue { endpoint, url }, client })
    }

    /// The CPU time of the system and its functions.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        let family = process::process_tree(self.process.id().ok_or("the local system has ended")?)?;
        // A function may end after it was listed.
        Ok(family.into_iter().filter_map(|process_id| process::cpu(process_id).ok()).sum())
    }

    /// Sends each message to its queue, and waits until all of them are processed.
    pub(crate) async fn project(&self, queues: &[(String, Vec<&str>)]) -> Result<()> {
        let endpoint = &self.queue.endpoint;
        let mut urls = Vec::new();
        for (queue, messages) in queues {
            let found = sqs_request(&self.client, endpoint, "GetQueueUrl", &json!({ "QueueName": queue })).await?;
            for ten in messages.chunks(10) {
                let entries: Vec<_> = ten
                    .iter()
                    .enumerate()
                    .map(|(id, body)| json!({"Id": id.to_string(), "MessageBody": body}))
                    .collect();
                let batch = json!({"QueueUrl": found["QueueUrl"], "Entries": entries});
                sqs_request(&self.client, endpoint, "SendMessageBatch", &batch).await?;
            }
            urls.push(found["QueueUrl"].clone());
        }
        let began = Instant::now();
        for url in urls {
            while !self.is_empty(&url).await? {
                if began.elapsed() > 60 * TIMEOUT {
                    return Err(format!("{url} is not empty").into());
                }
                tokio::time::sleep(10 * PAUSE).await;
            }
        }
        Ok(())
    }

    async fn is_empty(&self, queue_url: &Value) -> Result<bool> {
        let names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
        let asked = json!({"QueueUrl": queue_url, "AttributeNames": names});
        let found = sqs_request(&self.client, &self.queue.endpoint, "GetQueueAttributes", &asked).await?;
        Ok(names.iter().all(|name| found["Attributes"][name] == "0"))
    }

    /// Sends a message, and polls for its order.
    async fn poll(&self, order_id: &str, message: &str) -> Result<Duration> {
        let began = Instant::now();
        self.send(message).await?;
        while self.send_request(self.request(order_id)).await? != StatusCode::OK {
            if began.elapsed() > TIMEOUT {
                return Err(format!("order {order_id} is not visible after {TIMEOUT:?}").into());
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(began.elapsed())
    }

    /// Sends a message, and sends one request that waits for it.
    async fn wait(&self, order_id: &str, message: &str) -> Result<Duration> {
        let event = Message::parse(message)?.event;
        let token =
            ConsistencyToken { event_type: event.event_type(), event_id: event.id, order_id: order_id.parse()? };
        let began = Instant::now();
        self.send(message).await?;
        let wait = format!("wait={}", TIMEOUT.as_secs());
        let request = self.request(order_id).header("Consistency-Token", token.to_string()).header("Prefer", wait);
        match self.send_request(request).await? {
            StatusCode::OK => Ok(began.elapsed()),
            status => Err(format!("order {order_id}, requested with a token, is answered with {status}").into()),
        }
    }

    fn request(&self, order_id: &str) -> hyper::http::request::Builder {
        Request::get(format!("{}/orders/{order_id}", self.http))
    }

    async fn send_request(&self, request: hyper::http::request::Builder) -> Result<StatusCode> {
        let response = self.client.request(request.body(Full::default())?).await?;
        let status = response.status();
        response.into_body().collect().await?;
        Ok(status)
    }

    async fn send(&self, message: &str) -> Result<()> {
        let Queue { endpoint, url } = &self.queue;
        let message = json!({"QueueUrl": url, "MessageBody": message});
        sqs_request(&self.client, endpoint, "SendMessage", &message).await?;
        Ok(())
    }
}

async fn sqs_request(
    client: &Client<HttpConnector, Full<Bytes>>,
    endpoint: &str,
    action: &str,
    body: &Value,
) -> Result<Value> {
    let request = Request::post(format!("{endpoint}/"))
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-target", format!("AmazonSQS.{action}"))
        .body(Full::new(Bytes::from(body.to_string())))?;
    let response = client.request(request).await?;
    let status = response.status();
    let body = response.into_body().collect().await?.to_bytes();
    if !status.is_success() {
        return Err(format!("SQS answers {action} with {status}: {}", String::from_utf8_lossy(&body)).into());
    }
    Ok(serde_json::from_slice(&body)?)
}

/// A folder with links to these functions: the local system expects them next to its own binary, and starts without data.
fn install(binaries: &Path) -> Result<PathBuf> {
    let home = peers::home("local");
    if home.exists() {
        std::fs::remove_dir_all(&home)?;
    }
    std::fs::create_dir_all(&home)?;
    let here = std::env::current_exe()?;
    let local = here.parent().ok_or("this program has no folder")?.join("local");
    std::fs::copy(&local, home.join("local")).map_err(|error| format!("{}: {error}", local.display()))?;
    for function in ["event-handler", "archiver", "query-api", "payment-api", "charge-handler", "outbox-relay"] {
        std::fs::copy(binaries.join(function), home.join(function))?;
    }
    Ok(home)
}
