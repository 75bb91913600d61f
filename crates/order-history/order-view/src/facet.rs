//! The facets of an order: small groups of attributes, each always written whole by one event.

use std::collections::BTreeSet;

use order_events::payload::{Address as PostalAddress, LineItem};
use order_events::{AggregateId, AggregateType, ConsumerId, CourierId, Latitude, Longitude, Money, OrderId, Timestamp};
use projection::{Facet, Found, Shape, Unreadable, View};
use serde::{Deserialize, Serialize};

use crate::set::{Revision, TimelineEntry};
use crate::status::{DeliveryStatus, OrderStatus, PaymentStatus, TicketStatus};

macro_rules! facets {
    (@is_listed listed) => { true };
    (@is_listed unlisted) => { false };
    ($($(#[$doc:meta])* $name:ident: $type:ident under $watermark:literal,
        $listed:ident [$($attribute:expr),*] $(with sets [$($set:expr),*])?;)*) => {
        $(impl Facet for $type {
            const WATERMARK: &'static str = $watermark;
            const ATTRIBUTES: &'static [&'static str] = &[$($attribute),*];
            $(const TEXT_SETS: &'static [&'static str] = &[$($set),*];)?
        })*

        /// What an order's item is made of.
        pub const VIEW: View = View {
            key: "orderId",
            facets: &[$(Shape::of::<$type>()),*],
            sets: &[TIMELINE, REVISIONS],
            marks: &AGGREGATES,
        };

        /// What a list shows of an order, and filters on, beside the order's id. The index has these attributes and no others,
        /// so that writing the others does not touch it.
        pub fn listed() -> impl Iterator<Item = &'static str> {
            let facets = [$((<$type>::ATTRIBUTES, facets!(@is_listed $listed))),*];
            let facets = facets.into_iter().filter(|(_, listed)| *listed).flat_map(|(attributes, _)| attributes.iter().copied());
            facets.chain([REVISIONS])
        }

        /// All that is known of an order, once its `OrderCreated` has come. In a list, what is not [`listed`] is missing.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct OrderView {
            /// The order.
            pub order_id: OrderId,
            /// Who ordered; known even if the details cannot be read.
            pub consumer_id: ConsumerId,
            /// When the order was made; known even if the details cannot be read.
            pub order_creation_time: Timestamp,
            /// The words one can find the order by; known even if the details cannot be read.
            pub keywords: BTreeSet<String>,
            $($(#[$doc])* pub $name: Option<$type>,)*
            /// What happened, in the order of the events' ids.
            pub timeline: BTreeSet<TimelineEntry>,
            /// The revisions made, in the order of the events' ids.
            pub revisions: BTreeSet<Revision>,
            /// What of the item is left out, because this version cannot read it.
            pub unreadable: BTreeSet<Unreadable>,
        }

        impl OrderView {
            /// The order in an item; none before its `OrderCreated` has come. What cannot be read is left out and named.
            #[must_use]
            pub fn of(order_id: OrderId, Found { state, mut unreadable }: Found) -> Option<Self> {
                if state.set(REVISIONS).any(|text| Revision::parse(text).is_none()) {
                    unreadable.push(Unreadable { attribute: REVISIONS.to_owned() });
                }
                let created = state.attribute(Details::WATERMARK, ORDER_CREATION_TIME).and_then(Timestamp::from_millis);
                Some(Self {
                    order_id,
                    consumer_id: state.attribute(Details::WATERMARK, CONSUMER_ID)?,
                    order_creation_time: created?,
                    keywords: state.attribute(Details::WATERMARK, KEYWORDS).unwrap_or_default(),
                    $($name: state.facet().unwrap_or_else(|error| { unreadable.push(error); None }),)*
                    // A newer version may know more kinds of events: their entries are left alone.
                    timeline: state.set(TIMELINE).filter_map(TimelineEntry::parse).collect(),
                    revisions: state.set(REVISIONS).filter_map(Revision::parse).collect(),
                    unreadable: unreadable.into_iter().collect(),
                })
            }
        }
    };
}

// Each row: the facet's name, its type, its watermark, whether a list shows it, its attributes.
facets! {
    /// What was ordered, by whom, where.
    details: Details under "wd", listed
        [CONSUMER_ID, ORDER_CREATION_TIME, "restaurantId", "restaurantName", "lineItems", KEYWORDS] with sets [KEYWORDS];
    /// Where the order stands.
    state: OrderStatus under "ws", listed [STATUS];
    /// What the order costs.
    total: Total under "wt", listed ["orderTotal"];
    /// Where and when the order should be delivered.
    address: Address under "wa", unlisted ["deliveryAddress", "deliveryTime"];
    /// Where the kitchen stands.
    ticket: TicketStatus under "wk", listed ["ticket"];
    /// What the kitchen promised.
    promise: Promise under "wr", listed ["readyBy"];
    /// Where the delivery stands.
    delivery: DeliveryStatus under "wv", listed ["delivery"];
    /// Who delivers, and when.
    schedule: Schedule under "wc", listed ["schedule"];
    /// Where the courier was seen last.
    location: Location under "wl", unlisted ["location"];
    /// Where the payment stands.
    payment: Payment under "wp", listed ["payment"];
}

/// The set of [`TimelineEntry`]s.
pub const TIMELINE: &str = "timeline";
/// The set of [`Revision`]s. A list shows the revised quantities.
pub const REVISIONS: &str = "revisions";
/// Whose order it is: a key of the index.
pub const CONSUMER_ID: &str = "consumerId";
/// When the order was made, in milliseconds since 1970: a key of the index.
pub const ORDER_CREATION_TIME: &str = "orderCreationTime";
/// Lists filter on it.
pub const STATUS: &str = "status";
/// Lists filter on it.
pub const KEYWORDS: &str = "keywords";

/// Every aggregate type tracks its instances, under attributes such as `Delivery3949384394-039434903`.
const AGGREGATES: [&str; AggregateType::ALL.len()] = {
    let mut names = [""; AggregateType::ALL.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = AggregateType::ALL[place].name();
        place += 1;
    }
    names
};

/// What was ordered, by whom, where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // They are what they say.
pub struct Details {
    pub consumer_id: ConsumerId,
    #[serde(with = "order_events::millis")]
    pub order_creation_time: Timestamp,
    pub restaurant_id: u64,
    pub restaurant_name: String,
    /// With the quantities first ordered; see [`OrderView::line_items`] for the revised ones.
    pub line_items: Vec<LineItem>,
    pub keywords: BTreeSet<String>,
}

/// What the order costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Total(pub Money);

/// Where and when the order should be delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// Where; none if the order was made without an address.
    pub delivery_address: Option<PostalAddress>,
    /// When the consumer wants it.
    pub delivery_time: Option<Timestamp>,
}

/// By when the kitchen promised to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Promise(pub Timestamp);

/// Who delivers, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// The courier's id.
    pub courier_id: CourierId,
    /// When the courier should be at the restaurant, in UTC.
    pub estimated_pickup_time: Timestamp,
    /// When the courier should be at the consumer's, in UTC.
    pub estimated_delivery_time: Timestamp,
}

/// Where the courier was seen last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Location {
    /// Degrees north.
    pub latitude: Latitude,
    /// Degrees east.
    pub longitude: Longitude,
    /// When, in UTC.
    pub at: Timestamp,
}

/// Where the payment stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Payment {
    /// Where the payment stands.
    pub status: PaymentStatus,
    /// The payment intent that says so.
    pub payment_intent_id: AggregateId,
    /// In minor units: cents.
    pub amount: i64,
    /// Such as `USD`.
    pub currency: String,
    /// The payment provider's name for the charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge_id: Option<String>,
    /// Why it failed, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Why it failed, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}
