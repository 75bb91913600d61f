//! The record as the table holds it. Times are durations since the Unix epoch.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::schema::Schema;
use crate::{Error, Fingerprint};

/// The largest item DynamoDB takes, in bytes.
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html#limits-items>
const MAX_ITEM_SIZE: usize = 400 * 1024;

pub(crate) type Item = HashMap<String, AttributeValue>;

#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) id: String,
    pub(crate) status: Status,
    pub(crate) expiration: Duration,
    pub(crate) in_progress_expiration: Option<Duration>,
    pub(crate) data: Option<String>,
    pub(crate) fingerprint: Fingerprint,
    pub(crate) owner: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    InProgress,
    Completed,
}

impl Status {
    pub(crate) fn value(self) -> AttributeValue {
        let text = match self {
            Self::InProgress => "INPROGRESS",
            Self::Completed => "COMPLETED",
        };
        AttributeValue::S(text.to_owned())
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "INPROGRESS" => Some(Self::InProgress),
            "COMPLETED" => Some(Self::Completed),
            _ => None,
        }
    }
}

impl Record {
    /// The record has not expired yet in the second of its expiration, as with Powertools.
    pub(crate) fn is_expired(&self, now: Duration) -> bool {
        self.expiration.as_secs() < now.as_secs()
    }

    /// Whether the work was begun, and its claim expired before it was completed. A claim without an expiry is never abandoned.
    pub(crate) fn is_abandoned(&self, now: Duration) -> bool {
        let until = self.in_progress_expiration.unwrap_or(Duration::MAX);
        self.status == Status::InProgress && until.as_millis() < now.as_millis()
    }

    /// Whether the record fits an item, whose size counts the names and values of its attributes.
    /// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>
    pub(crate) fn fits_an_item(&self, schema: &Schema) -> bool {
        let size = |value: &AttributeValue| match value {
            AttributeValue::S(text) => text.len(),
            AttributeValue::N(digits) => digits.len().div_ceil(2) + 1,
            // A record has only texts and numbers.
            _ => 0,
        };
        let item = self.to_item(schema);
        item.iter().map(|(name, value)| name.len() + size(value)).sum::<usize>() <= MAX_ITEM_SIZE
    }

    pub(crate) fn to_item(&self, schema: &Schema) -> Item {
        let names = &schema.attributes;
        let text = |text: &str| AttributeValue::S(text.to_owned());
        let optional = [
            (&names.in_progress_expiration, self.in_progress_expiration.map(millis)),
            (&names.data, self.data.as_deref().map(text)),
            (&names.validation, self.fingerprint.as_text().map(text)),
            (&names.owner, self.owner.as_deref().map(text)),
        ];
        let mut item = schema.key(&self.id);
        item.insert(names.status.clone(), self.status.value());
        item.insert(names.expiration.clone(), seconds(self.expiration));
        item.extend(optional.into_iter().filter_map(|(name, value)| Some((name.clone(), value?))));
        item
    }

    /// Reads a record, whoever wrote it: all but `id` and `status` may be missing. Without an expiration it never expires.
    pub(crate) fn from_item(item: &Item, schema: &Schema) -> Result<Self, Error> {
        let names = &schema.attributes;
        let required = |name: &str| text(item, name)?.ok_or_else(|| malformed(name));
        Ok(Self {
            id: required(schema.id_attribute())?,
            status: Status::parse(&required(&names.status)?).ok_or_else(|| malformed(&names.status))?,
            expiration: number(item, &names.expiration)?.map_or(Duration::MAX, Duration::from_secs),
            in_progress_expiration: number(item, &names.in_progress_expiration)?.map(Duration::from_millis),
            data: text(item, &names.data)?,
            fingerprint: Fingerprint::stored(text(item, &names.validation)?),
            owner: text(item, &names.owner)?,
        })
    }
}

pub(crate) fn seconds(time: Duration) -> AttributeValue {
    AttributeValue::N(time.as_secs().to_string())
}

/// Capped at what [`Record::from_item`] can read: 584 million years are as good as no end.
pub(crate) fn millis(time: Duration) -> AttributeValue {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    AttributeValue::N(millis.to_string())
}

fn text(item: &Item, name: &str) -> Result<Option<String>, Error> {
    match item.get(name) {
        None | Some(AttributeValue::Null(_)) => Ok(None),
        Some(AttributeValue::S(text)) => Ok(Some(text.clone())),
        Some(_) => Err(malformed(name)),
    }
}

fn number(item: &Item, name: &str) -> Result<Option<u64>, Error> {
    match item.get(name) {
        None | Some(AttributeValue::Null(_)) => Ok(None),
        Some(AttributeValue::N(digits)) => digits.parse().map(Some).map_err(|_| malformed(name)),
        Some(_) => Err(malformed(name)),
    }
}

fn malformed(attribute: &str) -> Error {
    Error::Malformed { attribute: attribute.to_owned() }
}
