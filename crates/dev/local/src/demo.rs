//! A few consumers and their orders, made a moment ago.

use order_events::payload::{
    Address, DeliveryLocationUpdated, DeliveryScheduled, LineItem, Nothing, OrderCreated, OrderDetails, OrderRevised,
    OrderRevision, PaymentIntentChargeFailed, PaymentIntentChargeRequested, PaymentIntentCharged, RevisedLineItem,
    TicketAccepted,
};
use order_events::{Event, EventType, Invalid, Payload, Timestamp};
use serde_json::json;

/// The consumer whom the printed commands ask for.
pub(crate) const CONSUMER: &str = "1511300065921";

/// An order under way; the examples of the API's document ask for it.
pub(crate) const ORDER: &str = "99";

/// The events of the demo, in no particular order: the view does not care.
pub(crate) fn events(now: Timestamp) -> Result<Vec<Event>, Invalid> {
    let mut events = Vec::new();
    let mut first = Telling { order_id: ORDER, minutes_ago: 40, now, events: &mut events };
    first.created(CONSUMER, "Ajanta", &[("Chicken Vindaloo", "12.34", 2), ("Garlic Naan", "3.50", 1)], "28.18")?;
    first.paid(2_818)?;
    first.tell(ORDER, Payload::OrderAuthorized(Nothing {}))?;
    first.tell(ORDER, Payload::TicketCreated(Nothing {}))?;
    let ready_by = first.minutes_from_now(5)?;
    first.tell(ORDER, Payload::TicketAccepted(TicketAccepted { ready_by }))?;
    first.revised(3, "40.52")?;
    first.tell(ORDER, Payload::TicketPreparationStarted(Nothing {}))?;
    first.delivery()?;

    let mut second = Telling { order_id: "100", minutes_ago: 24 * 60, now, events: &mut events };
    second.created(CONSUMER, "Zur Goldenen Krone", &[("Crème brûlée", "6.50", 1)], "6.50")?;
    second.refused(650)?;
    second.tell("100", Payload::OrderRejected(Nothing {}))?;

    let mut third = Telling { order_id: "101", minutes_ago: 3, now, events: &mut events };
    third.created("42", "Ajanta", &[("Gobhi Bhaji", "9.95", 1)], "9.95")?;
    Ok(events)
}

/// What could happen next to [`ORDER`]: an event's type, and the shortest message that tells it.
pub(crate) fn next_message(now: Timestamp) -> (EventType, String) {
    let event_type = EventType::TicketPreparationCompleted;
    let message = json!({
        "payload": "{}",
        "headers": {
            "ID": format!("{:016x}-{:016x}", now.as_millis(), 0),
            "event-type": event_type.name(),
            "event-aggregate-type": event_type.aggregate().name(),
            "event-aggregate-id": ORDER,
        },
    });
    (event_type, message.to_string())
}

/// Tells the events of one order, a minute after each other.
struct Telling<'a> {
    order_id: &'static str,
    minutes_ago: i64,
    now: Timestamp,
    events: &'a mut Vec<Event>,
}

impl Telling<'_> {
    fn created(
        &mut self,
        consumer_id: &str,
        restaurant_name: &str,
        items: &[(&str, &str, u32)],
        order_total: &str,
    ) -> Result<(), Invalid> {
        let line_items = items.iter().zip(1..).map(|((name, price, quantity), n)| {
            let (menu_item_id, name) = (n.to_string(), (*name).to_owned());
            Ok(LineItem { menu_item_id, name, price: price.parse()?, quantity: *quantity })
        });
        let order_details = OrderDetails {
            consumer_id: consumer_id.parse()?,
            restaurant_id: 1,
            order_total: order_total.parse()?,
            line_items: line_items.collect::<Result<_, Invalid>>()?,
        };
        let address = Address {
            street1: Some("9 Amazing View".to_owned()),
            city: Some("Oakland".to_owned()),
            state: Some("CA".to_owned()),
            zip: Some("94612".to_owned()),
            ..Address::default()
        };
        let restaurant_name = restaurant_name.to_owned();
        let created = OrderCreated { order_details, delivery_address: Some(address), restaurant_name };
        self.tell(self.order_id, Payload::OrderCreated(created))
    }

    fn paid(&mut self, amount: i64) -> Result<(), Invalid> {
        let (order_id, currency) = (self.order_id.parse()?, "USD".to_owned());
        let requested = PaymentIntentChargeRequested { order_id, amount, currency };
        self.tell("pi-1", Payload::PaymentIntentChargeRequested(requested))?;
        let (order_id, currency, charge_id) = (self.order_id.parse()?, "USD".to_owned(), "ch-1".to_owned());
        let charged = PaymentIntentCharged { order_id, amount, currency, charge_id };
        self.tell("pi-1", Payload::PaymentIntentCharged(charged))
    }

    fn refused(&mut self, amount: i64) -> Result<(), Invalid> {
        let failed = PaymentIntentChargeFailed {
            order_id: self.order_id.parse()?,
            amount,
            currency: "USD".to_owned(),
            charge_id: None,
            error_code: "card_declined".to_owned(),
            error_message: Some("Your card was declined.".to_owned()),
        };
        self.tell("pi-2", Payload::PaymentIntentChargeFailed(failed))
    }

    fn revised(&mut self, quantity: u32, new_order_total: &str) -> Result<(), Invalid> {
        let revised = vec![RevisedLineItem { menu_item_id: "1".to_owned(), quantity }];
        let revision = OrderRevised {
            order_revision: OrderRevision { delivery_information: None, revised_order_line_items: revised },
            current_order_total: "28.18".parse()?,
            new_order_total: new_order_total.parse()?,
        };
        self.tell(self.order_id, Payload::OrderRevised(revision))
    }

    fn delivery(&mut self) -> Result<(), Invalid> {
        let scheduled = DeliveryScheduled {
            order_id: self.order_id.parse()?,
            courier_id: "7".parse()?,
            estimated_pickup_time: self.minutes_from_now(6)?,
            estimated_delivery_time: self.minutes_from_now(25)?,
        };
        self.tell("delivery-1", Payload::DeliveryScheduled(scheduled))?;
        let order_id = self.order_id.parse()?;
        let moved = DeliveryLocationUpdated { order_id, latitude: "37.8044".parse()?, longitude: "-122.2712".parse()? };
        self.tell("delivery-1", Payload::DeliveryLocationUpdated(moved))
    }

    fn tell(&mut self, aggregate_id: &str, payload: Payload) -> Result<(), Invalid> {
        let at = self.minutes_from_now(-self.minutes_ago)?;
        self.minutes_ago -= 1;
        let number = self.events.len();
        let id = format!("{:016x}-{number:016x}", at.as_millis()).parse()?;
        self.events.push(Event { id, aggregate_id: aggregate_id.parse()?, payload });
        Ok(())
    }

    fn minutes_from_now(&self, minutes: i64) -> Result<Timestamp, Invalid> {
        Timestamp::from_millis(self.now.as_millis() + minutes * 60_000).ok_or(Invalid::Timestamp)
    }
}
