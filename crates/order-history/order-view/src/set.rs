//! Elements of the grow-only sets, and their stored texts.

use std::fmt;

use order_events::payload::RevisedLineItem;
use order_events::{EventId, EventType, Timestamp};
use serde::Serialize;

// Stored as text `<eventId> <EventType>`. It is short, because every event writes one, and every kilobyte costs money.
/// An event of the order. Entries sort by event id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TimelineEntry {
    /// The event's id.
    pub event_id: EventId,
    /// What happened.
    #[serde(rename = "type")]
    pub event_type: EventType,
    /// The time, in UTC.
    pub at: Timestamp,
}

/// The new quantities of one revision, stored as text `<eventId> <JSON>`. Revisions sort by event id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision {
    /// The event's id.
    pub event_id: EventId,
    /// The items whose quantity it changed.
    pub line_items: Vec<RevisedLineItem>,
}

/// The stored text of an event. Every event needs it, so it is built without a formatter, which is slower.
pub(crate) fn timeline_entry(event_id: &str, event_type: EventType) -> String {
    [event_id, " ", event_type.name()].concat()
}

impl TimelineEntry {
    /// The entry of an event. Its time is in its id.
    fn new(event_id: EventId, event_type: EventType) -> Self {
        Self { event_id, event_type, at: event_id.time() }
    }

    /// Reads the stored text. Older versions also stored the time (docs/adr/0010). It is the same as in the id, so the
    /// texts of both forms are the same entry.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, ' ');
        let (event_id, event_type) = (parts.next()?, parts.next()?);
        Some(Self::new(event_id.parse().ok()?, event_type.parse().ok()?))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_string(&self.line_items).map_err(|_| fmt::Error)?;
        write!(f, "{} {json}", self.event_id)
    }
}

impl Revision {
    /// Reads the stored text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (event_id, json) = text.split_once(' ')?;
        Some(Self { event_id: event_id.parse().ok()?, line_items: serde_json::from_str(json).ok()? })
    }
}
