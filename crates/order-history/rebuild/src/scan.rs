//! Reads a whole table in parallel segments, or some of its orders by their ids.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, KeysAndAttributes};
use order_view::VIEW;
use projection::Shape;
use projection::dynamodb::{Error as TableError, Item};
use tokio::time::{Instant, sleep};

use crate::error::Error;

/// A table to read.
#[derive(Debug, Clone)]
pub struct Source {
    /// The client of `DynamoDB`.
    pub client: Client,
    /// The table's name.
    pub name: String,
}

/// The size of a table. `DynamoDB` updates it every six hours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// The number of items.
    pub items: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A read that is throttled or not answered is retried for this long.
const RETRY_TIME: Duration = Duration::from_mins(5);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// The largest number of keys of one `BatchGetItem`
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html>).
const MAX_KEYS: usize = 100;

impl Source {
    /// The size of the table at `DynamoDB`'s last update.
    pub async fn size(&self) -> Result<Size, Error> {
        let described = self.client.describe_table().table_name(&self.name).send().await;
        let described = described.map_err(|error| TableError::from_sdk(error, &self.name)).map_err(Error::Read)?;
        let Some(table) = described.table else { return Ok(Size::default()) };
        let count = |number: Option<i64>| number.and_then(|number| number.try_into().ok()).unwrap_or_default();
        Ok(Size { items: count(table.item_count), bytes: count(table.table_size_bytes) })
    }

    /// Reads one of `segments` segments of the table. Calls `each` with each page, which has at most 1 MB.
    pub async fn scan(
        &self,
        segment: u32,
        segments: u32,
        consistent: bool,
        mut each: impl AsyncFnMut(Vec<Item>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let request = self.client.scan().table_name(&self.name).consistent_read(consistent);
        let request = request.segment(number(segment)).total_segments(number(segments));
        let mut start = None;
        loop {
            let send = || async {
                let sent = request.clone().set_exclusive_start_key(start.clone()).send().await;
                sent.map_err(|error| TableError::from_sdk(error, &self.name))
            };
            let page = with_retries(send).await?;
            each(page.items.unwrap_or_default()).await?;
            start = page.last_evaluated_key;
            if start.is_none() {
                return Ok(());
            }
        }
    }

    /// Reads these orders with consistent reads. Orders that the table does not contain are left out.
    pub async fn get(&self, order_ids: impl IntoIterator<Item = &String>) -> Result<BTreeMap<String, Item>, Error> {
        let mut found = BTreeMap::new();
        let mut keys: Vec<Item> = order_ids.into_iter().map(|order_id| key(order_id)).collect();
        while !keys.is_empty() {
            let batch = keys.split_off(keys.len().saturating_sub(MAX_KEYS));
            let requested = batch.len();
            let send = || async {
                let keys = KeysAndAttributes::builder().set_keys(Some(batch.clone())).consistent_read(true).build();
                let keys = keys.map_err(|error| TableError::Refused(error.into()))?;
                let sent = self.client.batch_get_item().request_items(&self.name, keys).send().await;
                sent.map_err(|error| TableError::from_sdk(error, &self.name))
            };
            let response = with_retries(send).await?;
            for item in response.responses.unwrap_or_default().remove(&self.name).unwrap_or_default() {
                if let Some(order_id) = order_id(&item) {
                    found.insert(order_id.to_owned(), item);
                }
            }
            // A response has at most 16 MB, and less if the table throttles. The missing keys are requested again.
            let unprocessed = response.unprocessed_keys.and_then(|mut tables| tables.remove(&self.name));
            let unprocessed = unprocessed.map(|table| table.keys).unwrap_or_default();
            if unprocessed.len() == requested {
                sleep(Duration::from_millis(200)).await;
            }
            keys.extend(unprocessed);
        }
        Ok(found)
    }
}

/// The order id of an item.
pub fn order_id(item: &Item) -> Option<&str> {
    item.get(VIEW.key)?.as_s().ok().map(String::as_str)
}

/// Whether the view has an attribute of this name.
#[must_use]
pub fn is_known(name: &str) -> bool {
    let of_facet = |shape: &Shape| shape.watermark == name || shape.attributes.contains(&name);
    name == VIEW.key
        || VIEW.facets.iter().any(of_facet)
        || VIEW.sets.contains(&name)
        || VIEW.marks.iter().any(|kind| name.starts_with(kind))
}

fn key(order_id: &str) -> Item {
    HashMap::from([(VIEW.key.to_owned(), AttributeValue::S(order_id.to_owned()))])
}

/// Retries a read until it succeeds, or fails permanently.
async fn with_retries<T, F: Future<Output = Result<T, TableError>>>(mut send: impl FnMut() -> F) -> Result<T, Error> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(25);
    loop {
        let error = match send().await {
            Ok(response) => return Ok(response),
            Err(error) => error,
        };
        if !error.is_retryable() || begun.elapsed() > RETRY_TIME {
            return Err(Error::Read(error));
        }
        sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
