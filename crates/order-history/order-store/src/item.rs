//! A facet as attributes, and an item back as a view.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;
use order_events::payload::{Address as PostalAddress, LineItem};
use order_events::{AggregateId, AggregateType, EventId, OrderId, Timestamp};
use order_view::{
    Address, Aggregate, Details, Facet, FacetKind, Location, OrderSummary, OrderView, Payment, Piece, Promise,
    Schedule, Stamped,
};

use crate::attribute::{self, member};
use crate::error::Corrupt;
use crate::history::Position;

/// An item as the SDK has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// What a facet writes: every attribute it owns, `None` for those it leaves without a value.
pub(crate) fn facet_attributes(facet: &Facet) -> Vec<(&'static str, Option<AttributeValue>)> {
    match facet {
        Facet::Details(details) => vec![
            (attribute::CONSUMER_ID, Some(text(&details.consumer_id))),
            (attribute::ORDER_CREATION_TIME, Some(number(details.order_creation_time.as_millis()))),
            (attribute::RESTAURANT_ID, Some(number(details.restaurant_id))),
            (attribute::RESTAURANT_NAME, Some(text(&details.restaurant_name))),
            (attribute::LINE_ITEMS, Some(line_items(&details.line_items))),
            (attribute::KEYWORDS, text_set(&details.keywords)),
        ],
        Facet::State(status) => vec![(attribute::STATUS, Some(text(status)))],
        Facet::Total(total) => vec![(attribute::ORDER_TOTAL, Some(text(total)))],
        Facet::Address(address) => vec![
            (attribute::DELIVERY_ADDRESS, Some(postal_address(&address.delivery_address))),
            (attribute::DELIVERY_TIME, address.delivery_time.as_ref().map(text)),
        ],
        Facet::Ticket(status) => vec![(attribute::TICKET, Some(text(status)))],
        Facet::Promise(promise) => vec![(attribute::READY_BY, Some(text(promise.ready_by)))],
        Facet::Delivery(status) => vec![(attribute::DELIVERY, Some(text(status)))],
        Facet::Schedule(schedule) => vec![(
            attribute::SCHEDULE,
            Some(map([
                (member::COURIER_ID, Some(text(&schedule.courier_id))),
                (member::ESTIMATED_PICKUP_TIME, Some(text(schedule.estimated_pickup_time))),
                (member::ESTIMATED_DELIVERY_TIME, Some(text(schedule.estimated_delivery_time))),
            ])),
        )],
        Facet::Location(location) => vec![(
            attribute::LOCATION,
            Some(map([
                (member::LATITUDE, Some(number(location.latitude))),
                (member::LONGITUDE, Some(number(location.longitude))),
                (member::AT, Some(text(location.at))),
            ])),
        )],
        Facet::Payment(payment) => vec![(
            attribute::PAYMENT,
            Some(map([
                (member::STATUS, Some(text(payment.status))),
                (member::PAYMENT_INTENT_ID, Some(text(&payment.payment_intent_id))),
                (member::AMOUNT, Some(number(payment.amount))),
                (member::CURRENCY, Some(text(&payment.currency))),
                (member::CHARGE_ID, payment.charge_id.as_ref().map(text)),
                (member::ERROR_CODE, payment.error_code.as_ref().map(text)),
                (member::ERROR_MESSAGE, payment.error_message.as_ref().map(text)),
            ])),
        )],
    }
}

fn line_items(items: &[LineItem]) -> AttributeValue {
    let items = items.iter().map(|item| {
        map([
            (member::MENU_ITEM_ID, Some(text(&item.menu_item_id))),
            (member::NAME, Some(text(&item.name))),
            (member::PRICE, Some(text(&item.price))),
            (member::QUANTITY, Some(number(item.quantity))),
        ])
    });
    AttributeValue::L(items.collect())
}

fn postal_address(address: &PostalAddress) -> AttributeValue {
    map([
        (member::STREET1, address.street1.as_ref().map(text)),
        (member::STREET2, address.street2.as_ref().map(text)),
        (member::CITY, address.city.as_ref().map(text)),
        (member::STATE, address.state.as_ref().map(text)),
        (member::ZIP, address.zip.as_ref().map(text)),
    ])
}

fn text(value: impl Display) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

fn number(value: impl Display) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

/// DynamoDB has no empty sets.
fn text_set(elements: &BTreeSet<String>) -> Option<AttributeValue> {
    (!elements.is_empty()).then(|| AttributeValue::Ss(elements.iter().cloned().collect()))
}

fn map<const N: usize>(members: [(&str, Option<AttributeValue>); N]) -> AttributeValue {
    let members = members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    AttributeValue::M(members.collect())
}

/// Whether `piece`, written by event `by`, would add something to this item: the question of
/// [`OrderView::is_news`], asked of what it turns on and nothing else, so that whatever a newer version may have written
/// beside it is no hindrance.
pub(crate) fn is_news(item: &Item, by: EventId, piece: &Piece) -> Result<bool, Corrupt> {
    let item = Attributes(item);
    match piece {
        Piece::Tracking(aggregate) => item.is_below(&attribute::tracking(aggregate), by),
        Piece::Facet(facet) => item.is_below(attribute::watermark(facet.kind()), by),
        Piece::Timeline(entry) => item.lacks(attribute::TIMELINE, &entry.to_string()),
        Piece::Revision(revision) => item.lacks(attribute::REVISIONS, &revision.to_string()),
    }
}

/// Reads a whole item back. Attributes, and entries of the timeline, that we do not know are left alone: a newer version
/// may have written them.
pub(crate) fn read_view(item: &Item) -> Result<OrderView, Corrupt> {
    let order_id: OrderId = Attributes(item).parse(attribute::ORDER_ID)?;
    let read = Attributes(item);
    Ok(OrderView {
        order_id,
        details: read.facet(FacetKind::Details, read_details)?,
        state: read.facet(FacetKind::State, |item| item.parse(attribute::STATUS))?,
        total: read.facet(FacetKind::Total, |item| item.parse(attribute::ORDER_TOTAL))?,
        address: read.facet(FacetKind::Address, read_address)?,
        ticket: read.facet(FacetKind::Ticket, |item| item.parse(attribute::TICKET))?,
        promise: read.facet(FacetKind::Promise, |item| Ok(Promise { ready_by: item.parse(attribute::READY_BY)? }))?,
        delivery: read.facet(FacetKind::Delivery, |item| item.parse(attribute::DELIVERY))?,
        schedule: read.facet(FacetKind::Schedule, read_schedule)?,
        location: read.facet(FacetKind::Location, read_location)?,
        payment: read.facet(FacetKind::Payment, read_payment)?,
        timeline: read.known_elements(attribute::TIMELINE)?,
        revisions: read.elements(attribute::REVISIONS)?,
        tracking: read_tracking(item)?,
    })
}

/// Reads what the index projects: no watermarks, so a facet is there if its attribute is.
pub(crate) fn read_summary(item: &Item) -> Result<OrderSummary, Corrupt> {
    let read = Attributes(item);
    Ok(OrderSummary {
        order_id: read.parse(attribute::ORDER_ID)?,
        details: read_details(&read)?,
        status: read.parse_if_there(attribute::STATUS)?,
        total: read.parse_if_there(attribute::ORDER_TOTAL)?,
        ticket: read.parse_if_there(attribute::TICKET)?,
        promise: read.parse_if_there(attribute::READY_BY)?.map(|ready_by| Promise { ready_by }),
        delivery: read.parse_if_there(attribute::DELIVERY)?,
        schedule: read.read_if_there(attribute::SCHEDULE, read_schedule)?,
        payment: read.read_if_there(attribute::PAYMENT, read_payment)?,
        revisions: read.elements(attribute::REVISIONS)?,
    })
}

/// Reads the key of an item of the index.
pub(crate) fn read_position(key: &Item) -> Result<Position, Corrupt> {
    let key = Attributes(key);
    Ok(Position { order_id: key.parse(attribute::ORDER_ID)?, order_creation_time: read_creation_time(&key)? })
}

fn read_creation_time(item: &Attributes) -> Result<Timestamp, Corrupt> {
    let millis: i64 = item.parse(attribute::ORDER_CREATION_TIME)?;
    Timestamp::from_millis(millis).ok_or_else(|| Corrupt::new(attribute::ORDER_CREATION_TIME))
}

fn read_details(item: &Attributes) -> Result<Details, Corrupt> {
    let AttributeValue::L(lines) = item.get(attribute::LINE_ITEMS)? else {
        return Err(Corrupt::new(attribute::LINE_ITEMS));
    };
    Ok(Details {
        consumer_id: item.parse(attribute::CONSUMER_ID)?,
        order_creation_time: read_creation_time(item)?,
        restaurant_id: item.parse(attribute::RESTAURANT_ID)?,
        restaurant_name: item.parse(attribute::RESTAURANT_NAME)?,
        line_items: lines.iter().map(read_line_item).collect::<Result<_, _>>()?,
        keywords: item.elements(attribute::KEYWORDS)?,
    })
}

fn read_line_item(value: &AttributeValue) -> Result<LineItem, Corrupt> {
    let line = Attributes::of(value).ok_or_else(|| Corrupt::new(attribute::LINE_ITEMS))?;
    Ok(LineItem {
        menu_item_id: line.parse(member::MENU_ITEM_ID)?,
        name: line.parse(member::NAME)?,
        price: line.parse(member::PRICE)?,
        quantity: line.parse(member::QUANTITY)?,
    })
}

fn read_address(item: &Attributes) -> Result<Address, Corrupt> {
    let address = item.members(attribute::DELIVERY_ADDRESS)?;
    Ok(Address {
        delivery_address: PostalAddress {
            street1: address.parse_if_there(member::STREET1)?,
            street2: address.parse_if_there(member::STREET2)?,
            city: address.parse_if_there(member::CITY)?,
            state: address.parse_if_there(member::STATE)?,
            zip: address.parse_if_there(member::ZIP)?,
        },
        delivery_time: item.parse_if_there(attribute::DELIVERY_TIME)?,
    })
}

fn read_schedule(item: &Attributes) -> Result<Schedule, Corrupt> {
    let schedule = item.members(attribute::SCHEDULE)?;
    Ok(Schedule {
        courier_id: schedule.parse(member::COURIER_ID)?,
        estimated_pickup_time: schedule.parse(member::ESTIMATED_PICKUP_TIME)?,
        estimated_delivery_time: schedule.parse(member::ESTIMATED_DELIVERY_TIME)?,
    })
}

fn read_location(item: &Attributes) -> Result<Location, Corrupt> {
    let location = item.members(attribute::LOCATION)?;
    Ok(Location {
        latitude: location.parse(member::LATITUDE)?,
        longitude: location.parse(member::LONGITUDE)?,
        at: location.parse(member::AT)?,
    })
}

fn read_payment(item: &Attributes) -> Result<Payment, Corrupt> {
    let payment = item.members(attribute::PAYMENT)?;
    Ok(Payment {
        status: payment.parse(member::STATUS)?,
        payment_intent_id: payment.parse(member::PAYMENT_INTENT_ID)?,
        amount: payment.parse(member::AMOUNT)?,
        currency: payment.parse(member::CURRENCY)?,
        charge_id: payment.parse_if_there(member::CHARGE_ID)?,
        error_code: payment.parse_if_there(member::ERROR_CODE)?,
        error_message: payment.parse_if_there(member::ERROR_MESSAGE)?,
    })
}

/// No aggregate type's name begins another's, so at most one fits.
fn read_tracking(item: &Item) -> Result<BTreeMap<Aggregate, EventId>, Corrupt> {
    let mut tracking = BTreeMap::new();
    for name in item.keys() {
        for &aggregate_type in AggregateType::ALL {
            let Some(id) = name.strip_prefix(aggregate_type.name()) else {
                continue;
            };
            let id = AggregateId::parse(id).map_err(|_| Corrupt::new(name))?;
            let aggregate = Aggregate { aggregate_type, id };
            tracking.insert(aggregate, Attributes(item).parse(name)?);
        }
    }
    Ok(tracking)
}

/// An item, or a map within it, to be read member by member.
struct Attributes<'a>(&'a Item);

impl<'a> Attributes<'a> {
    fn of(value: &'a AttributeValue) -> Option<Self> {
        value.as_m().ok().map(Self)
    }

    fn members(&self, name: &str) -> Result<Self, Corrupt> {
        Self::of(self.get(name)?).ok_or_else(|| Corrupt::new(name))
    }

    /// A facet is there if its watermark is.
    fn facet<T>(
        &self,
        kind: FacetKind,
        read: impl FnOnce(&Self) -> Result<T, Corrupt>,
    ) -> Result<Option<Stamped<T>>, Corrupt> {
        match self.parse_if_there(attribute::watermark(kind))? {
            Some(by) => Ok(Some(Stamped { by, value: read(self)? })),
            None => Ok(None),
        }
    }

    fn is_below(&self, watermark: &str, id: EventId) -> Result<bool, Corrupt> {
        Ok(self.parse_if_there(watermark)?.is_none_or(|watermark: EventId| watermark < id))
    }

    fn lacks(&self, set: &str, element: &str) -> Result<bool, Corrupt> {
        Ok(!self.texts(set)?.iter().any(|stored| stored == element))
    }

    fn parse<T: FromStr>(&self, name: &str) -> Result<T, Corrupt> {
        match self.get(name)? {
            AttributeValue::S(text) | AttributeValue::N(text) => text.parse().ok(),
            _ => None,
        }
        .ok_or_else(|| Corrupt::new(name))
    }

    fn parse_if_there<T: FromStr>(&self, name: &str) -> Result<Option<T>, Corrupt> {
        self.0.contains_key(name).then(|| self.parse(name)).transpose()
    }

    fn read_if_there<T>(
        &self,
        name: &str,
        read: impl FnOnce(&Self) -> Result<T, Corrupt>,
    ) -> Result<Option<T>, Corrupt> {
        self.0.contains_key(name).then(|| read(self)).transpose()
    }

    /// The elements of a set, those that cannot be read left out.
    fn known_elements<T: FromStr + Ord>(&self, name: &str) -> Result<BTreeSet<T>, Corrupt> {
        Ok(self.texts(name)?.iter().filter_map(|element| element.parse().ok()).collect())
    }

    fn elements<T: FromStr + Ord>(&self, name: &str) -> Result<BTreeSet<T>, Corrupt> {
        self.texts(name)?.iter().map(|element| element.parse().map_err(|_| Corrupt::new(name))).collect()
    }

    fn texts(&self, name: &str) -> Result<&'a [String], Corrupt> {
        match self.0.get(name) {
            None => Ok(&[]),
            Some(set) => set.as_ss().map(Vec::as_slice).map_err(|_| Corrupt::new(name)),
        }
    }

    fn get(&self, name: &str) -> Result<&'a AttributeValue, Corrupt> {
        self.0.get(name).ok_or_else(|| Corrupt::new(name))
    }
}
