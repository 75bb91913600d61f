//! The story: all events of one order, from all services.

use order_events::payload::{
    DeliveryInformation, DeliveryLocationUpdated, DeliveryScheduled, LineItem, Nothing, OrderCreated, OrderDetails,
    OrderReference, OrderRevised, OrderRevision, PaymentIntentChargeFailed, PaymentIntentCharged, RevisedLineItem,
    TicketAccepted,
};
use order_events::{AggregateType, Event, Invalid, OrderId, Payload, Timestamp};

use crate::console::publisher::event_id;
use crate::demo::{self, address};

const MINUTE: i64 = 60_000;

/// The length of the story, in minutes.
const LENGTH: i64 = 40;

/// The events of an order, in sequence. `number` makes the event ids of two orders different; the times in them are the same for every
/// order.
///
/// The payment has no intent in Payments, so that a shuffle moves no money. There is no `PaymentIntentChargeRequested`, because the
/// charge handler would look for the intent.
pub(super) fn story(order_id: &OrderId, number: u64, now: Timestamp) -> Result<Vec<Event>, Invalid> {
    let began = now.as_millis() - LENGTH * MINUTE;
    let minute = |minute: i64| Timestamp::from_millis(began + minute * MINUTE).ok_or(Invalid::Timestamp);
    let order = || order_id.clone();
    let of_order = || OrderReference { order_id: order() };
    let moved = |latitude: &str, longitude: &str| {
        let (latitude, longitude) = (latitude.parse()?, longitude.parse()?);
        Ok::<_, Invalid>(Payload::DeliveryLocationUpdated(DeliveryLocationUpdated {
            order_id: order(),
            latitude,
            longitude,
        }))
    };
    let currency = || "USD".to_owned();
    let payloads = [
        (0, Payload::OrderCreated(created()?)),
        (1, Payload::OrderAuthorized(Nothing {})),
        (2, Payload::TicketCreated(Nothing {})),
        (3, Payload::TicketAccepted(TicketAccepted { ready_by: minute(25)? })),
        (5, Payload::OrderRevisionProposed(revised(minute(35)?)?)),
        (6, Payload::OrderRevised(revised(minute(35)?)?)),
        (
            8,
            Payload::PaymentIntentChargeFailed(PaymentIntentChargeFailed {
                order_id: order(),
                amount: 4_052,
                currency: currency(),
                charge_id: None,
                error_code: "card_declined".to_owned(),
                error_message: Some("The card was declined.".to_owned()),
            }),
        ),
        (9, Payload::TicketPreparationStarted(Nothing {})),
        (
            10,
            Payload::PaymentIntentCharged(PaymentIntentCharged {
                order_id: order(),
                amount: 4_052,
                currency: currency(),
                charge_id: "ch_shuffle".to_owned(),
            }),
        ),
        (
            12,
            Payload::DeliveryScheduled(DeliveryScheduled {
                order_id: order(),
                courier_id: "7".parse()?,
                estimated_pickup_time: minute(25)?,
                estimated_delivery_time: minute(40)?,
            }),
        ),
        (22, Payload::TicketPreparationCompleted(Nothing {})),
        (24, Payload::TicketPickedUp(Nothing {})),
        (25, Payload::DeliveryPickedUp(of_order())),
        (28, moved("37.8044", "-122.2712")?),
        (33, moved("37.8079", "-122.2661")?),
        (38, Payload::DeliveryDelivered(of_order())),
    ];
    let event = |(at, payload): (i64, Payload)| {
        let aggregate_id = match payload.event_type().aggregate() {
            AggregateType::Order | AggregateType::Ticket => order_id.to_string(),
            AggregateType::Delivery => format!("delivery-{order_id}"),
            AggregateType::PaymentIntent => format!("intent-{order_id}"),
        };
        Ok(Event { id: event_id(minute(at)?, number)?, aggregate_id: aggregate_id.parse()?, payload })
    };
    payloads.into_iter().map(event).collect()
}

fn created() -> Result<OrderCreated, Invalid> {
    let item = |id: &str, name: &str, price: &str, quantity| {
        let (menu_item_id, name) = (id.to_owned(), name.to_owned());
        Ok::<_, Invalid>(LineItem { menu_item_id, name, price: price.parse()?, quantity })
    };
    let order_details = OrderDetails {
        consumer_id: demo::CONSUMER.parse()?,
        restaurant_id: 1,
        order_total: "28.18".parse()?,
        line_items: vec![item("1", "Chicken Vindaloo", "12.34", 2)?, item("2", "Garlic Naan", "3.50", 1)?],
    };
    let restaurant_name = "Ajanta".to_owned();
    Ok(OrderCreated { order_details, delivery_address: Some(address(demo::STREET)), restaurant_name })
}

fn revised(delivery_time: Timestamp) -> Result<OrderRevised, Invalid> {
    let delivery_information = DeliveryInformation { delivery_time, delivery_address: address("1 Harbor Drive") };
    let revised_order_line_items = vec![RevisedLineItem { menu_item_id: "1".to_owned(), quantity: 3 }];
    Ok(OrderRevised {
        order_revision: OrderRevision { delivery_information: Some(delivery_information), revised_order_line_items },
        current_order_total: "28.18".parse()?,
        new_order_total: "40.52".parse()?,
    })
}
