//! Why a message can never be applied.

use crate::event::{EventType, UnknownEventType};
use crate::json::JsonFault;

/// Why a message can never be applied, however often it is tried.
///
/// The texts, with their sources', go to logs and dead-letter tools, so they name fields and reasons and never a value.
#[derive(Debug, thiserror::Error)]
pub enum Malformed {
    /// The body, or what an envelope holds, is not JSON of the right shape.
    #[error("the message cannot be read")]
    Body(#[source] JsonFault),
    /// It is JSON, but not a message we know.
    #[error(
        "the message has no `headers`, and is no SNS notification (`Message`) or EventBridge event (`detail`) either"
    )]
    Envelope,
    /// Envelopes around envelopes around envelopes.
    #[error("the message is wrapped in more than {0} envelopes")]
    TooDeep(usize),
    /// A header that every event needs is not there.
    #[error("header `{0}` is missing")]
    HeaderMissing(&'static str),
    /// A header is there but cannot be what it should be.
    #[error("header `{header}` is not valid")]
    Header {
        /// Which header.
        header: &'static str,
        /// What is wrong with it.
        source: Invalid,
    },
    /// The event's type is not one of ours.
    #[error("header `event-type` is not valid")]
    Type(#[from] UnknownEventType),
    /// The aggregate cannot have published this event.
    #[error(
        "header `event-aggregate-type`: {event_type} is published by {}, not by the aggregate named here",
        .event_type.aggregate()
    )]
    Aggregate {
        /// The event's type, whose aggregate was expected.
        event_type: EventType,
    },
    /// The payload is missing.
    #[error("`payload` is missing")]
    PayloadMissing,
    /// The payload is not what this event type carries.
    #[error("the payload is not one of {event_type}")]
    Payload {
        /// The event's type.
        event_type: EventType,
        /// Where and why.
        #[source]
        fault: JsonFault,
    },
    /// The id and the `DATE` header say two different things about when the event happened.
    #[error("the time in the event id is more than 24 hours from the message's `DATE`: one of the two is wrong")]
    Date,
}

impl Malformed {
    /// A short name of the reason that stays the same over versions, for logs, metrics and alarms.
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

/// Why a single value is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// An id without a character in it.
    #[error("must not be empty")]
    Empty,
    /// An id longer than we take.
    #[error("must be at most {0} characters long")]
    TooLong(usize),
    /// An id with white space, control characters, or the noncharacters U+FFFE and U+FFFF.
    #[error("must not contain white space or control characters")]
    Character,
    /// An event id of no known form.
    #[error(
        "must be an Eventuate id (16 hex digits, `-`, 16 hex digits), a UUIDv7 or a ULID: ids that do not sort by \
         time would break the view"
    )]
    EventId,
    /// An event id whose time cannot be that of an event.
    #[error("must hold a time between 2001 and 2100")]
    EventTime,
    /// An amount that is not an exact decimal.
    #[error("must be a decimal text such as \"12.34\", of at most 32 characters")]
    Money,
    /// A moment that cannot be read.
    #[error(
        "must be a date and time such as 2026-03-01T12:30:00Z (without a zone it is taken as UTC), from 1970 to 9999"
    )]
    Timestamp,
    /// A `DATE` header that cannot be read.
    #[error("must be an RFC 1123 date such as Sun, 1 Mar 2026 12:30:00 GMT")]
    HttpDate,
    /// A latitude or longitude off the globe.
    #[error("must be a number of degrees between -{0} and {0}")]
    Degrees(i32),
    /// A consistency token that no command service minted.
    #[error("must be a consistency token as a command's response brought it")]
    ConsistencyToken,
}
