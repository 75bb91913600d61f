//! An event as a row of the table.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::types::AttributeValue;

use crate::Error;

/// The table's partition key, a string: `<aggregateType>#<aggregateId>`.
pub(crate) const PK: &str = "pk";
/// The table's sort key, a number: the version.
pub(crate) const SK: &str = "sk";
pub(crate) const EVENT_ID: &str = "eventId";
pub(crate) const EVENT_TYPE: &str = "eventType";
pub(crate) const MESSAGE: &str = "message";
/// Milliseconds since 1970.
pub(crate) const AT: &str = "at";

/// Between the parts of the partition key.
const SEPARATOR: char = '#';

pub(crate) type Item = HashMap<String, AttributeValue>;

/// An event that is not published yet. It is exhaustive, because you construct it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// The type of the aggregate that changed, such as `Payment`. At least one character, without `#`.
    pub aggregate_type: String,
    /// The id of the aggregate that changed. At least one character; together with the type, at most 2,047 bytes.
    pub aggregate_id: String,
    /// The aggregate's version after the event. A version has one event. Never use a version again, even if the aggregate is deleted and
    /// created again with the same id: a late relay deletes a published row by its key, and would delete the new, unpublished row.
    pub version: u64,
    /// The id of the event, from [`next_event_id`](crate::next_event_id). It is not published: write it into `message` too, because consumers
    /// recognize duplicates by it.
    pub event_id: String,
    /// The type of the event, such as `PaymentCharged`: the message attribute by which subscriptions filter. At least one character.
    pub event_type: String,
    /// The message that is published, with the event's id in it. At least one character. `SnsTopic` sends only this text
    /// and `event_type`.
    pub message: String,
    /// The time of the commit by the writer's clock, stored in milliseconds. The sweeper computes the age of a row from it.
    pub at: SystemTime,
}

impl EventRow {
    /// The partition key: the aggregate's type and id.
    pub(crate) fn aggregate(&self) -> String {
        format!("{}{SEPARATOR}{}", self.aggregate_type, self.aggregate_id)
    }

    /// The row's primary key.
    pub(crate) fn key(&self) -> Item {
        Item::from([
            (PK.to_owned(), AttributeValue::S(self.aggregate())),
            (SK.to_owned(), AttributeValue::N(self.version.to_string())),
        ])
    }

    pub(crate) fn to_item(&self) -> Item {
        let text = |text: &String| AttributeValue::S(text.clone());
        let mut item = self.key();
        item.extend([
            (EVENT_ID.to_owned(), text(&self.event_id)),
            (EVENT_TYPE.to_owned(), text(&self.event_type)),
            (MESSAGE.to_owned(), text(&self.message)),
            (AT.to_owned(), AttributeValue::N(millis(self.at).to_string())),
        ]);
        item
    }

    /// Reads a row of the table, such as the existing row in the cancellation reason of a [`put`](crate::Outbox::put). Other attributes are
    /// ignored.
    pub fn from_item(item: &HashMap<String, AttributeValue>) -> Result<Self, Error> {
        let aggregate = text(item, PK)?;
        let (aggregate_type, aggregate_id) = aggregate.split_once(SEPARATOR).ok_or_else(|| malformed(PK))?;
        let row = Self {
            aggregate_type: aggregate_type.to_owned(),
            aggregate_id: aggregate_id.to_owned(),
            version: number(item, SK)?,
            event_id: text(item, EVENT_ID)?,
            event_type: text(item, EVENT_TYPE)?,
            message: text(item, MESSAGE)?,
            at: time_of(item).ok_or_else(|| malformed(AT))?,
        };
        row.check()?;
        Ok(row)
    }

    /// What a row must have to be published.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let required = [
            (PK, &self.aggregate_type),
            (PK, &self.aggregate_id),
            (EVENT_ID, &self.event_id),
            (EVENT_TYPE, &self.event_type),
            (MESSAGE, &self.message),
        ];
        if let Some((name, _)) = required.iter().find(|(_, value)| value.is_empty()) {
            return Err(malformed(name));
        }
        if self.aggregate_type.contains(SEPARATOR) {
            return Err(malformed(PK));
        }
        if self.message.len() + self.event_type.len() + ATTRIBUTE_OVERHEAD > MAX_PUBLISHED {
            return Err(Error::MessageTooLarge);
        }
        Ok(())
    }
}

/// The most bytes that can be published at once: 256 KiB, for messages and their attributes.
/// <https://docs.aws.amazon.com/sns/latest/dg/sns-batch-api-actions.html>
pub(crate) const MAX_PUBLISHED: usize = 256 * 1024;
/// The bytes of a message attribute's name and data type, `event-type` and `String`.
pub(crate) const ATTRIBUTE_OVERHEAD: usize = 16;

/// A time before 1970 comes from a clock that was never set. It counts as 1970.
pub(crate) fn millis(time: SystemTime) -> u64 {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_millis()).unwrap_or(u64::MAX)
}

/// When a row was written, as far as it says.
pub(crate) fn time_of(item: &Item) -> Option<SystemTime> {
    UNIX_EPOCH.checked_add(Duration::from_millis(number(item, AT).ok()?))
}

fn text(item: &Item, name: &'static str) -> Result<String, Error> {
    match item.get(name) {
        Some(AttributeValue::S(text)) => Ok(text.clone()),
        _ => Err(malformed(name)),
    }
}

fn number(item: &Item, name: &'static str) -> Result<u64, Error> {
    match item.get(name) {
        Some(AttributeValue::N(digits)) => digits.parse().map_err(|_| malformed(name)),
        _ => Err(malformed(name)),
    }
}

fn malformed(attribute: &'static str) -> Error {
    Error::MalformedRow { attribute }
}
