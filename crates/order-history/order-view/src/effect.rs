//! What each event does to the view: the table of the design, as data.

use order_events::payload::{
    DeliveryInformation, LineItem, OrderCreated, OrderRevision, PaymentIntentChargeRequested, PaymentIntentCharged,
};
use order_events::{Event, Payload, Record};
use projection::{Effect, Name, Piece, Stamp, Unwritable};

use crate::facet::{Address, Details, Location, Payment, Promise, REVISIONS, Schedule, TIMELINE, Total};
use crate::keywords::keywords;
use crate::set::{Revision, TimelineEntry};
use crate::status::{DeliveryStatus, OrderStatus, PaymentStatus, TicketStatus};

/// What `event` does to its order.
pub fn effect(event: &Event) -> Result<Effect, Unwritable> {
    let event_type = event.event_type();
    let by = Stamp::from(event.id.to_string());
    let tracking = format!("{}{}", event_type.aggregate(), event.aggregate_id);
    let mut pieces = vec![Piece::Mark { attribute: tracking.into(), by: by.clone() }];
    if event_type.record() == Record::Timeline {
        pieces.push(element(TIMELINE, &TimelineEntry::new(event.id, event_type)));
    }
    pieces.extend(facets_and_revision(event, &by)?);
    Ok(Effect { key: event.order_id().to_string(), pieces })
}

fn element(set: &'static str, element: &impl ToString) -> Piece {
    Piece::Element { set: Name::Borrowed(set), element: element.to_string() }
}

fn facets_and_revision(event: &Event, by: &Stamp) -> Result<Vec<Piece>, Unwritable> {
    macro_rules! writes {
        ($($facet:expr),*) => { vec![$(Piece::facet(&$facet, by)?),*] };
    }
    Ok(match &event.payload {
        Payload::OrderCreated(payload) => {
            let total = Total(payload.order_details.order_total.clone());
            // Also without an address: that of an earlier OrderCreated may be another consumer's.
            let address = Address { delivery_address: payload.delivery_address.clone(), delivery_time: None };
            writes![details(event, payload), OrderStatus::ApprovalPending, total, address]
        }
        Payload::OrderAuthorized(_) => writes![OrderStatus::Approved],
        Payload::OrderRejected(_) => writes![OrderStatus::Rejected],
        Payload::OrderCancelled(_) => writes![OrderStatus::Cancelled],
        Payload::OrderRevisionProposed(_) => writes![OrderStatus::RevisionPending],
        Payload::OrderRevised(payload) => {
            let mut pieces = writes![OrderStatus::Approved, Total(payload.new_order_total.clone())];
            let OrderRevision { delivery_information, revised_order_line_items: line_items } = &payload.order_revision;
            if let Some(DeliveryInformation { delivery_address, delivery_time }) = delivery_information.clone() {
                let (delivery_address, delivery_time) = (Some(delivery_address), Some(delivery_time));
                pieces.extend(writes![Address { delivery_address, delivery_time }]);
            }
            if !line_items.is_empty() {
                let line_items = line_items.clone();
                pieces.push(element(REVISIONS, &Revision { event_id: event.id, line_items }));
            }
            pieces
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
            writes![Location { latitude: payload.latitude, longitude: payload.longitude, at: event.at() }]
        }
        Payload::DeliveryDelivered(_) => writes![DeliveryStatus::Delivered],
        Payload::PaymentIntentChargeRequested(PaymentIntentChargeRequested { amount, currency, .. }) => {
            writes![payment(event, PaymentStatus::ChargeRequested, *amount, currency)]
        }
        Payload::PaymentIntentCharged(PaymentIntentCharged { amount, currency, charge_id, .. }) => {
            let charged = payment(event, PaymentStatus::Charged, *amount, currency);
            writes![Payment { charge_id: Some(charge_id.clone()), ..charged }]
        }
        Payload::PaymentIntentChargeFailed(payload) => writes![Payment {
            charge_id: payload.charge_id.clone(),
            error_code: Some(payload.error_code.clone()),
            error_message: payload.error_message.clone(),
            ..payment(event, PaymentStatus::ChargeFailed, payload.amount, &payload.currency)
        }],
    })
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
