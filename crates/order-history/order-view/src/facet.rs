//! The facets of an order: small groups of attributes. An event always writes a whole facet.

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

        /// The parts of an order's item.
        pub const VIEW: View = View {
            key: "orderId",
            facets: &[$(Shape::of::<$type>()),*],
            sets: &[TIMELINE, REVISIONS],
            marks: &AGGREGATES,
        };

        /// The attributes that a list shows or filters on, besides the order's id. The index contains only these attributes,
        /// so that other writes do not update it.
        pub fn listed() -> impl Iterator<Item = &'static str> {
            let facets = [$((<$type>::ATTRIBUTES, facets!(@is_listed $listed))),*];
            let facets = facets.into_iter().filter(|(_, listed)| *listed).flat_map(|(attributes, _)| attributes.iter().copied());
            facets.chain([REVISIONS])
        }

        /// The view of an order whose `OrderCreated` was processed. In a list, attributes that are not [`listed`] are missing.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct OrderView {
            /// The order.
            pub order_id: OrderId,
            /// The consumer who ordered. Known even if the details cannot be read.
            pub consumer_id: ConsumerId,
            /// The time when the order was created. Known even if the details cannot be read.
            pub order_creation_time: Timestamp,
            /// The words for a search. Known even if the details cannot be read.
            pub keywords: BTreeSet<String>,
            $($(#[$doc])* pub $name: Option<$type>,)*
            /// The events of the order, sorted by event id.
            pub timeline: BTreeSet<TimelineEntry>,
            /// The revisions, sorted by event id.
            pub revisions: BTreeSet<Revision>,
            /// The attributes that were left out because this version cannot read them.
            pub unreadable: BTreeSet<Unreadable>,
        }

        impl OrderView {
            /// The order in an item; none before its `OrderCreated`. Unreadable attributes are left out and named in `unreadable`.
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
                    // A newer version may have more event types: their entries are skipped.
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
    /// The consumer, the restaurant and the ordered items.
    details: Details under "wd", listed
        [CONSUMER_ID, ORDER_CREATION_TIME, "restaurantId", "restaurantName", "lineItems", KEYWORDS] with sets [KEYWORDS];
    /// The status of the order.
    state: OrderStatus under "ws", listed [STATUS];
    /// The total of the order.
    total: Total under "wt", listed ["orderTotal"];
    /// The address and the requested time of delivery.
    address: Address under "wa", unlisted ["deliveryAddress", "deliveryTime"];
    /// The status of the kitchen's work.
    ticket: TicketStatus under "wk", listed ["ticket"];
    /// The time that the kitchen promised.
    promise: Promise under "wr", listed ["readyBy"];
    /// The status of the delivery.
    delivery: DeliveryStatus under "wv", listed ["delivery"];
    /// The courier and the estimated times.
    schedule: Schedule under "wc", listed ["schedule"];
    /// The last known location of the courier.
    location: Location under "wl", unlisted ["location"];
    /// The status of the payment.
    payment: Payment under "wp", listed ["payment"];
}

/// The set of [`TimelineEntry`]s.
pub const TIMELINE: &str = "timeline";
/// The set of [`Revision`]s. A list shows the revised quantities.
pub const REVISIONS: &str = "revisions";
/// The consumer who ordered: a key of the index.
pub const CONSUMER_ID: &str = "consumerId";
/// The time when the order was created, in milliseconds since 1970: a key of the index.
pub const ORDER_CREATION_TIME: &str = "orderCreationTime";
/// Lists can be filtered by it.
pub const STATUS: &str = "status";
/// Lists can be filtered by it.
pub const KEYWORDS: &str = "keywords";

/// The last event of each aggregate is stored in an attribute such as `Delivery3949384394-039434903`.
const AGGREGATES: [&str; AggregateType::ALL.len()] = {
    let mut names = [""; AggregateType::ALL.len()];
    let mut place = 0;
    while place < names.len() {
        names[place] = AggregateType::ALL[place].name();
        place += 1;
    }
    names
};

/// The consumer, the restaurant and the ordered items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // The names are clear.
pub struct Details {
    pub consumer_id: ConsumerId,
    #[serde(with = "order_events::millis")]
    pub order_creation_time: Timestamp,
    pub restaurant_id: u64,
    pub restaurant_name: String,
    /// With the original quantities. See [`OrderView::line_items`] for the revised ones.
    pub line_items: Vec<LineItem>,
    pub keywords: BTreeSet<String>,
}

/// The total of the order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Total(pub Money);

/// The address and the requested time of delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Address {
    /// None if the order was created without an address.
    pub delivery_address: Option<PostalAddress>,
    /// The time that the consumer requested.
    pub delivery_time: Option<Timestamp>,
}

/// The time when the food should be ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(inline))]
pub struct Promise(pub Timestamp);

/// The courier and the estimated times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// The courier's id.
    pub courier_id: CourierId,
    /// The estimated time of the courier's arrival at the restaurant, in UTC.
    pub estimated_pickup_time: Timestamp,
    /// The estimated time of delivery, in UTC.
    pub estimated_delivery_time: Timestamp,
}

/// The last known location of the courier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Location {
    /// Degrees north.
    pub latitude: Latitude,
    /// Degrees east.
    pub longitude: Longitude,
    /// The time, in UTC.
    pub at: Timestamp,
}

/// The payment of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Payment {
    /// The status of the payment.
    pub status: PaymentStatus,
    /// The id of the payment intent.
    pub payment_intent_id: AggregateId,
    /// The amount in the currency's minor units, such as cents.
    pub amount: i64,
    /// The currency (ISO 4217), such as `USD`.
    pub currency: String,
    /// The payment gateway's id of the charge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge_id: Option<String>,
    /// Why the charge failed, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Why the charge failed, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
}
