//! The view of one order.

use std::collections::HashMap;

use order_events::payload::LineItem;
use order_events::{Event, EventId, EventType, Record};
use projection::{Facet, Folded, State, Unwritable};

use crate::effect::effect;
use crate::facet::{Location, OrderView, TIMELINE};

/// The version of the rules that fold events to states. A snapshot can be used only with its version.
///
/// Raise it if the same events make other states than before. A test fails if it was not raised.
pub const RULES: u32 = 1;

/// The states of the orders of these events. The order of the events and duplicates make no difference.
pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Folded, Unwritable> {
    let mut folded = Folded::default();
    events.into_iter().try_for_each(|event| effect(event).map(|effect| folded.add(effect)))?;
    Ok(folded)
}

/// Whether an order contains this event. The mark of its aggregate does not prove it, because a later
/// event may have been processed first.
#[must_use]
pub fn contains_event(order: &State, event_type: EventType, event_id: EventId) -> bool {
    let event_id = event_id.to_string();
    match event_type.record() {
        Record::Timeline => order.set(TIMELINE).any(|entry| entry.starts_with(&event_id)),
        Record::Location => order.stamp(Location::WATERMARK).is_some_and(|by| **by >= *event_id),
    }
}

impl OrderView {
    /// The ordered items, with the quantities of the revisions, applied in their order.
    #[must_use]
    pub fn line_items(&self) -> Option<Vec<LineItem>> {
        let mut line_items = self.details.as_ref()?.line_items.clone();
        let revised = self.revisions.iter().flat_map(|revision| &revision.line_items);
        // The last quantity of an item is used.
        let revised: HashMap<_, _> = revised.map(|item| (item.menu_item_id.as_str(), item.quantity)).collect();
        for item in &mut line_items {
            item.quantity = *revised.get(item.menu_item_id.as_str()).unwrap_or(&item.quantity);
        }
        Some(line_items)
    }
}
