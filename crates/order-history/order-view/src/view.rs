//! The view of one order, and what it can be asked.

use std::collections::HashMap;

use order_events::payload::LineItem;
use order_events::{Event, EventId, EventType, Record};
use projection::{Facet, Folded, State, Unwritable};

use crate::effect::effect;
use crate::facet::{Location, OrderView, TIMELINE};

/// The version of the rules by which events become states. A snapshot is of one version of them, and of no use to another.
///
/// Raise it when the same events give other states than before. A test fails if that is forgotten.
pub const RULES: u32 = 1;

/// The states of the orders that the events speak of. Any order and any duplicates give the same states.
pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Folded, Unwritable> {
    let mut folded = Folded::default();
    events.into_iter().try_for_each(|event| effect(event).map(|effect| folded.add(effect)))?;
    Ok(folded)
}

/// Whether an order has seen this event. The mark of its aggregate would not tell: a later event may have come before it.
#[must_use]
pub fn has_seen(order: &State, event_type: EventType, event_id: EventId) -> bool {
    let event_id = event_id.to_string();
    match event_type.record() {
        Record::Timeline => order.set(TIMELINE).any(|entry| entry.starts_with(&event_id)),
        Record::Location => order.stamp(Location::WATERMARK).is_some_and(|by| **by >= *event_id),
    }
}

impl OrderView {
    /// What was ordered, with the revisions laid over the quantities in the order they were made.
    #[must_use]
    pub fn line_items(&self) -> Option<Vec<LineItem>> {
        let mut line_items = self.details.as_ref()?.line_items.clone();
        let revised = self.revisions.iter().flat_map(|revision| &revision.line_items);
        // Of one item, the last quantity stays.
        let revised: HashMap<_, _> = revised.map(|item| (item.menu_item_id.as_str(), item.quantity)).collect();
        for item in &mut line_items {
            item.quantity = *revised.get(item.menu_item_id.as_str()).unwrap_or(&item.quantity);
        }
        Some(line_items)
    }
}
