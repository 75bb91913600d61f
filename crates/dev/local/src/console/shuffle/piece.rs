//! The pieces of an order's item that are shown.

use std::collections::HashMap;
use std::fmt::Display;

use order_view::facet::{Address, Details, Location, Payment, Promise, REVISIONS, Schedule, TIMELINE, Total};
use order_view::{DeliveryStatus, OrderStatus, TicketStatus};
use projection::{Facet, Piece, State};
use serde::Serialize;

/// The pieces of an item, with their watermark attribute (facets) or their own attribute (sets).
pub(super) const PIECES: [(&str, &str); 12] = [
    ("details", Details::WATERMARK),
    ("state", OrderStatus::WATERMARK),
    ("total", Total::WATERMARK),
    ("address", Address::WATERMARK),
    ("ticket", TicketStatus::WATERMARK),
    ("promise", Promise::WATERMARK),
    ("delivery", DeliveryStatus::WATERMARK),
    ("schedule", Schedule::WATERMARK),
    ("location", Location::WATERMARK),
    ("payment", Payment::WATERMARK),
    (TIMELINE, TIMELINE),
    (REVISIONS, REVISIONS),
];

/// The name of a piece. Marks have none, because they are not shown.
pub(super) fn name(piece: &Piece) -> Option<&'static str> {
    let attribute_of_piece = match piece {
        Piece::Facet { watermark, .. } => watermark,
        Piece::Element { set, .. } => set,
        Piece::Mark { .. } => return None,
    };
    PIECES.iter().find(|(_, attribute)| *attribute == &**attribute_of_piece).map(|(name, _)| *name)
}

/// The position of a piece in [`PIECES`].
pub(super) fn position(piece: &Piece) -> Option<usize> {
    let name = name(piece)?;
    PIECES.iter().position(|(known, _)| *known == name)
}

/// The value of a piece.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct PieceValue {
    piece: &'static str,
    /// The index in the story of the event that wrote the value; for a set, its latest element.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<usize>,
    /// Text for display; empty before the first event.
    value: String,
}

/// The values of all pieces of an item. `events` maps event ids to indexes in the story.
pub(super) fn piece_values(state: &State, events: &HashMap<String, usize>) -> Vec<PieceValue> {
    let piece_value = |(piece, attribute): (&'static str, &str)| {
        let last_of_set = state.set(attribute).last().and_then(|element| element.split(' ').next());
        let id = state.stamp(attribute).map(|id| &**id).or(last_of_set);
        PieceValue { piece, event: id.and_then(|id| events.get(id).copied()), value: value(state, piece) }
    };
    PIECES.into_iter().map(piece_value).collect()
}

fn value(state: &State, piece: &str) -> String {
    match piece {
        "details" => show(state, |details: &Details| {
            let dishes: Vec<_> = details.line_items.iter().map(|item| item.name.as_str()).collect();
            format!("{}: {}", details.restaurant_name, dishes.join(", "))
        }),
        "state" => show(state, |status: &OrderStatus| status.as_str().to_owned()),
        "total" => show(state, |total: &Total| total.0.to_string()),
        "address" => show(state, |address: &Address| {
            let street = address.delivery_address.as_ref().and_then(|address| address.street1.clone());
            street.unwrap_or_else(|| "no address".to_owned())
        }),
        "ticket" => show(state, |status: &TicketStatus| status.as_str().to_owned()),
        "promise" => show(state, |promise: &Promise| format!("ready at {}", time(promise.0))),
        "delivery" => show(state, |status: &DeliveryStatus| status.as_str().to_owned()),
        "schedule" => show(state, |schedule: &Schedule| {
            format!("courier {}, at {}", schedule.courier_id, time(schedule.estimated_delivery_time))
        }),
        "location" => show(state, |location: &Location| format!("{}, {}", location.latitude, location.longitude)),
        "payment" => show(state, |payment: &Payment| payment.status.as_str().to_owned()),
        set => match state.set(set).count() {
            0 => String::new(),
            1 => "1 entry".to_owned(),
            entries => format!("{entries} entries"),
        },
    }
}

fn show<F: Facet>(state: &State, text: impl FnOnce(&F) -> String) -> String {
    state.facet().ok().flatten().as_ref().map(text).unwrap_or_default()
}

/// Hours and minutes, in UTC.
fn time(at: impl Display) -> String {
    at.to_string().get(11..16).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_facet_and_every_set_of_the_view_has_a_name() {
        let facets = order_view::VIEW.facets.iter().map(|shape| shape.watermark);
        let all: Vec<_> = facets.chain(order_view::VIEW.sets.iter().copied()).collect();
        assert_eq!(PIECES.map(|(_, attribute)| attribute).as_slice(), all);
    }
}
