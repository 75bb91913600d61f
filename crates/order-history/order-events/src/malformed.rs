//! Why a message is invalid.

use crate::event::{EventType, UnknownEventType};
use crate::json::JsonFault;

/// Why a message is invalid. A retry cannot succeed.
///
/// The messages, with their sources, go to logs and dead-letter tools. They name fields and reasons, and never values.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// The body, or the content of an envelope, is not the expected JSON.
    #[error("the message cannot be read")]
    Body(#[source] JsonFault),
    /// It is JSON, but not a known kind of message.
    #[error(
        "the message has no `headers`, and is neither an SNS notification (`Message`) nor an EventBridge event (`detail`)"
    )]
    Envelope,
    /// There are too many nested envelopes.
    #[error("the message is wrapped in more than {0} envelopes")]
    TooDeep(usize),
    /// A required header is missing.
    #[error("header `{0}` is missing")]
    HeaderMissing(&'static str),
    /// A header has an invalid value.
    #[error("header `{header}` is not valid")]
    Header {
        /// The name of the header.
        header: &'static str,
        /// The reason.
        source: Invalid,
    },
    /// The event's type is unknown.
    #[error("header `event-type` is not valid")]
    Type(#[from] UnknownEventType),
    /// Another aggregate publishes this event type.
    #[error(
        "header `event-aggregate-type`: {event_type} is published by {}, not by this aggregate",
        .event_type.aggregate()
    )]
    Aggregate {
        /// The event's type, whose aggregate was expected.
        event_type: EventType,
    },
    /// The payload is missing.
    #[error("`payload` is missing")]
    PayloadMissing,
    /// The payload does not match the event type.
    #[error("the payload is not valid for {event_type}")]
    Payload {
        /// The event's type.
        event_type: EventType,
        /// The path and the reason.
        #[source]
        fault: JsonFault,
    },
    /// The times in the id and in the header `DATE` are too far apart.
    #[error("the time in the event id is more than 24 hours from the message's `DATE`: one of the two is wrong")]
    Date,
}

impl Malformed {
    /// A short, stable name of the reason, for logs, metrics and alarms.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Body(_) => "malformed_body",
            Self::Envelope | Self::TooDeep(_) => "malformed_envelope",
            Self::HeaderMissing(_) | Self::Header { .. } => "malformed_header",
            Self::Type(_) => "unknown_event_type",
            Self::Aggregate { .. } => "wrong_aggregate",
            Self::PayloadMissing | Self::Payload { .. } => "malformed_payload",
            Self::Date => "date_mismatch",
        }
    }
}

/// Why a value is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// An empty id.
    #[error("must not be empty")]
    Empty,
    /// An id that is too long.
    #[error("must be at most {0} characters long")]
    TooLong(usize),
    /// An id with white space, control characters, or the noncharacters U+FFFE and U+FFFF.
    #[error("must not contain white space or control characters")]
    Character,
    /// An event id of an unknown form.
    #[error(
        "must be an Eventuate id (16 hex digits, `-`, 16 hex digits), a UUIDv7 or a ULID: ids that do not sort by \
         time would break the view"
    )]
    EventId,
    /// An event id with an impossible time.
    #[error("must contain a time between 2001 and 2100")]
    EventTime,
    /// An amount that is not an exact decimal.
    #[error("must be a decimal text such as \"12.34\", of at most 32 characters")]
    Money,
    /// An invalid time.
    #[error("must be a date and time from 1970 to 9999, such as 2026-03-01T12:30:00Z (without a zone: UTC)")]
    Timestamp,
    /// An invalid header `DATE`.
    #[error("must be an RFC 1123 date such as Sun, 1 Mar 2026 12:30:00 GMT")]
    HttpDate,
    /// A latitude or longitude out of range.
    #[error("must be a number of degrees between -{0} and {0}")]
    Degrees(i32),
    /// A text that is not a consistency token.
    #[error("must be the Consistency-Token of a command's response")]
    ConsistencyToken,
}
