//! Facets: small groups of attributes, each always written whole by one event.

use std::collections::BTreeSet;

use order_events::payload::{Address as PostalAddress, LineItem};
use order_events::{
    AggregateId, ConsumerId, CourierId, DeliveryStatus, Latitude, Longitude, Money, OrderStatus, PaymentStatus,
    TicketStatus, Timestamp,
};

/// A facet with what an event writes into it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Facet {
    /// What was ordered, by whom, where.
    Details(Details),
    /// Where the order stands.
    State(OrderStatus),
    /// What it costs.
    Total(Money),
    /// Where and when it should be delivered.
    Address(Address),
    /// Where the kitchen stands.
    Ticket(TicketStatus),
    /// What the kitchen promised.
    Promise(Promise),
    /// Where the delivery stands.
    Delivery(DeliveryStatus),
    /// Who delivers, and when.
    Schedule(Schedule),
    /// Where the courier was seen last.
    Location(Location),
    /// Where the payment stands.
    Payment(Payment),
}

/// Names a facet: each has one watermark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FacetKind {
    /// [`Facet::Details`].
    Details,
    /// [`Facet::State`].
    State,
    /// [`Facet::Total`].
    Total,
    /// [`Facet::Address`].
    Address,
    /// [`Facet::Ticket`].
    Ticket,
    /// [`Facet::Promise`].
    Promise,
    /// [`Facet::Delivery`].
    Delivery,
    /// [`Facet::Schedule`].
    Schedule,
    /// [`Facet::Location`].
    Location,
    /// [`Facet::Payment`].
    Payment,
}

impl Facet {
    /// Which facet this is.
    #[must_use]
    pub fn kind(&self) -> FacetKind {
        match self {
            Self::Details(_) => FacetKind::Details,
            Self::State(_) => FacetKind::State,
            Self::Total(_) => FacetKind::Total,
            Self::Address(_) => FacetKind::Address,
            Self::Ticket(_) => FacetKind::Ticket,
            Self::Promise(_) => FacetKind::Promise,
            Self::Delivery(_) => FacetKind::Delivery,
            Self::Schedule(_) => FacetKind::Schedule,
            Self::Location(_) => FacetKind::Location,
            Self::Payment(_) => FacetKind::Payment,
        }
    }
}

/// What was ordered, by whom, where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// Who ordered.
    pub consumer_id: ConsumerId,
    /// When.
    pub order_creation_time: Timestamp,
    /// Where.
    pub restaurant_id: u64,
    /// The restaurant's name at that time.
    pub restaurant_name: String,
    /// What, with the quantities first ordered; see [`crate::OrderSummary::line_items`] for the revised ones.
    pub line_items: Vec<LineItem>,
    /// The words one can find the order by.
    pub keywords: BTreeSet<String>,
}

/// Where and when the order should be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Where.
    pub delivery_address: PostalAddress,
    /// When.
    pub delivery_time: Option<Timestamp>,
}

/// What the kitchen promised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promise {
    /// By when it will be cooked.
    pub ready_by: Timestamp,
}

/// Who delivers, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Who.
    pub courier_id: CourierId,
    /// When they should be at the restaurant.
    pub estimated_pickup_time: Timestamp,
    /// When they should be at the consumer's.
    pub estimated_delivery_time: Timestamp,
}

/// Where the courier was seen last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// North.
    pub latitude: Latitude,
    /// East.
    pub longitude: Longitude,
    /// When.
    pub at: Timestamp,
}

/// Where the payment stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payment {
    /// Requested, charged or failed.
    pub status: PaymentStatus,
    /// Which payment intent says so.
    pub payment_intent_id: AggregateId,
    /// In minor units: cents.
    pub amount: i64,
    /// Such as `USD`.
    pub currency: String,
    /// The payment provider's name for the charge.
    pub charge_id: Option<String>,
    /// Why it failed, for programs.
    pub error_code: Option<String>,
    /// Why it failed, for people.
    pub error_message: Option<String>,
}
