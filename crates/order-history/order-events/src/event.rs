//! The event types: one table with the publisher and the payload of each.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::json::{JsonFault, read_json};
use crate::payload::{
    DeliveryLocationUpdated, DeliveryScheduled, Nothing, OrderCreated, OrderReference, OrderRevised,
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
            /// Every event type.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The short name. It is also the name of its Lambda's handler, and part of its queue's name.
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

            /// The aggregate that publishes it.
            #[must_use]
            pub fn aggregate(self) -> AggregateType {
                match self {
                    $(Self::$name => AggregateType::$aggregate,)*
                }
            }

            /// Where an order's view records the event.
            #[must_use]
            pub fn record(self) -> Record {
                match self {
                    $(Self::$name => Record::$record,)*
                }
            }
        }

        /// The type of an event and its data.
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
            /// The text of the order's id, without a copy.
            #[must_use]
            #[allow(unused_variables)] // If the aggregate id is the order id, the payload is not used.
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
    /// The order was authorized.
    OrderAuthorized by Order carries Nothing, order in aggregate, kept in Timeline;
    /// The order was rejected.
    OrderRejected by Order carries Nothing, order in aggregate, kept in Timeline;
    /// The consumer cancelled the order.
    OrderCancelled by Order carries Nothing, order in aggregate, kept in Timeline;
    /// A revision was proposed, and is being checked.
    OrderRevisionProposed by Order carries OrderRevised, order in aggregate, kept in Timeline;
    /// A revision was made.
    OrderRevised by Order carries OrderRevised, order in aggregate, kept in Timeline;
    /// A ticket was created for the restaurant.
    TicketCreated by Ticket carries Nothing, order in aggregate, kept in Timeline;
    /// The restaurant accepted the ticket.
    TicketAccepted by Ticket carries TicketAccepted, order in aggregate, kept in Timeline;
    /// The restaurant started to prepare the food.
    TicketPreparationStarted by Ticket carries Nothing, order in aggregate, kept in Timeline;
    /// The food is ready.
    TicketPreparationCompleted by Ticket carries Nothing, order in aggregate, kept in Timeline;
    /// The courier picked the food up.
    TicketPickedUp by Ticket carries Nothing, order in aggregate, kept in Timeline;
    /// The ticket was cancelled.
    TicketCancelled by Ticket carries Nothing, order in aggregate, kept in Timeline;
    /// A courier was assigned.
    DeliveryScheduled by Delivery carries DeliveryScheduled, order in payload, kept in Timeline;
    /// The courier is on the way to the consumer.
    DeliveryPickedUp by Delivery carries OrderReference, order in payload, kept in Timeline;
    /// The courier moved.
    DeliveryLocationUpdated by Delivery carries DeliveryLocationUpdated, order in payload, kept in Location;
    /// The order was delivered.
    DeliveryDelivered by Delivery carries OrderReference, order in payload, kept in Timeline;
    /// A charge was requested.
    PaymentIntentChargeRequested by PaymentIntent carries PaymentIntentChargeRequested, order in payload, kept in Timeline;
    /// The charge was made.
    PaymentIntentCharged by PaymentIntent carries PaymentIntentCharged, order in payload, kept in Timeline;
    /// The charge failed.
    PaymentIntentChargeFailed by PaymentIntent carries PaymentIntentChargeFailed, order in payload, kept in Timeline;
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for EventType {
    type Err = UnknownEventType;

    /// Reads a short name or a Java class name. Only the last segment is used, without a trailing `Event`.
    fn from_str(name: &str) -> Result<Self, UnknownEventType> {
        let name = last_segment(name);
        let name = name.strip_suffix("Event").unwrap_or(name);
        Self::named(name).ok_or(UnknownEventType)
    }
}

/// The name is not a known event type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownEventType;

impl fmt::Display for UnknownEventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be one of ")?;
        for (place, event_type) in EventType::ALL.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{event_type}")?;
        }
        f.write_str(", or a Java class name that ends with one of these")
    }
}

impl std::error::Error for UnknownEventType {}

/// The short name of a Java class: the text after the last dot or dollar sign.
fn last_segment(name: &str) -> &str {
    let separator = name.bytes().rposition(|byte| byte == b'.' || byte == b'$');
    separator.map_or(name, |place| &name[place + 1..])
}

/// Where an order's view records an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    /// In an entry of the timeline.
    Timeline,
    /// In the watermark of the courier's location. The timeline does not contain moves, because there are too many.
    Location,
}

/// The aggregates that publish events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AggregateType {
    /// Published by the Order service.
    Order,
    /// Published by the Kitchen service. Its id is the order's id.
    Ticket,
    /// Published by the Delivery service.
    Delivery,
    /// Published by the Payment service.
    PaymentIntent,
}

impl AggregateType {
    /// Every aggregate type.
    pub const ALL: &[Self] = &[Self::Order, Self::Ticket, Self::Delivery, Self::PaymentIntent];

    /// The short name: the last segment of the Java class name.
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

/// One event of one order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The id, which contains the time of the event.
    pub id: EventId,
    /// The id of the aggregate that published it.
    pub aggregate_id: AggregateId,
    /// What happened.
    pub payload: Payload,
}

impl Event {
    /// The order that the event belongs to.
    #[must_use]
    pub fn order_id(&self) -> OrderId {
        OrderId::of(self)
    }

    /// The time of the event, from its id. No clock is used, so that a replay makes the same view.
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
