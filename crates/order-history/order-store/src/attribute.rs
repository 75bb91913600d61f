//! The attributes of an `ftgo-order-history` item. Names count as bytes of the item, so what is not shown is short.

use order_view::{Aggregate, FacetKind};

/// The key.
pub const ORDER_ID: &str = "orderId";

/// Details, written by `OrderCreated`. The first two are the index's keys.
pub const CONSUMER_ID: &str = "consumerId";
/// In milliseconds since 1970.
pub const ORDER_CREATION_TIME: &str = "orderCreationTime";
/// A number.
pub const RESTAURANT_ID: &str = "restaurantId";
/// The restaurant's name when the order was made.
pub const RESTAURANT_NAME: &str = "restaurantName";
/// A list of maps, with the quantities first ordered.
pub const LINE_ITEMS: &str = "lineItems";
/// A string set of case-folded words.
pub const KEYWORDS: &str = "keywords";

/// Where the order stands.
pub const STATUS: &str = "status";
/// A decimal text.
pub const ORDER_TOTAL: &str = "orderTotal";
/// A map.
pub const DELIVERY_ADDRESS: &str = "deliveryAddress";
/// When the consumer wants it.
pub const DELIVERY_TIME: &str = "deliveryTime";
/// Where the kitchen stands.
pub const TICKET: &str = "ticket";
/// By when the kitchen promised to be done.
pub const READY_BY: &str = "readyBy";
/// Where the delivery stands.
pub const DELIVERY: &str = "delivery";
/// A map: who delivers, and when.
pub const SCHEDULE: &str = "schedule";
/// A map: where the courier was seen last.
pub const LOCATION: &str = "location";
/// A map: where the payment stands.
pub const PAYMENT: &str = "payment";

/// A string set of `<eventId> <EventType> <time>`.
pub const TIMELINE: &str = "timeline";
/// A string set of `<eventId> <JSON>`.
pub const REVISIONS: &str = "revisions";

/// Members of the maps above.
pub mod member {
    #![allow(missing_docs)] // They are what they say.

    pub const MENU_ITEM_ID: &str = "menuItemId";
    pub const NAME: &str = "name";
    pub const PRICE: &str = "price";
    pub const QUANTITY: &str = "quantity";

    pub const STREET1: &str = "street1";
    pub const STREET2: &str = "street2";
    pub const CITY: &str = "city";
    pub const STATE: &str = "state";
    pub const ZIP: &str = "zip";

    pub const COURIER_ID: &str = "courierId";
    pub const ESTIMATED_PICKUP_TIME: &str = "estimatedPickupTime";
    pub const ESTIMATED_DELIVERY_TIME: &str = "estimatedDeliveryTime";

    pub const LATITUDE: &str = "latitude";
    pub const LONGITUDE: &str = "longitude";
    pub const AT: &str = "at";

    pub const STATUS: &str = "status";
    pub const PAYMENT_INTENT_ID: &str = "paymentIntentId";
    pub const AMOUNT: &str = "amount";
    pub const CURRENCY: &str = "currency";
    pub const CHARGE_ID: &str = "chargeId";
    pub const ERROR_CODE: &str = "errorCode";
    pub const ERROR_MESSAGE: &str = "errorMessage";
}

/// The watermark of a facet: the id of the event that wrote it.
#[must_use]
pub fn watermark(facet: FacetKind) -> &'static str {
    match facet {
        FacetKind::Details => "wd",
        FacetKind::State => "ws",
        FacetKind::Total => "wt",
        FacetKind::Address => "wa",
        FacetKind::Ticket => "wk",
        FacetKind::Promise => "wr",
        FacetKind::Delivery => "wv",
        FacetKind::Schedule => "wc",
        FacetKind::Location => "wl",
        FacetKind::Payment => "wp",
    }
}

/// The tracking attribute of an aggregate instance, such as `Delivery3949384394-039434903`.
///
/// It starts with a capital letter and no other attribute does, so that no id can reach another attribute.
#[must_use]
pub fn tracking(aggregate: &Aggregate) -> String {
    format!("{}{}", aggregate.aggregate_type, aggregate.id)
}
