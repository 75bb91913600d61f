//! The event types: one table that says what there is, who publishes it and what it carries.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::json::{JsonFault, read_json};
use crate::payload::{
    DeliveryLocationUpdated, DeliveryScheduled, Nothing, OfOrder, OrderCreated, OrderRevised,
    PaymentIntentChargeFailed, PaymentIntentChargeRequested, PaymentIntentCharged, TicketAccepted,
};
use crate::{AggregateId, EventId, OrderId, Timestamp};

macro_rules! event_types {
    (@order_id aggregate $event:ident $payload:ident) => { $event.aggregate_id.as_str() };
    (@order_id payload $event:ident $payload:ident) => { $payload.order_id.as_str() };
    ($($(#[$doc:meta])* $name:ident by $aggregate:ident carries $payload:ident, order in $order:ident, kept in $record:ident;)*) => {
        /// What happened.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        pub enum EventType {
            $($(#[$doc])* $name,)*
        }

        impl EventType {
            /// Every event type there is.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The short name: also the name of its Lambda's handler, and part of its queue's.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// The type with this short name.
            fn named(name: &str) -> Option<Self> {
                match name {
                    $(stringify!($name) => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Who publishes it.
            #[must_use]
            pub fn aggregate(self) -> AggregateType {
                match self {
                    $(Self::$name => AggregateType::$aggregate,)*
                }
            }

            /// Where an order's view shows that it has seen the event.
            #[must_use]
            pub fn record(self) -> Record {
                match self {
                    $(Self::$name => Record::$record,)*
                }
            }
        }

        /// What happened, with all that the event says about it.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Payload {
            $($(#[$doc])* $name($payload),)*
        }

        impl Payload {
            /// What happened.
            #[must_use]
            pub fn event_type(&self) -> EventType {
                match self {
                    $(Self::$name(_) => EventType::$name,)*
                }
            }

            pub(crate) fn parse(event_type: EventType, json: &str) -> Result<Self, JsonFault> {
                match event_type {
                    $(EventType::$name => read_json::<$payload>(json).map(Self::$name),)*
                }
            }

            pub(crate) fn to_json(&self) -> serde_json::Result<String> {
                match self {
                    $(Self::$name(payload) => serde_json::to_string(payload),)*
                }
            }
        }

        impl Event {
            /// The text of the order's id, without a copy of it.
            #[must_use]
            #[allow(unused_variables)] // Where the aggregate is the order, the payload is not asked.
            pub fn order_id_text(&self) -> &str {
                let event = self;
                match &self.payload {
                    $(Payload::$name(payload) => event_types!(@order_id $order event payload),)*
                }
            }
        }
    };
}

event_types! {
    /// A consumer placed an order.
    OrderCreated by Order carries OrderCreated, order in aggregate, kept in Timeline;
    /// The order may be cooked.
    OrderAuthorized by Order carries Nothing, order in aggregate, kept in Timeline;
    /// The order may not be cooked.
    OrderRejected by Order carries Nothing, order in aggregate, kept in Timeline;
    /// The consumer wants it no more.
    OrderCancelled by Order carries Nothing, order in aggregate, kept in Timeline;
    /// A revision is being checked.
    OrderRevisionProposed by Order carries OrderRevised, order in aggregate, kept in Timeline;
    /// A revision was made.
    OrderRevised by Order carries OrderRevised, order in aggregate, kept in Timeline;
    /// The restaurant was asked.
    TicketCreated by Ticket carries Nothing, order in aggregate, kept in Timeline;
    /// The restaurant will cook it.
    TicketAccepted by Ticket carries TicketAccepted, order in aggregate, kept in Timeline;
    /// The cooking began.
    TicketPreparationStarted by Ticket carries Nothing, order in aggregate, kept in Timeline;
    /// The cooking is done.
    TicketPreparationCompleted by Ticket carries Nothing, order in aggregate, kept in Timeline;
    /// The courier took it from the kitchen.
    TicketPickedUp by Ticket carries Nothing, order in aggregate, kept in Timeline;
    /// The kitchen will not cook it.
    TicketCancelled by Ticket carries Nothing, order in aggregate, kept in Timeline;
    /// A courier was assigned.
    DeliveryScheduled by Delivery carries DeliveryScheduled, order in payload, kept in Timeline;
    /// The courier is on the way to the consumer.
    DeliveryPickedUp by Delivery carries OfOrder, order in payload, kept in Timeline;
    /// The courier moved.
    DeliveryLocationUpdated by Delivery carries DeliveryLocationUpdated, order in payload, kept in Location;
    /// The consumer has it.
    DeliveryDelivered by Delivery carries OfOrder, order in payload, kept in Timeline;
    /// A charge was asked for.
    PaymentIntentChargeRequested by PaymentIntent carries PaymentIntentChargeRequested, order in payload, kept in Timeline;
    /// The money is there.
    PaymentIntentCharged by PaymentIntent carries PaymentIntentCharged, order in payload, kept in Timeline;
    /// The charge was refused.
    PaymentIntentChargeFailed by PaymentIntent carries PaymentIntentChargeFailed, order in payload, kept in Timeline;
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EventType {
    type Err = UnknownEventType;

    /// Reads a short name or a Java class name: the last segment counts, a trailing `Event` does not.
    fn from_str(name: &str) -> Result<Self, UnknownEventType> {
        let name = last_segment(name);
        let name = name.strip_suffix("Event").unwrap_or(name);
        Self::named(name).ok_or(UnknownEventType)
    }
}

/// A name that is no event type of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownEventType;

impl fmt::Display for UnknownEventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be one of ")?;
        for (place, event_type) in EventType::ALL.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{event_type}")?;
        }
        f.write_str(", or a Java class name that ends so")
    }
}

impl std::error::Error for UnknownEventType {}

/// The simple name of a Java class, which a dot separates from its package, or a dollar from the class around it.
fn last_segment(name: &str) -> &str {
    let separator = name.bytes().rposition(|byte| byte == b'.' || byte == b'$');
    separator.map_or(name, |place| &name[place + 1..])
}

/// Where an order's view shows that it has seen an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// As an entry of the timeline.
    Timeline,
    /// By the watermark of the courier's location: every move of a courier would drown the timeline.
    Location,
}

/// What publishes events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AggregateType {
    /// The Order service's.
    Order,
    /// The Kitchen service's; its id is the order's.
    Ticket,
    /// The Delivery service's.
    Delivery,
    /// The Payment service's.
    PaymentIntent,
}

impl AggregateType {
    /// Every one of them.
    pub const ALL: &[Self] = &[Self::Order, Self::Ticket, Self::Delivery, Self::PaymentIntent];

    /// The type's last segment.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Order => "Order",
            Self::Ticket => "Ticket",
            Self::Delivery => "Delivery",
            Self::PaymentIntent => "PaymentIntent",
        }
    }

    /// Whether a short name or a Java class name is that of this type.
    pub(crate) fn is_named(self, name: &str) -> bool {
        last_segment(name) == self.name()
    }
}

impl fmt::Display for AggregateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One event: something that happened to one order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Names it, and says when it happened.
    pub id: EventId,
    /// Which aggregate instance published it.
    pub aggregate_id: AggregateId,
    /// What happened.
    pub payload: Payload,
}

impl Event {
    /// The order it happened to.
    #[must_use]
    pub fn order_id(&self) -> OrderId {
        OrderId::of(self)
    }

    /// When it happened: never a time of our own, so that a replay gives the same view.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.id.time()
    }

    /// What happened.
    #[must_use]
    pub fn event_type(&self) -> EventType {
        self.payload.event_type()
    }
}
