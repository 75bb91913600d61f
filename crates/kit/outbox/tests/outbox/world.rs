//! What every test starts from: an engine with an empty table, its stream, a clock, and a publisher that remembers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use embedded_dynamodb::{Engine, Wire};
use outbox::{Error, EventRow, Metric, Outbox, Publisher, Relay, StreamBatch, Sweeper, create_table};
use tokio::sync::Notify;
use tracing_subscriber::fmt::MakeWriter;

pub(crate) const TABLE: &str = "outbox";
pub(crate) const START: Duration = Duration::from_millis(1_700_000_000_500);
pub(crate) const OLDER_THAN: Duration = Duration::from_mins(5);

pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) clock: Clock,
    pub(crate) recorder: Arc<Recorder>,
}

impl World {
    pub(crate) async fn start() -> Self {
        let engine = Engine::start();
        create_table(&engine.client(), TABLE).await.expect("the table is created");
        Self { engine, clock: Clock::default(), recorder: Arc::default() }
    }

    pub(crate) fn relay(&self) -> Relay<Arc<Recorder>> {
        self.relay_with(self.engine.client(), &self.recorder)
    }

    pub(crate) fn relay_over(&self, wire: &Wire) -> Relay<Arc<Recorder>> {
        self.relay_with(self.engine.client_over(wire), &self.recorder)
    }

    pub(crate) fn relay_with<P: Publisher>(&self, client: Client, publisher: &Arc<P>) -> Relay<Arc<P>> {
        let clock = self.clock.clone();
        Relay::new(client, TABLE, Arc::clone(publisher)).clock(move || clock.now())
    }

    pub(crate) fn sweeper(&self) -> Sweeper<Arc<Recorder>> {
        self.sweeper_with(self.engine.client(), &self.recorder)
    }

    pub(crate) fn sweeper_over(&self, wire: &Wire) -> Sweeper<Arc<Recorder>> {
        self.sweeper_with(self.engine.client_over(wire), &self.recorder)
    }

    pub(crate) fn sweeper_with<P: Publisher>(&self, client: Client, publisher: &Arc<P>) -> Sweeper<Arc<P>> {
        let clock = self.clock.clone();
        Sweeper::new(client, TABLE, Arc::clone(publisher)).older_than(OLDER_THAN).clock(move || clock.now())
    }

    /// A deadline that is far away.
    pub(crate) fn later(&self) -> SystemTime {
        self.clock.now() + Duration::from_hours(1)
    }

    /// Commits rows, each as a transaction of its own.
    pub(crate) async fn commit(&self, rows: &[EventRow]) {
        let client = self.engine.client();
        for row in rows {
            let put = Outbox::new(TABLE).put(row).expect("a row that can be published");
            client.transact_write_items().transact_items(put).send().await.expect("the row is committed");
        }
    }

    /// Commits this many rows, of an aggregate each, and returns their event ids.
    pub(crate) async fn commit_some(&self, count: usize) -> Vec<String> {
        let rows: Vec<_> = (0..count).map(|number| self.row(&format!("{number:04}"), 1)).collect();
        self.commit(&rows).await;
        rows.into_iter().map(|row| row.event_id).collect()
    }

    /// A row of now. Its event id names its aggregate and version.
    pub(crate) fn row(&self, aggregate_id: &str, version: u64) -> EventRow {
        EventRow {
            aggregate_type: "Payment".to_owned(),
            aggregate_id: aggregate_id.to_owned(),
            version,
            event_id: format!("{aggregate_id}-{version}"),
            event_type: "Charged".to_owned(),
            message: format!(r#"{{"payload":"secret of {aggregate_id}"}}"#),
            at: self.clock.now(),
        }
    }

    /// Writes an item as some other program would.
    pub(crate) async fn put<const N: usize>(&self, attributes: [(&str, AttributeValue); N]) {
        let item = attributes.map(|(name, value)| (name.to_owned(), value));
        let put = self.engine.client().put_item().table_name(TABLE).set_item(Some(item.into())).send().await;
        put.expect("the item is written");
    }

    /// The partition keys of all rows that are left.
    pub(crate) async fn left(&self) -> BTreeSet<String> {
        let client = self.engine.client();
        let mut pages = client.scan().table_name(TABLE).consistent_read(true).into_paginator().items().send();
        let mut left = BTreeSet::new();
        while let Some(item) = pages.next().await {
            left.insert(item.expect("the table is read")["pk"].as_s().expect("a text").clone());
        }
        left
    }

    /// All records of the table's stream so far, as Lambda hands them on.
    pub(crate) async fn stream(&self) -> StreamBatch {
        batch(&self.records().await)
    }

    /// The same as texts of JSON.
    pub(crate) async fn records(&self) -> Vec<serde_json::Value> {
        let description = self.streams("ListStreams", serde_json::json!({"TableName": TABLE})).await;
        let arn = &description["Streams"][0]["StreamArn"];
        let description = self.streams("DescribeStream", serde_json::json!({"StreamArn": arn})).await;
        let mut records = Vec::new();
        for shard in description["StreamDescription"]["Shards"].as_array().expect("shards") {
            let start = serde_json::json!({
                "StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"
            });
            let mut iterator = self.streams("GetShardIterator", start).await["ShardIterator"].clone();
            loop {
                let response = self.streams("GetRecords", serde_json::json!({"ShardIterator": iterator})).await;
                let page = response["Records"].as_array().expect("records").clone();
                iterator = response["NextShardIterator"].clone();
                if page.is_empty() {
                    break;
                }
                records.extend(page);
            }
        }
        records
    }

    async fn streams(&self, operation: &str, body: serde_json::Value) -> serde_json::Value {
        const SIGNATURE: &str = "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, \
                                 SignedHeaders=host, Signature=0";
        let request = reqwest::Client::new()
            .post(self.engine.endpoint())
            .header("x-amz-target", format!("DynamoDBStreams_20120810.{operation}"))
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-date", "20260101T000000Z")
            .header("authorization", SIGNATURE)
            .body(body.to_string());
        let response = request.send().await.expect("a response");
        let status = response.status();
        let text = response.text().await.expect("a text");
        assert!(status.is_success(), "{operation}: {text}");
        serde_json::from_str(&text).expect("JSON")
    }
}

pub(crate) fn batch(records: &[serde_json::Value]) -> StreamBatch {
    serde_json::from_value(serde_json::json!({"Records": records})).expect("a batch")
}

/// Milliseconds since the epoch.
#[derive(Clone)]
pub(crate) struct Clock(Arc<AtomicU64>);

impl Default for Clock {
    fn default() -> Self {
        Self(Arc::new(AtomicU64::new(START.as_millis().try_into().expect("a near time"))))
    }
}

impl Clock {
    pub(crate) fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0.load(Ordering::SeqCst))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_millis().try_into().expect("a short time"), Ordering::SeqCst);
    }
}

/// What happens to a call of the publisher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Nothing is published.
    FailBefore,
    /// All is published, and the response is lost.
    LoseResponse,
    /// The process dies before anything is published: the call does not return.
    Die,
}

/// A publisher that remembers the rows in the order they were published.
#[derive(Default)]
pub(crate) struct Recorder {
    published: Mutex<Vec<EventRow>>,
    calls: AtomicU64,
    /// Event ids of rows that the topic refuses for good.
    poison: Mutex<BTreeSet<String>>,
    /// Event ids of rows that the topic does not take, for reasons that are not theirs.
    failing: Mutex<BTreeSet<String>>,
    script: Mutex<Option<Box<dyn Fn() -> Fault + Send>>>,
    pub(crate) died: Notify,
}

impl Recorder {
    pub(crate) fn poison(&self, event_id: &str) {
        self.poison.lock().expect("no panic").insert(event_id.to_owned());
    }

    pub(crate) fn fail(&self, event_id: &str) {
        self.failing.lock().expect("no panic").insert(event_id.to_owned());
    }

    /// Does to each call what `script` says, until [`recover`](Self::recover).
    pub(crate) fn disturb(&self, script: impl Fn() -> Fault + Send + 'static) {
        *self.script.lock().expect("no panic") = Some(Box::new(script));
    }

    /// Takes everything from now on.
    pub(crate) fn recover(&self) {
        self.poison.lock().expect("no panic").clear();
        self.failing.lock().expect("no panic").clear();
        *self.script.lock().expect("no panic") = None;
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    /// The event ids so far, in order.
    pub(crate) fn event_ids(&self) -> Vec<String> {
        self.published.lock().expect("no panic").iter().map(|row| row.event_id.clone()).collect()
    }

    pub(crate) fn rows(&self) -> Vec<EventRow> {
        self.published.lock().expect("no panic").clone()
    }

    /// How often each event was published.
    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        self.event_ids().into_iter().fold(BTreeMap::new(), |mut counts, id| {
            *counts.entry(id).or_default() += 1;
            counts
        })
    }

    fn take(&self, row: &EventRow) -> Result<(), Error> {
        if self.poison.lock().expect("no panic").contains(&row.event_id) {
            return Err(Error::MessageRefused("InvalidParameter: not this one".into()));
        }
        if self.failing.lock().expect("no panic").contains(&row.event_id) {
            return Err(Error::TopicUnavailable("InternalError: not now".into()));
        }
        self.published.lock().expect("no panic").push(row.clone());
        Ok(())
    }
}

impl Publisher for Recorder {
    async fn publish(&self, rows: &[EventRow]) -> Vec<Result<(), Error>> {
        assert!((1..=outbox::BATCH_SIZE).contains(&rows.len()), "{} rows at once", rows.len());
        self.calls.fetch_add(1, Ordering::SeqCst);
        let fault = self.script.lock().expect("no panic").as_ref().map_or(Fault::None, |script| script());
        let unavailable = || rows.iter().map(|_| Err(Error::TopicUnavailable("InternalError".into()))).collect();
        match fault {
            Fault::None => rows.iter().map(|row| self.take(row)).collect(),
            Fault::FailBefore => unavailable(),
            Fault::LoseResponse => {
                let _taken: Vec<_> = rows.iter().map(|row| self.take(row)).collect();
                unavailable()
            }
            Fault::Die => {
                self.died.notify_one();
                std::future::pending().await
            }
        }
    }
}

#[track_caller]
pub(crate) fn metric(metrics: &[Metric], name: &str) -> u64 {
    metrics.iter().find(|metric| metric.name == name).expect("a metric of this name").value
}

/// The sequence number of a record.
pub(crate) fn sequence_number(record: &serde_json::Value) -> String {
    record["dynamodb"]["SequenceNumber"].as_str().expect("a sequence number").to_owned()
}

pub(crate) fn s(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(crate) fn n(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// What is logged while it lives, one line of JSON each. For tests on one thread.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn start() -> (Self, tracing::subscriber::DefaultGuard) {
        // While there is only one subscriber, `tracing` asks the thread that comes to a log line first whether anybody wants it, and keeps the
        // answer for all threads. The thread of another test has no subscriber, so the line would be lost here. A second one prevents that.
        static SECOND: Once = Once::new();
        SECOND.call_once(|| {
            let discard = tracing_subscriber::fmt().with_writer(std::io::sink).finish();
            tracing::subscriber::set_global_default(discard).expect("the only one of the process");
        });
        let log = Self::default();
        let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_writer(log.clone()).finish();
        (log, tracing::subscriber::set_default(subscriber))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("no panic").clone()).expect("UTF-8")
    }

    /// The lines of this level.
    pub(crate) fn lines(&self, level: &str) -> Vec<HashMap<String, serde_json::Value>> {
        let lines = self.text();
        let lines = lines.lines().map(|line| serde_json::from_str::<HashMap<_, _>>(line).expect("JSON"));
        lines.filter(|line| line["level"] == level).collect()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}
