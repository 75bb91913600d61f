//! The query Lambda, invoked with API Gateway's events.

use std::path::Path;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use futures_util::{StreamExt, TryStreamExt, stream};
use lambda_host::lambda::Function;
use order_events::EventType;
use order_view::VIEW;
use order_view::facet::{CONSUMER_ID, KEYWORDS, ORDER_CREATION_TIME};
use sample_events::ORDER_HISTORY_TABLE;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::contender::{Connection, Contender, succeeded};
use crate::dynamodb::DynamoDb;
use crate::fleet::{ContenderFunctions, Effort, Stopwatch};
use crate::logs::Logged;
use crate::messages::{FIRST_FIVE, Messages};
use crate::projection::{Pace, PerEvent};
use crate::units::Item;
use crate::{Result, process};

/// The cost of answering a query or executing a command.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RequestCost {
    /// The question.
    pub question: String,
    /// Against the stub.
    pub stub: Pace,
    /// Against the engine.
    pub engine: Pace,
    /// What went to DynamoDB for each request.
    pub per_request: PerEvent,
    /// The log output for each request.
    pub logged: Logged,
    /// In bytes.
    pub peak_memory: u64,
}

/// The number of requests in a round.
const REQUESTS: u32 = 200;
/// The number of requests through the meter.
const METERED: u32 = 10;

/// The name of the query Lambda.
pub const QUERY_API: &str = "query-api";

/// The query Lambda as a contender without peers.
#[must_use]
pub fn query_api(binaries: &Path) -> Contender {
    without_peers(QUERY_API, binaries)
}

/// A binary of ours as a contender without peers.
#[must_use]
pub fn without_peers(name: &'static str, binaries: &Path) -> Contender {
    Contender { name, made_of: String::new(), bootstrap: binaries.join(name), batches: 0, warm_up: 0 }
}

/// Sends each query in rounds; `consumer` has many orders, and `order_id` is one of them.
pub async fn measure_queries(
    binaries: &Path,
    dynamodb: &mut DynamoDb,
    (consumer, order_id): (&str, &str),
    rounds: usize,
) -> Result<Vec<RequestCost>> {
    let questions = [
        ("one order", one_order(consumer, order_id)),
        ("a page of 20", page(consumer, "")),
        ("a page of 20, filtered by a word that half of the orders have", page(consumer, "&keywords=vindaloo")),
    ];
    let endpoints = dynamodb.endpoints.clone();
    let lambda = query_api(binaries);
    let stub = RunningFunction::start(&lambda, &endpoints.stub).await?;
    let engine = RunningFunction::start(&lambda, &endpoints.engine).await?;
    let mut answered = Vec::new();
    for (question, request) in questions {
        eprintln!("query: {question}");
        dynamodb.metered().await?;
        // From here on the stub repeats the engine's last responses.
        let metered = RunningFunction::start(&lambda, &endpoints.meter).await?;
        let effort = metered.send_repeatedly(&request, METERED).await?;
        let per_request = PerEvent::of(&dynamodb.metered().await?, effort.count);
        // A start prints nothing.
        let logged = Logged::between(&[], &metered.stop().await?, effort.count);
        let (mut on_stub, mut on_engine) = (Pace::default(), Pace::default());
        stub.send_repeatedly(&request, REQUESTS).await?;
        engine.send_repeatedly(&request, REQUESTS).await?;
        for _ in 0..rounds {
            on_stub.add(&stub.send_repeatedly(&request, REQUESTS).await?);
            on_engine.add(&engine.send_repeatedly(&request, REQUESTS).await?);
        }
        let peak_memory = engine.peak_memory()?;
        answered.push(RequestCost {
            question: question.to_owned(),
            stub: on_stub,
            engine: on_engine,
            per_request,
            logged,
            peak_memory,
        });
    }
    Ok(answered)
}

/// A running function.
#[derive(Debug)]
pub struct RunningFunction {
    function: Function,
    process_id: u32,
}

impl RunningFunction {
    /// Starts the function.
    pub async fn start(lambda: &Contender, endpoint: &str) -> Result<Self> {
        Self::start_as(lambda, lambda.name, &Connection::plain(endpoint)).await
    }

    /// Starts it with a `Handler` that differs from its name.
    pub async fn start_as(lambda: &Contender, handler: &str, connection: &Connection) -> Result<Self> {
        let function = lambda.start(handler, connection).await?;
        function.wait_until_initialized().await;
        let process_id = function.process_id().ok_or("the function has ended")?;
        Ok(Self { function, process_id })
    }

    /// Sends the same request repeatedly.
    pub async fn send_repeatedly(&self, request: &Value, times: u32) -> Result<Effort> {
        Ok(self.send_each(vec![request.clone(); usize::try_from(times)?]).await?.0)
    }

    /// Sends the requests one after the other, and also returns the responses. For a batch, each message is counted.
    pub async fn send_each(&self, requests: Vec<Value>) -> Result<(Effort, Vec<Value>)> {
        let mut count = 0;
        let mut responses = Vec::with_capacity(requests.len());
        let watch = Stopwatch::start(vec![self.process_id])?;
        for request in requests {
            count += request["Records"].as_array().map_or(1, Vec::len);
            let response = self.function.invoke(request).await?;
            if !succeeded(&response) {
                return Err(format!("the function answered {response}").into());
            }
            responses.push(response);
        }
        Ok((watch.stop(count)?, responses))
    }

    /// Ends it, and returns its output.
    pub async fn stop(self) -> Result<Vec<String>> {
        Ok(self.function.stop().await?)
    }

    /// Its peak memory, in bytes.
    pub fn peak_memory(&self) -> Result<u64> {
        process::peak_memory(self.process_id)
    }
}

fn one_order(consumer: &str, order_id: &str) -> Value {
    let mut request = sample_events::sample("query-order");
    let path = format!("/orders/{order_id}");
    request["requestContext"]["http"]["path"] = path.as_str().into();
    request["rawPath"] = path.into();
    request["pathParameters"]["orderId"] = order_id.into();
    sent_by(consumer, request)
}

/// A page of this consumer's orders of any age.
#[must_use]
pub fn page(consumer: &str, filter: &str) -> Value {
    let mut request = sample_events::sample("query-history");
    request["rawQueryString"] = format!("since=2020-01-01T00%3A00%3A00Z{filter}").into();
    sent_by(consumer, request)
}

fn sent_by(consumer: &str, mut request: Value) -> Value {
    request["requestContext"]["authorizer"]["jwt"]["claims"]["sub"] = consumer.into();
    request
}

/// An order's item after its first five events, written by our handler.
pub async fn typical_order(contender: &Contender, dynamodb: &DynamoDb, messages: &mut Messages) -> Result<Item> {
    let fleet =
        ContenderFunctions::start(contender, &FIRST_FIVE, &Connection::plain(&dynamodb.endpoints.engine)).await?;
    let orders = messages.fresh_orders(1);
    for event_type in FIRST_FIVE {
        let batch: (EventType, Value) = (event_type, messages.batch(event_type, &orders)?);
        fleet.handle(vec![batch]).await?;
    }
    item_of(&dynamodb.client(), &orders[0]).await
}

/// An order's item.
pub async fn item_of(client: &Client, order_id: &str) -> Result<Item> {
    let key = AttributeValue::S(order_id.to_owned());
    let found =
        client.get_item().table_name(ORDER_HISTORY_TABLE).key(VIEW.key, key).consistent_read(true).send().await?;
    Ok(found.item.ok_or_else(|| format!("no order {order_id}"))?)
}

/// The largest number of items in one request.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html>
const MAX_WRITE_ITEMS: usize = 25;

/// Creates this many orders of a consumer, a minute apart, as copies of this one; every second one has no vindaloo.
pub async fn fill(client: &Client, like: &Item, consumer: &str, orders: usize) -> Result<()> {
    let began = Instant::now();
    let numbers: Vec<usize> = (0..orders).collect();
    stream::iter(numbers.chunks(MAX_WRITE_ITEMS).map(<[usize]>::to_vec))
        .map(|numbers| async move {
            let writes = numbers.into_iter().map(|number| write(like, consumer, number)).collect::<Result<Vec<_>>>()?;
            client.batch_write_item().request_items(ORDER_HISTORY_TABLE, writes).send().await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        })
        .buffer_unordered(4)
        .try_collect::<()>()
        .await?;
    if began.elapsed() > Duration::from_secs(1) {
        eprintln!("  {orders} orders written in {:.0?}", began.elapsed());
    }
    Ok(())
}

fn write(like: &Item, consumer: &str, number: usize) -> Result<WriteRequest> {
    const FIRST_CREATION_TIME: usize = 1_600_000_000_000;
    let mut item = like.clone();
    item.insert(VIEW.key.to_owned(), AttributeValue::S(order_of(consumer, number)));
    item.insert(CONSUMER_ID.to_owned(), AttributeValue::S(consumer.to_owned()));
    let made = FIRST_CREATION_TIME + number * 60_000;
    item.insert(ORDER_CREATION_TIME.to_owned(), AttributeValue::N(made.to_string()));
    if let (1, Some(AttributeValue::Ss(words))) = (number % 2, item.get_mut(KEYWORDS)) {
        words.retain(|word| word != "vindaloo");
    }
    let put = PutRequest::builder().set_item(Some(item)).build()?;
    Ok(WriteRequest::builder().put_request(put).build())
}

/// The id of one of the orders that [`fill`] writes.
#[must_use]
pub fn order_of(consumer: &str, number: usize) -> String {
    format!("{consumer}{number:07}")
}
