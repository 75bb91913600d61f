//! The meter in front of the engine counts requests and their consumed capacity.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::{BodyExt, Full};
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{CONTENT_LENGTH, HOST};
use hyper::http::request::{Parts, Request};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use sample_events::IDEMPOTENCY_TABLE;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::server::{RequestHandler, operation};
use crate::Result;

/// The requests and units that the meter has counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MeterCounts {
    /// The number of requests for each operation.
    pub requests: BTreeMap<String, u32>,
    /// The number of rejected requests, for example because of a condition.
    pub refused: u32,
    /// Write units.
    pub written: Units,
    /// Read units.
    pub read: Units,
}

/// Capacity units, by what they were used for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Units {
    /// Items of all tables except the idempotency records; for the projection, the orders.
    pub orders: f64,
    /// The indexes on them.
    pub index: f64,
    /// The idempotency records.
    pub records: f64,
}

impl Units {
    /// The sum of all units.
    #[must_use]
    pub fn sum(&self) -> f64 {
        self.orders + self.index + self.records
    }
}

impl MeterCounts {
    /// All requests.
    #[must_use]
    pub fn all_requests(&self) -> u32 {
        self.requests.values().sum()
    }

    /// Adds a response. `ConsumedCapacity` is an object, or for a batch a list of them.
    fn add(&mut self, operation: &str, consumed: Option<&Value>) {
        *self.requests.entry(operation.to_owned()).or_default() += 1;
        let Some(consumed) = consumed else {
            self.refused += 1;
            return;
        };
        let units = if is_read(operation) { &mut self.read } else { &mut self.written };
        let tables = consumed.as_array().map_or_else(|| std::slice::from_ref(consumed), Vec::as_slice);
        for table in tables {
            let of_table = table["Table"]["CapacityUnits"].as_f64().unwrap_or_default();
            let indexes = table["GlobalSecondaryIndexes"].as_object().into_iter().flat_map(|indexes| indexes.values());
            units.index += indexes.filter_map(|index| index["CapacityUnits"].as_f64()).sum::<f64>();
            if table["TableName"] == IDEMPOTENCY_TABLE {
                units.records += of_table;
            } else {
                units.orders += of_table;
            }
        }
    }
}

/// Whether an operation only reads.
pub(super) fn is_read(operation: &str) -> bool {
    matches!(operation, "BatchGetItem" | "GetItem" | "Query")
}

/// The last response to each kind of read.
#[derive(Debug, Default)]
pub(super) struct LastReads(Mutex<HashMap<String, Bytes>>);

impl LastReads {
    /// The last response, or an empty one.
    pub(super) fn get(&self, operation: &str) -> Bytes {
        let reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reads.get(operation).cloned().unwrap_or_else(|| Bytes::from_static(b"{}"))
    }

    fn keep(&self, operation: &str, response: &Bytes) {
        let mut reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reads.insert(operation.to_owned(), response.clone());
    }
}

pub(super) struct Meter {
    engine: String,
    client: Client<HttpConnector, Full<Bytes>>,
    tally: Mutex<MeterCounts>,
    reads: Arc<LastReads>,
}

impl Meter {
    pub(super) fn new(engine: &str) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            engine: engine.to_owned(),
            client: Client::builder(TokioExecutor::new()).build(connector),
            tally: Mutex::default(),
            reads: Arc::default(),
        }
    }

    /// Counts a request to another service, which uses no units.
    pub(super) fn count(&self, operation: &str) {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).add(operation, Some(&Value::Null));
    }

    /// Returns the tally and resets it.
    pub(super) fn take(&self) -> MeterCounts {
        std::mem::take(&mut *self.tally.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn last_reads(&self) -> Arc<LastReads> {
        Arc::clone(&self.reads)
    }
}

impl RequestHandler for Meter {
    /// Forwards a request. The meter adds `ReturnConsumedCapacity`, and removes the capacity from the client's response.
    async fn answer(&self, mut request: Parts, body: Bytes) -> Result<Response<Full<Bytes>>> {
        let operation = operation(&request).to_owned();
        let mut asked: Value = serde_json::from_slice(&body)?;
        asked["ReturnConsumedCapacity"] = "INDEXES".into();
        request.uri = format!("{}/", self.engine).parse()?;
        request.headers.remove(CONTENT_LENGTH);
        request.headers.remove(HOST);
        let body = Full::new(Bytes::from(asked.to_string()));

        let response = self.client.request(Request::from_parts(request, body)).await?;
        let (mut response, body) = response.into_parts();
        let mut content: Value = serde_json::from_slice(&body.collect().await?.to_bytes())?;
        let consumed = content.as_object_mut().and_then(|content| content.remove("ConsumedCapacity"));
        let body = Bytes::from(content.to_string());
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).add(&operation, consumed.as_ref());
        if is_read(&operation) {
            self.reads.keep(&operation, &body);
        }
        response.headers.remove(CONTENT_LENGTH);
        response.headers.remove("x-amz-crc32");
        Ok(Response::from_parts(response, Full::new(body)))
    }
}

#[cfg(test)]
mod tests {
    use sample_events::ORDER_HISTORY_TABLE;
    use serde_json::json;

    use super::*;

    #[test]
    fn units_are_counted_by_what_they_were_used_for() {
        let mut tally = MeterCounts::default();
        let order = json!({
            "TableName": ORDER_HISTORY_TABLE, "CapacityUnits": 3.0,
            "Table": {"CapacityUnits": 2.0}, "GlobalSecondaryIndexes": {"by-consumer": {"CapacityUnits": 1.0}},
        });
        let records =
            json!([{"TableName": IDEMPOTENCY_TABLE, "CapacityUnits": 10.0, "Table": {"CapacityUnits": 10.0}}]);
        tally.add("UpdateItem", Some(&order));
        tally.add("BatchWriteItem", Some(&records));
        tally.add("PutItem", None);
        let two = json!([{"TableName": IDEMPOTENCY_TABLE, "Table": {"CapacityUnits": 1.0}},
                         {"TableName": "payments", "Table": {"CapacityUnits": 1.0}}]);
        tally.add("BatchGetItem", Some(&two));
        tally.add("PublishBatch", Some(&Value::Null));
        assert_eq!(tally.written, Units { orders: 2.0, index: 1.0, records: 10.0 });
        assert_eq!(tally.read, Units { orders: 1.0, index: 0.0, records: 1.0 });
        assert_eq!((tally.all_requests(), tally.refused), (5, 1));
    }
}
