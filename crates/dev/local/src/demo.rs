//! The demo: three orders of two consumers, and payments for two of them.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use order_events::payload::{
    Address, DeliveryLocationUpdated, DeliveryScheduled, LineItem, Nothing, OrderCreated, OrderDetails, OrderRevised,
    OrderRevision, RevisedLineItem, TicketAccepted,
};
use order_events::{Event, EventType, Invalid, Payload, Timestamp};
use reqwest::{Client, RequestBuilder, StatusCode};
use serde_json::{Value, json};

use crate::stack::Authorization;

/// The consumer in the printed commands.
pub(crate) const CONSUMER: &str = "1511300065921";

/// The street of the demo's consumers.
pub(crate) const STREET: &str = "9 Amazing View";

/// An address in the demo's city.
pub(crate) fn address(street: &str) -> Address {
    Address {
        street1: Some(street.to_owned()),
        city: Some("Oakland".to_owned()),
        state: Some("CA".to_owned()),
        zip: Some("94612".to_owned()),
        ..Address::default()
    }
}

/// All of the demo's consumers.
pub(crate) const CONSUMERS: [&str; 2] = [CONSUMER, UNPAID.consumer_id];

/// An order in progress, which the examples of the API's document use.
pub(crate) const ORDER: &str = "99";

/// A payment for an order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Payment {
    pub(crate) order_id: &'static str,
    pub(crate) consumer_id: &'static str,
    /// In minor units.
    pub(crate) amount: i64,
    pub(crate) currency: &'static str,
}

/// The payments of the demo. The gateway declines amounts that end with 02.
const PAYMENTS: [Payment; 2] = [
    Payment { order_id: ORDER, consumer_id: CONSUMER, amount: 2_818, currency: "USD" },
    Payment { order_id: "100", consumer_id: CONSUMER, amount: 702, currency: "USD" },
];

/// The payment of the printed commands.
pub(crate) const UNPAID: Payment = Payment { order_id: "101", consumer_id: "42", amount: 995, currency: "USD" };

/// The pause between two reads of an order.
const POLL: Duration = Duration::from_millis(50);

/// Makes the demo's payments through the HTTP API at `http`, and waits until the orders show the results. A repetition
/// with the same `now` sends the same idempotency keys, so no order is paid twice.
pub(crate) async fn pay(http: &str, authorization: Authorization, now: Timestamp) -> Result<(), String> {
    let client = Client::new();
    let [first, second] = PAYMENTS.map(|payment| payment.make(&client, http, authorization, now));
    tokio::try_join!(first, second)?;
    Ok(())
}

impl Payment {
    async fn make(
        self,
        client: &Client,
        http: &str,
        authorization: Authorization,
        now: Timestamp,
    ) -> Result<(), String> {
        let Self { order_id, consumer_id, amount, currency } = self;
        let key = |command: &str| format!("demo-{}-{command}-{order_id}", now.as_millis());
        let mut intent = json!({"orderId": order_id, "amount": amount, "currency": currency});
        if authorization == Authorization::Off {
            intent["consumerId"] = json!(consumer_id);
        }
        let send = |request: RequestBuilder| exchange(request, authorization, consumer_id);
        let create = client.post(format!("{http}/payment-intents")).header("idempotency-key", key("create"));
        let create = create.header("content-type", "application/json").body(intent.to_string());
        let Some(created) = send(create).await? else {
            // The order already has a payment, for example by `make invoke`.
            return Ok(());
        };
        let intent = created["paymentIntentId"].as_str().ok_or_else(|| format!("no payment intent: {created}"))?;
        let charge = client.post(format!("{http}/payment-intents/{intent}/charge"));
        send(charge.header("idempotency-key", key("charge"))).await?;
        loop {
            let order = send(client.get(format!("{http}/orders/{order_id}"))).await?.unwrap_or_default();
            if matches!(order["payment"]["status"].as_str(), Some("CHARGED" | "CHARGE_FAILED")) {
                return Ok(());
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

/// Sends one request for a consumer. Returns `None` for 409.
async fn exchange(
    request: RequestBuilder,
    authorization: Authorization,
    consumer: &str,
) -> Result<Option<Value>, String> {
    let request = match authorization {
        Authorization::Off => request,
        // The signature is not checked.
        Authorization::Unverified => {
            let claims = BASE64_URL_SAFE_NO_PAD.encode(json!({"sub": consumer}).to_string());
            request.bearer_auth(format!("{}.{claims}.", BASE64_URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#)))
        }
    };
    let response = request.send().await.map_err(|error| error.to_string())?;
    let status = response.status();
    let text = response.text().await.map_err(|error| error.to_string())?;
    if status == StatusCode::CONFLICT {
        return Ok(None);
    }
    if !status.is_success() {
        return Err(format!("{status}: {text}"));
    }
    serde_json::from_str(&text).map(Some).map_err(|error| format!("the response is not JSON ({error}): {text}"))
}

/// The events of the demo, without those of the payments, in no particular order.
pub(crate) fn events(now: Timestamp) -> Result<Vec<Event>, Invalid> {
    let mut events = Vec::new();
    let mut first = OrderStory { order_id: ORDER, minutes_ago: 40, now, events: &mut events };
    first.created(CONSUMER, "Ajanta", &[("Chicken Vindaloo", "12.34", 2), ("Garlic Naan", "3.50", 1)], "28.18")?;
    first.add(ORDER, Payload::OrderAuthorized(Nothing {}))?;
    first.add(ORDER, Payload::TicketCreated(Nothing {}))?;
    let ready_by = first.minutes_from_now(5)?;
    first.add(ORDER, Payload::TicketAccepted(TicketAccepted { ready_by }))?;
    first.revised(3, "40.52")?;
    first.add(ORDER, Payload::TicketPreparationStarted(Nothing {}))?;
    first.delivery()?;

    let mut second = OrderStory { order_id: "100", minutes_ago: 24 * 60, now, events: &mut events };
    second.created(CONSUMER, "Zur Goldenen Krone", &[("Crème brûlée", "7.02", 1)], "7.02")?;
    second.add("100", Payload::OrderRejected(Nothing {}))?;

    let mut third = OrderStory { order_id: "101", minutes_ago: 3, now, events: &mut events };
    third.created("42", "Ajanta", &[("Gobhi Bhaji", "9.95", 1)], "9.95")?;
    Ok(events)
}

/// The next event of [`ORDER`]: its type, and the shortest message with it.
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

/// Adds the events of one order, one minute apart.
struct OrderStory<'a> {
    order_id: &'static str,
    minutes_ago: i64,
    now: Timestamp,
    events: &'a mut Vec<Event>,
}

impl OrderStory<'_> {
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
        let (restaurant_name, delivery_address) = (restaurant_name.to_owned(), Some(address(STREET)));
        let created = OrderCreated { order_details, delivery_address, restaurant_name };
        self.add(self.order_id, Payload::OrderCreated(created))
    }

    fn revised(&mut self, quantity: u32, new_order_total: &str) -> Result<(), Invalid> {
        let revised = vec![RevisedLineItem { menu_item_id: "1".to_owned(), quantity }];
        let revision = OrderRevised {
            order_revision: OrderRevision { delivery_information: None, revised_order_line_items: revised },
            current_order_total: "28.18".parse()?,
            new_order_total: new_order_total.parse()?,
        };
        self.add(self.order_id, Payload::OrderRevised(revision))
    }

    fn delivery(&mut self) -> Result<(), Invalid> {
        let scheduled = DeliveryScheduled {
            order_id: self.order_id.parse()?,
            courier_id: "7".parse()?,
            estimated_pickup_time: self.minutes_from_now(6)?,
            estimated_delivery_time: self.minutes_from_now(25)?,
        };
        self.add("delivery-1", Payload::DeliveryScheduled(scheduled))?;
        let order_id = self.order_id.parse()?;
        let moved = DeliveryLocationUpdated { order_id, latitude: "37.8044".parse()?, longitude: "-122.2712".parse()? };
        self.add("delivery-1", Payload::DeliveryLocationUpdated(moved))
    }

    fn add(&mut self, aggregate_id: &str, payload: Payload) -> Result<(), Invalid> {
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
