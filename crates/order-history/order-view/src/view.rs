//! The view of one order, and how effects and views come together.

use std::collections::{BTreeMap, BTreeSet};

use order_events::{DeliveryStatus, Event, EventId, EventType, Money, OrderId, OrderStatus, TicketStatus};

use crate::effect::{Aggregate, Effect, Piece, in_timeline};
use crate::facet::{Address, Details, Facet, FacetKind, Location, Payment, Promise, Schedule};
use crate::set::{Revision, TimelineEntry};

/// All that is known of one order.
///
/// It may be known before its `OrderCreated` has come; then it has no [`details`](Self::details).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderView {
    /// Which order.
    pub order_id: OrderId,
    /// What was ordered, by whom, where.
    pub details: Option<Stamped<Details>>,
    /// Where the order stands.
    pub state: Option<Stamped<OrderStatus>>,
    /// What it costs.
    pub total: Option<Stamped<Money>>,
    /// Where and when it should be delivered.
    pub address: Option<Stamped<Address>>,
    /// Where the kitchen stands.
    pub ticket: Option<Stamped<TicketStatus>>,
    /// What the kitchen promised.
    pub promise: Option<Stamped<Promise>>,
    /// Where the delivery stands.
    pub delivery: Option<Stamped<DeliveryStatus>>,
    /// Who delivers, and when.
    pub schedule: Option<Stamped<Schedule>>,
    /// Where the courier was seen last.
    pub location: Option<Stamped<Location>>,
    /// Where the payment stands.
    pub payment: Option<Stamped<Payment>>,
    /// What happened, in order.
    pub timeline: BTreeSet<TimelineEntry>,
    /// The revisions made, in order.
    pub revisions: BTreeSet<Revision>,
    /// The highest event seen from each aggregate instance.
    pub tracking: BTreeMap<Aggregate, EventId>,
}

/// A facet's value and its watermark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamped<T> {
    /// The event that wrote it.
    pub by: EventId,
    /// What it wrote.
    pub value: T,
}

/// One view for each order the events speak of. Any order and any duplicates give the same views.
pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> BTreeMap<OrderId, OrderView> {
    let mut views = BTreeMap::new();
    for event in events {
        let effect = Effect::of(event);
        views.entry(effect.order_id.clone()).or_insert_with(|| OrderView::empty(effect.order_id.clone())).apply(effect);
    }
    views
}

impl OrderView {
    /// An order nothing is known of.
    #[must_use]
    pub fn empty(order_id: OrderId) -> Self {
        Self {
            order_id,
            details: None,
            state: None,
            total: None,
            address: None,
            ticket: None,
            promise: None,
            delivery: None,
            schedule: None,
            location: None,
            payment: None,
            timeline: BTreeSet::new(),
            revisions: BTreeSet::new(),
            tracking: BTreeMap::new(),
        }
    }

    /// Takes in those pieces of an effect that are news.
    pub fn apply(&mut self, effect: Effect) {
        for piece in effect.pieces {
            if self.is_news(effect.event_id, &piece) {
                self.put(effect.event_id, piece);
            }
        }
    }

    /// Whether `piece`, written by event `by`, would add something to this view.
    #[must_use]
    pub fn is_news(&self, by: EventId, piece: &Piece) -> bool {
        let above = |watermark: Option<EventId>| watermark.is_none_or(|watermark| watermark < by);
        match piece {
            Piece::Tracking(aggregate) => above(self.tracking.get(aggregate).copied()),
            Piece::Facet(facet) => above(self.watermark(facet.kind())),
            Piece::Timeline(entry) => !self.timeline.contains(entry),
            Piece::Revision(revision) => !self.revisions.contains(revision),
        }
    }

    /// Whether this event is in the view. Its tracking mark would not tell: a later event may have come before it.
    #[must_use]
    pub fn has_seen(&self, event_type: EventType, event_id: EventId) -> bool {
        if in_timeline(event_type) {
            self.timeline.iter().any(|entry| entry.event_id == event_id)
        } else {
            self.watermark(FacetKind::Location).is_some_and(|watermark| watermark >= event_id)
        }
    }

    /// Joins what two views know of the same order.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        let mut tracking = self.tracking;
        for (aggregate, seen) in other.tracking {
            let highest = tracking.entry(aggregate).or_insert(seen);
            *highest = seen.max(*highest);
        }
        Self {
            order_id: self.order_id,
            details: later(self.details, other.details),
            state: later(self.state, other.state),
            total: later(self.total, other.total),
            address: later(self.address, other.address),
            ticket: later(self.ticket, other.ticket),
            promise: later(self.promise, other.promise),
            delivery: later(self.delivery, other.delivery),
            schedule: later(self.schedule, other.schedule),
            location: later(self.location, other.location),
            payment: later(self.payment, other.payment),
            timeline: self.timeline.into_iter().chain(other.timeline).collect(),
            revisions: self.revisions.into_iter().chain(other.revisions).collect(),
            tracking,
        }
    }

    /// The event that wrote a facet last.
    #[must_use]
    pub fn watermark(&self, kind: FacetKind) -> Option<EventId> {
        fn by<T>(facet: Option<&Stamped<T>>) -> Option<EventId> {
            facet.map(|stamped| stamped.by)
        }
        match kind {
            FacetKind::Details => by(self.details.as_ref()),
            FacetKind::State => by(self.state.as_ref()),
            FacetKind::Total => by(self.total.as_ref()),
            FacetKind::Address => by(self.address.as_ref()),
            FacetKind::Ticket => by(self.ticket.as_ref()),
            FacetKind::Promise => by(self.promise.as_ref()),
            FacetKind::Delivery => by(self.delivery.as_ref()),
            FacetKind::Schedule => by(self.schedule.as_ref()),
            FacetKind::Location => by(self.location.as_ref()),
            FacetKind::Payment => by(self.payment.as_ref()),
        }
    }

    fn put(&mut self, by: EventId, piece: Piece) {
        match piece {
            Piece::Tracking(aggregate) => {
                self.tracking.insert(aggregate, by);
            }
            Piece::Facet(facet) => self.put_facet(by, facet),
            Piece::Timeline(entry) => {
                self.timeline.insert(entry);
            }
            Piece::Revision(revision) => {
                self.revisions.insert(revision);
            }
        }
    }

    fn put_facet(&mut self, by: EventId, facet: Facet) {
        match facet {
            Facet::Details(value) => self.details = Some(Stamped { by, value }),
            Facet::State(value) => self.state = Some(Stamped { by, value }),
            Facet::Total(value) => self.total = Some(Stamped { by, value }),
            Facet::Address(value) => self.address = Some(Stamped { by, value }),
            Facet::Ticket(value) => self.ticket = Some(Stamped { by, value }),
            Facet::Promise(value) => self.promise = Some(Stamped { by, value }),
            Facet::Delivery(value) => self.delivery = Some(Stamped { by, value }),
            Facet::Schedule(value) => self.schedule = Some(Stamped { by, value }),
            Facet::Location(value) => self.location = Some(Stamped { by, value }),
            Facet::Payment(value) => self.payment = Some(Stamped { by, value }),
        }
    }
}

fn later<T>(one: Option<Stamped<T>>, other: Option<Stamped<T>>) -> Option<Stamped<T>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(if other.by > one.by { other } else { one }),
        (one, other) => one.or(other),
    }
}
