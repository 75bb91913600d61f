//! Elements of the grow-only sets, and the texts they are stored as.

use std::fmt;
use std::str::FromStr;

use order_events::payload::RevisedLineItem;
use order_events::{EventId, EventType, Invalid, Timestamp};

/// One line of an order's timeline, as text `<eventId> <EventType> <time>`. Entries sort by event id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimelineEntry {
    /// Which event.
    pub event_id: EventId,
    /// What happened.
    pub event_type: EventType,
    /// When.
    pub at: Timestamp,
}

/// New quantities from one revision, as text `<eventId> <JSON>`. Revisions sort by event id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Revision {
    /// Which event.
    pub event_id: EventId,
    /// The items whose quantity it changed.
    pub line_items: Vec<RevisedLineItem>,
}

impl fmt::Display for TimelineEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.event_id, self.event_type, self.at)
    }
}

impl FromStr for TimelineEntry {
    type Err = NotAnElement;

    fn from_str(text: &str) -> Result<Self, NotAnElement> {
        let mut parts = text.splitn(3, ' ');
        let mut part = || parts.next().ok_or(NotAnElement);
        Ok(Self {
            event_id: part()?.parse()?,
            event_type: part()?.parse().map_err(|_| NotAnElement)?,
            at: part()?.parse()?,
        })
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_string(&self.line_items).map_err(|_| fmt::Error)?;
        write!(f, "{} {json}", self.event_id)
    }
}

impl FromStr for Revision {
    type Err = NotAnElement;

    fn from_str(text: &str) -> Result<Self, NotAnElement> {
        let (event_id, json) = text.split_once(' ').ok_or(NotAnElement)?;
        Ok(Self { event_id: event_id.parse()?, line_items: serde_json::from_str(json).map_err(|_| NotAnElement)? })
    }
}

/// A text that is no element of a set of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAnElement;

impl From<Invalid> for NotAnElement {
    fn from(_: Invalid) -> Self {
        Self
    }
}
