//! The event and the response of a Lambda function behind a DynamoDB stream.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::row::{Item, PK, SK};
use crate::{Error, EventRow};

/// A batch of stream records: the event of the Lambda function. Records are parsed one by one, so a malformed record does not affect the
/// others.
/// <https://docs.aws.amazon.com/lambda/latest/dg/with-ddb.html>
#[derive(Debug, Clone, Default, Deserialize)]
pub struct StreamBatch {
    #[serde(rename = "Records")]
    pub(crate) records: Vec<Value>,
}

/// The response of the Lambda function: the record from which Lambda retries. It needs `ReportBatchItemFailures` in the event source
/// mapping. An empty response means that all records are processed.
/// <https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html>
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BatchResponse {
    /// At most one: Lambda retries all records from the lowest sequence number on.
    #[serde(rename = "batchItemFailures")]
    pub failures: Vec<BatchItemFailure>,
}

/// A record that Lambda retries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BatchItemFailure {
    /// The record's sequence number. An empty one means the whole batch.
    #[serde(rename = "itemIdentifier")]
    pub sequence_number: String,
}

/// The row that a record tells of, if it tells of a new one.
pub(crate) fn new_row(record: &Value) -> Result<Option<EventRow>, Error> {
    match record["eventName"].as_str() {
        Some("INSERT") => {}
        // Rows are never changed, and are removed when they are published.
        Some("MODIFY" | "REMOVE") => return Ok(None),
        Some(_) | None => return Err(Error::MalformedRecord),
    }
    match &record["dynamodb"]["NewImage"] {
        Value::Object(image) if !image.is_empty() => EventRow::from_item(&item(image)).map(Some),
        _ => Err(Error::ImageMissing),
    }
}

/// A record's sequence number, or nothing where it has none.
pub(crate) fn sequence_number(record: &Value) -> &str {
    record["dynamodb"]["SequenceNumber"].as_str().unwrap_or_default()
}

/// Which row a record is about, for a log line: the attributes of its key, as far as they can be read.
pub(crate) fn row_name(record: &Value) -> String {
    let keys = &record["dynamodb"]["Keys"];
    let part = |name: &str, kind: &str| keys[name][kind].as_str().unwrap_or("?").to_owned();
    format!("{} {}", part(PK, "S"), part(SK, "N"))
}

/// The texts and numbers of an image. A row has nothing else, and what is left out is found missing when the row is read.
fn item(image: &Map<String, Value>) -> Item {
    let value = |value: &Value| match value.as_object()?.iter().next()? {
        (kind, Value::String(text)) if kind == "S" => Some(AttributeValue::S(text.clone())),
        (kind, Value::String(digits)) if kind == "N" => Some(AttributeValue::N(digits.clone())),
        _ => None,
    };
    image.iter().filter_map(|(name, typed)| Some((name.clone(), value(typed)?))).collect::<HashMap<_, _>>()
}
