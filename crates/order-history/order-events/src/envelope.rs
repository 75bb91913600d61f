//! The envelope: a Tram message, which may be inside an SNS notification or an EventBridge event.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::id::TextOrNumber;
use crate::json::read_json;
use crate::plain::{Plain, PlainHeaders};
use crate::{AggregateId, Event, EventId, EventType, Invalid, Malformed, Payload, Timestamp};

/// A message with its event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The event in the message.
    pub event: Event,
    /// The original text of the payload.
    payload: String,
}

/// A message that goes from SNS through EventBridge to SQS has two.
const MAX_ENVELOPES: usize = 3;

/// The largest difference between the time in an event's id and the message's `DATE`, in milliseconds: 24 hours.
const MAX_DIFFERENCE: u64 = 24 * 60 * 60 * 1_000;

impl Message {
    /// Reads the body of an SQS message.
    pub fn parse(body: &str) -> Result<Self, Malformed> {
        Self::unwrap(body, 0)
    }

    /// Type, aggregate and payload, as text. They must be the same in every message with this event id.
    #[must_use]
    pub fn content(&self) -> String {
        let Event { aggregate_id, .. } = &self.event;
        format!("{} {aggregate_id} {}", self.event.event_type(), self.payload)
    }

    fn unwrap(text: &str, envelopes: usize) -> Result<Self, Malformed> {
        if envelopes > MAX_ENVELOPES {
            return Err(Malformed::TooDeep(MAX_ENVELOPES));
        }
        if let Some(plain) = Plain::read(text) {
            return Self::from_parts(plain.headers, plain.payload.into_owned());
        }
        Self::unwrap_any_form(text, envelopes)
    }

    /// Reads a message that is not [`Plain`]: a wrapped one, or an invalid one, to find the reason.
    pub(crate) fn unwrap_any_form(text: &str, envelopes: usize) -> Result<Self, Malformed> {
        let outer: Outer = read_json(text).map_err(Malformed::Body)?;
        if let Some(headers) = outer.headers {
            let headers: Headers = read_member("headers", headers)?;
            let payload = outer.payload.ok_or(Malformed::PayloadMissing)?;
            return Self::from_parts(headers.into_plain(), read_member("payload", payload)?);
        }
        if let Some(message) = outer.message {
            let message: String = read_member("Message", message)?;
            return Self::unwrap(&message, envelopes + 1);
        }
        let detail = outer.detail.ok_or(Malformed::Envelope)?;
        Self::unwrap(detail.get(), envelopes + 1)
    }

    fn from_parts(headers: PlainHeaders<'_>, payload: String) -> Result<Self, Malformed> {
        let event_type: EventType = required("event-type", headers.event_type.as_deref())?.parse()?;
        let aggregate = required("event-aggregate-type", headers.aggregate_type.as_deref())?;
        if !event_type.aggregate().is_named(aggregate) {
            return Err(Malformed::Aggregate { event_type });
        }
        let aggregate_id = headers.aggregate_id.ok_or(Malformed::HeaderMissing("event-aggregate-id"))?;
        let aggregate_id = header("event-aggregate-id", AggregateId::parse(aggregate_id))?;
        let id = header("ID", EventId::parse(required("ID", headers.id.as_deref())?))?;
        // A date that cannot be read is ignored.
        if let Some(date) = headers.date.and_then(|date| Timestamp::parse_http_date(&date).ok())
            && date.as_millis().abs_diff(id.time().as_millis()) > MAX_DIFFERENCE
        {
            return Err(Malformed::Date);
        }
        let event = Event {
            id,
            aggregate_id,
            payload: Payload::parse(event_type, &payload).map_err(|fault| Malformed::Payload { event_type, fault })?,
        };
        Ok(Self { event, payload })
    }
}

impl Event {
    /// The event as a Tram message, in the form of FTGO's services. Its `DATE` is the time in its id.
    pub fn to_message(&self) -> serde_json::Result<String> {
        self.to_message_dated(self.at())
    }

    /// The event as a Tram message with this `DATE`. For a publisher whose event ids always rise, although the clocks
    /// of its hosts differ: the time in such an id may be ahead of the clock. A reader refuses a message if the time in
    /// the id and `DATE` differ by more than 24 hours.
    pub fn to_message_dated(&self, date: Timestamp) -> serde_json::Result<String> {
        let event_type = self.event_type();
        serde_json::to_string(&serde_json::json!({
            "payload": self.payload.to_json()?,
            "headers": {
                "ID": self.id.to_string(),
                "event-type": event_type.name(),
                "event-aggregate-type": event_type.aggregate().name(),
                "event-aggregate-id": self.aggregate_id.as_str(),
                "DATE": date.to_http_date(),
            },
        }))
    }
}

/// The members that distinguish the three kinds of message. All others are ignored.
#[derive(Deserialize)]
struct Outer<'a> {
    #[serde(borrow)]
    headers: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    #[serde(borrow, rename = "Message")]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    detail: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Headers<'a> {
    #[serde(rename = "ID")]
    id: Option<HeaderText>,
    #[serde(rename = "event-type")]
    event_type: Option<HeaderText>,
    #[serde(rename = "event-aggregate-type")]
    aggregate_type: Option<HeaderText>,
    #[serde(rename = "event-aggregate-id")]
    aggregate_id: Option<HeaderText>,
    #[serde(borrow, rename = "DATE")]
    date: Option<&'a RawValue>,
}

impl<'a> Headers<'a> {
    fn into_plain(self) -> PlainHeaders<'a> {
        let text = |header: Option<HeaderText>| header.map(|HeaderText(text)| Cow::Owned(text));
        PlainHeaders {
            id: text(self.id),
            event_type: text(self.event_type),
            aggregate_type: text(self.aggregate_type),
            aggregate_id: text(self.aggregate_id),
            date: self.date.and_then(|date| serde_json::from_str(date.get()).ok()).map(Cow::Owned),
        }
    }
}

/// Tram's headers are texts, but an id may be a number.
struct HeaderText(String);

impl<'de> Deserialize<'de> for HeaderText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrNumber).map(Self)
    }
}

fn required<'a>(header: &'static str, value: Option<&'a str>) -> Result<&'a str, Malformed> {
    value.ok_or(Malformed::HeaderMissing(header))
}

fn header<T>(header: &'static str, parsed: Result<T, Invalid>) -> Result<T, Malformed> {
    parsed.map_err(|source| Malformed::Header { header, source })
}

fn read_member<'a, T: Deserialize<'a>>(name: &str, json: &'a RawValue) -> Result<T, Malformed> {
    read_json(json.get()).map_err(|fault| Malformed::Body(fault.within(name)))
}
