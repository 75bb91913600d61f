//! The effect of each event on the view, as data.

use order_events::payload::{
    DeliveryInformation, LineItem, OrderCreated, OrderRevision, PaymentIntentChargeRequested, PaymentIntentCharged,
};
use order_events::{Event, Payload, Record};
use projection::{Effect, Name, Piece, Stamp, Unwritable};

use crate::facet::{Address, Details, Location, Payment, Promise, REVISIONS, Schedule, TIMELINE, Total};
use crate::keywords::keywords;
use crate::set::{Revision, timeline_entry};
use crate::status::{DeliveryStatus, OrderStatus, PaymentStatus, TicketStatus};

/// The effect of `event` on its order.
pub fn effect(event: &Event) -> Result<Effect, Unwritable> {
    Ok(Effect { key: event.order_id_text().to_owned(), pieces: pieces(event)? })
}

/// The pieces of the effect of `event` on its order.
///
/// With [`Event::order_id_text`] and [`State::apply`](projection::State::apply), this is the fastest way to fold events, because the
/// order's id is copied only for a new order:
///
/// ```
/// # use std::collections::HashMap;
/// # use projection::State;
/// fn fold(states: &mut HashMap<String, State>, event: &order_events::Event) -> Result<(), projection::Unwritable> {
///     let pieces = order_view::pieces(event)?;
///     let contradictions = match states.get_mut(event.order_id_text()) {
///         Some(state) => state.apply(pieces),
///         None => states.entry(event.order_id_text().to_owned()).or_default().apply(pieces),
///     };
///     // To be reported.
///     # let _ = contradictions;
///     Ok(())
/// }
/// ```
pub fn pieces(event: &Event) -> Result<Vec<Piece>, Unwritable> {
    let (event_type, id) = (event.event_type(), event.id.text());
    let by = Stamp::from(&*id);
    let mut pieces = Vec::with_capacity(MAX_PIECES);
    let tracking = [event_type.aggregate().name(), event.aggregate_id.as_str()].concat();
    pieces.push(Piece::Mark { attribute: tracking.into(), by: by.clone() });
    if event_type.record() == Record::Timeline {
        pieces.push(element(TIMELINE, timeline_entry(&id, event_type)));
    }
    facets_and_revision(event, &by, &mut pieces)?;
    Ok(pieces)
}

/// An event has its mark, its entry in the timeline, and up to four facets or revisions.
const MAX_PIECES: usize = 6;

fn element(set: &'static str, element: String) -> Piece {
    Piece::Element { set: Name::Borrowed(set), element }
}

fn facets_and_revision(event: &Event, by: &Stamp, pieces: &mut Vec<Piece>) -> Result<(), Unwritable> {
    macro_rules! writes {
        ($($facet:expr),*) => {{ $(pieces.push(Piece::facet(&$facet, by)?);)* }};
    }
    match &event.payload {
        Payload::OrderCreated(payload) => {
            let total = Total(payload.order_details.order_total.clone());
            // The address is also written if it is empty, because the address of an earlier OrderCreated may belong to another consumer.
            let address = Address { delivery_address: payload.delivery_address.clone(), delivery_time: None };
            writes![details(event, payload), OrderStatus::ApprovalPending, total, address];
        }
        Payload::OrderAuthorized(_) => writes![OrderStatus::Approved],
        Payload::OrderRejected(_) => writes![OrderStatus::Rejected],
        Payload::OrderCancelled(_) => writes![OrderStatus::Cancelled],
        Payload::OrderRevisionProposed(_) => writes![OrderStatus::RevisionPending],
        Payload::OrderRevised(payload) => {
            writes![OrderStatus::Approved, Total(payload.new_order_total.clone())];
            let OrderRevision { delivery_information, revised_order_line_items: line_items } = &payload.order_revision;
            if let Some(DeliveryInformation { delivery_address, delivery_time }) = delivery_information.clone() {
                let (delivery_address, delivery_time) = (Some(delivery_address), Some(delivery_time));
                writes![Address { delivery_address, delivery_time }];
            }
            if !line_items.is_empty() {
                let line_items = line_items.clone();
                pieces.push(element(REVISIONS, Revision { event_id: event.id, line_items }.to_string()));
            }
        }
        Payload::TicketCreated(_) => writes![TicketStatus::AwaitingAcceptance],
        Payload::TicketAccepted(payload) => writes![TicketStatus::Accepted, Promise(payload.ready_by)],
        Payload::TicketPreparationStarted(_) => writes![TicketStatus::Preparing],
        Payload::TicketPreparationCompleted(_) => writes![TicketStatus::ReadyForPickup],
        Payload::TicketPickedUp(_) => writes![TicketStatus::PickedUp],
        Payload::TicketCancelled(_) => writes![TicketStatus::Cancelled],
        Payload::DeliveryScheduled(payload) => writes![
            DeliveryStatus::Scheduled,
            Schedule {
                courier_id: payload.courier_id.clone(),
                estimated_pickup_time: payload.estimated_pickup_time,
                estimated_delivery_time: payload.estimated_delivery_time,
            }
        ],
        Payload::DeliveryPickedUp(_) => writes![DeliveryStatus::PickedUp],
        Payload::DeliveryLocationUpdated(payload) => {
            writes![Location { latitude: payload.latitude, longitude: payload.longitude, at: event.at() }];
        }
        Payload::DeliveryDelivered(_) => writes![DeliveryStatus::Delivered],
        Payload::PaymentIntentChargeRequested(PaymentIntentChargeRequested { amount, currency, .. }) => {
            writes![payment(event, PaymentStatus::ChargeRequested, *amount, currency)];
        }
        Payload::PaymentIntentCharged(PaymentIntentCharged { amount, currency, charge_id, .. }) => {
            let charged = payment(event, PaymentStatus::Charged, *amount, currency);
            writes![Payment { charge_id: Some(charge_id.clone()), ..charged }];
        }
        Payload::PaymentIntentChargeFailed(payload) => writes![Payment {
            charge_id: payload.charge_id.clone(),
            error_code: Some(payload.error_code.clone()),
            error_message: payload.error_message.clone(),
            ..payment(event, PaymentStatus::ChargeFailed, payload.amount, &payload.currency)
        }],
    }
    Ok(())
}

fn details(event: &Event, payload: &OrderCreated) -> Details {
    let OrderCreated { order_details, restaurant_name, .. } = payload;
    let names = order_details.line_items.iter().map(|LineItem { name, .. }| name.as_str());
    Details {
        consumer_id: order_details.consumer_id.clone(),
        order_creation_time: event.at(),
        restaurant_id: order_details.restaurant_id,
        restaurant_name: restaurant_name.clone(),
        line_items: order_details.line_items.clone(),
        keywords: names.chain([restaurant_name.as_str()]).flat_map(keywords).collect(),
    }
}

fn payment(event: &Event, status: PaymentStatus, amount: i64, currency: &str) -> Payment {
    let (payment_intent_id, currency) = (event.aggregate_id.clone(), currency.to_owned());
    Payment { status, payment_intent_id, amount, currency, charge_id: None, error_code: None, error_message: None }
}
