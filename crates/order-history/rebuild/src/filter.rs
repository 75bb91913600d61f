//! Filters for the events of the archive.

use std::collections::BTreeSet;

use order_events::{Event, EventType, OrderId, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, de};

/// The events to use. Without any filter, all events are used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Only events of this time or later, by the time in their ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Only events before this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Only events of these types; empty for all.
    #[serde(skip_serializing_if = "BTreeSet::is_empty", deserialize_with = "event_types")]
    pub types: BTreeSet<EventType>,
    /// Only events of these orders; empty for all.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub orders: BTreeSet<OrderId>,
}

/// How far the time in an event's id can be after the hour in its file's name, in milliseconds: 24 hours after the event's `DATE`,
/// one hour if the clock that wrote `DATE` is ahead, and one hour because a file's name contains only the hour.
const MAX_AHEAD_MILLIS: i64 = (24 + 1 + 1) * 60 * 60 * 1_000;

impl Filter {
    /// Whether to use the event.
    #[must_use]
    pub fn accepts(&self, event: &Event) -> bool {
        let Self { since, until, types, orders } = self;
        since.is_none_or(|since| event.at() >= since)
            && until.is_none_or(|until| event.at() < until)
            && (types.is_empty() || types.contains(&event.event_type()))
            && (orders.is_empty() || orders.contains(&event.order_id()))
    }

    /// Whether to use the view of an order, which cannot be filtered by time or type.
    #[must_use]
    pub fn accepts_order(&self, order_id: &str) -> bool {
        self.orders.is_empty() || OrderId::parse(order_id).is_ok_and(|order_id| self.orders.contains(&order_id))
    }

    /// Whether views that were folded without this filter, such as those of a snapshot, can be used.
    #[must_use]
    pub fn accepts_whole_orders(&self) -> bool {
        self.since.is_none() && self.until.is_none() && self.types.is_empty()
    }

    /// Whether a file from the hour of `arrival` may contain an event to use. The end is not checked, because
    /// events can be late.
    #[must_use]
    pub fn may_accept_from(&self, arrival: Timestamp) -> bool {
        self.since.is_none_or(|since| arrival.as_millis() + MAX_AHEAD_MILLIS > since.as_millis())
    }
}

/// Reads event types from their names.
fn event_types<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeSet<EventType>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    names.iter().map(|name| name.parse().map_err(de::Error::custom)).collect()
}
