//! What each event does to the view: the table of the design, as data.

use order_events::payload::{LineItem, OrderCreated, OrderRevised, OrderRevision};
use order_events::{
    AggregateId, AggregateType, DeliveryStatus, Event, EventId, EventType, OrderId, OrderStatus, Payload,
    PaymentStatus, TicketStatus,
};

use crate::facet::{Address, Details, Facet, Location, Payment, Promise, Schedule};
use crate::keywords::keywords;
use crate::set::{Revision, TimelineEntry};

/// What one event does to one order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effect {
    /// The order.
    pub order_id: OrderId,
    /// The event: it becomes the watermark of every facet it writes.
    pub event_id: EventId,
    /// All that it does, each piece on its own either news to a view or not.
    pub pieces: Vec<Piece>,
}

/// A part of an effect that goes in whole or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Notes the event as the highest seen from its aggregate instance.
    Tracking(Aggregate),
    /// Writes a facet.
    Facet(Facet),
    /// Adds to the timeline.
    Timeline(TimelineEntry),
    /// Adds to the revisions.
    Revision(Revision),
}

/// An aggregate instance.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Aggregate {
    /// Its type.
    pub aggregate_type: AggregateType,
    /// Its id within the type.
    pub id: AggregateId,
}

impl Effect {
    /// What `event` does.
    #[must_use]
    pub fn of(event: &Event) -> Self {
        let mut pieces = vec![Piece::Tracking(Aggregate {
            aggregate_type: event.event_type().aggregate(),
            id: event.aggregate_id.clone(),
        })];
        pieces.extend(facets(event).into_iter().map(Piece::Facet));
        if in_timeline(event.event_type()) {
            pieces.push(Piece::Timeline(TimelineEntry {
                event_id: event.id,
                event_type: event.event_type(),
                at: event.at,
            }));
        }
        pieces.extend(revision(event).map(Piece::Revision));
        Self { order_id: event.order_id(), event_id: event.id, pieces }
    }
}

fn facets(event: &Event) -> Vec<Facet> {
    use Facet::{Delivery, State, Ticket};
    match &event.payload {
        Payload::OrderCreated(payload) => {
            let mut facets = vec![
                Facet::Details(details(event, payload)),
                State(OrderStatus::ApprovalPending),
                Facet::Total(payload.order_details.order_total.clone()),
            ];
            facets.extend(
                payload
                    .delivery_address
                    .clone()
                    .map(|delivery_address| Facet::Address(Address { delivery_address, delivery_time: None })),
            );
            facets
        }
        Payload::OrderAuthorized(_) => vec![State(OrderStatus::Approved)],
        Payload::OrderRejected(_) => vec![State(OrderStatus::Rejected)],
        Payload::OrderCancelled(_) => vec![State(OrderStatus::Cancelled)],
        Payload::OrderRevisionProposed(_) => vec![State(OrderStatus::RevisionPending)],
        Payload::OrderRevised(payload) => {
            let mut facets = vec![State(OrderStatus::Approved), Facet::Total(payload.new_order_total.clone())];
            facets.extend(new_address(&payload.order_revision).map(Facet::Address));
            facets
        }
        Payload::TicketCreated(_) => vec![Ticket(TicketStatus::AwaitingAcceptance)],
        Payload::TicketAccepted(payload) => {
            vec![Ticket(TicketStatus::Accepted), Facet::Promise(Promise { ready_by: payload.ready_by })]
        }
        Payload::TicketPreparationStarted(_) => vec![Ticket(TicketStatus::Preparing)],
        Payload::TicketPreparationCompleted(_) => vec![Ticket(TicketStatus::ReadyForPickup)],
        Payload::TicketPickedUp(_) => vec![Ticket(TicketStatus::PickedUp)],
        Payload::TicketCancelled(_) => vec![Ticket(TicketStatus::Cancelled)],
        Payload::DeliveryScheduled(payload) => vec![
            Delivery(DeliveryStatus::Scheduled),
            Facet::Schedule(Schedule {
                courier_id: payload.courier_id.clone(),
                estimated_pickup_time: payload.estimated_pickup_time,
                estimated_delivery_time: payload.estimated_delivery_time,
            }),
        ],
        Payload::DeliveryPickedUp(_) => vec![Delivery(DeliveryStatus::PickedUp)],
        Payload::DeliveryLocationUpdated(payload) => {
            vec![Facet::Location(Location { latitude: payload.latitude, longitude: payload.longitude, at: event.at })]
        }
        Payload::DeliveryDelivered(_) => vec![Delivery(DeliveryStatus::Delivered)],
        Payload::PaymentIntentChargeRequested(payload) => vec![Facet::Payment(Payment {
            status: PaymentStatus::ChargeRequested,
            payment_intent_id: event.aggregate_id.clone(),
            amount: payload.amount,
            currency: payload.currency.clone(),
            charge_id: None,
            error_code: None,
            error_message: None,
        })],
        Payload::PaymentIntentCharged(payload) => vec![Facet::Payment(Payment {
            status: PaymentStatus::Charged,
            payment_intent_id: event.aggregate_id.clone(),
            amount: payload.amount,
            currency: payload.currency.clone(),
            charge_id: Some(payload.charge_id.clone()),
            error_code: None,
            error_message: None,
        })],
        Payload::PaymentIntentChargeFailed(payload) => vec![Facet::Payment(Payment {
            status: PaymentStatus::ChargeFailed,
            payment_intent_id: event.aggregate_id.clone(),
            amount: payload.amount,
            currency: payload.currency.clone(),
            charge_id: payload.charge_id.clone(),
            error_code: Some(payload.error_code.clone()),
            error_message: payload.error_message.clone(),
        })],
    }
}

/// A courier's every move would drown the timeline.
pub(crate) fn in_timeline(event_type: EventType) -> bool {
    match event_type {
        EventType::DeliveryLocationUpdated => false,
        EventType::OrderCreated
        | EventType::OrderAuthorized
        | EventType::OrderRejected
        | EventType::OrderCancelled
        | EventType::OrderRevisionProposed
        | EventType::OrderRevised
        | EventType::TicketCreated
        | EventType::TicketAccepted
        | EventType::TicketPreparationStarted
        | EventType::TicketPreparationCompleted
        | EventType::TicketPickedUp
        | EventType::TicketCancelled
        | EventType::DeliveryScheduled
        | EventType::DeliveryPickedUp
        | EventType::DeliveryDelivered
        | EventType::PaymentIntentChargeRequested
        | EventType::PaymentIntentCharged
        | EventType::PaymentIntentChargeFailed => true,
    }
}

fn revision(event: &Event) -> Option<Revision> {
    let Payload::OrderRevised(OrderRevised { order_revision, .. }) = &event.payload else {
        return None;
    };
    let line_items = &order_revision.revised_order_line_items;
    (!line_items.is_empty()).then(|| Revision { event_id: event.id, line_items: line_items.clone() })
}

fn details(event: &Event, payload: &OrderCreated) -> Details {
    let OrderCreated { order_details, restaurant_name, .. } = payload;
    let names = order_details.line_items.iter().map(|LineItem { name, .. }| name.as_str());
    Details {
        consumer_id: order_details.consumer_id.clone(),
        order_creation_time: event.at,
        restaurant_id: order_details.restaurant_id,
        restaurant_name: restaurant_name.clone(),
        line_items: order_details.line_items.clone(),
        keywords: names.chain([restaurant_name.as_str()]).flat_map(keywords).collect(),
    }
}

fn new_address(revision: &OrderRevision) -> Option<Address> {
    revision.delivery_information.as_ref().map(|information| Address {
        delivery_address: information.delivery_address.clone(),
        delivery_time: Some(information.delivery_time),
    })
}
