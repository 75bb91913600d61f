//! Lists the newest orders, creates orders, and publishes their next events.

mod next;

use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use order_events::payload::{LineItem, OrderCreated, OrderDetails};
use order_events::{AggregateType, Event, EventType, Invalid, OrderId, Payload, Timestamp};
use order_store::OrderStore;
use order_store::table::INDEX;
use order_view::facet::{CONSUMER_ID, ORDER_CREATION_TIME, STATUS};
use order_view::{OrderView, VIEW, contains_event};
use projection::State;
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use self::next::OrderStatuses;
pub(super) use self::next::{NextEvent, sum};
use super::problem::Problem;
use super::publisher::Publisher;
use super::random::Random;
use crate::demo;

/// The number of orders that are shown.
const SHOWN: usize = 50;

/// The number of orders that are read to find the newest. The index is sorted by consumer, and reading all of a large table each
/// second would keep this machine busy.
const MAX_READ: i32 = 1_000;

/// The longest wait until a published event is in the view, and the pause between two reads.
const TIMEOUT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(20);

/// All orders.
pub(super) struct Orders {
    client: Client,
    table: String,
    store: OrderStore,
    publisher: Publisher,
    /// Held while an event is chosen, published and projected, so that the next request sees its result.
    turn: Mutex<()>,
}

/// The shown values of an order.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OrderState {
    order_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumer_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    #[serde(skip)]
    created: i64,
}

/// An order's view, and the state that names its aggregates.
struct FoundOrder {
    view: OrderView,
    state: State,
}

impl Orders {
    pub(super) fn new(client: Client, table: &str, publisher: Publisher) -> Self {
        Self {
            store: OrderStore::new(client.clone(), table),
            client,
            table: table.to_owned(),
            publisher,
            turn: Mutex::default(),
        }
    }

    /// The newest orders, the newest first. With very many orders, only a part of them is read.
    pub(super) async fn newest(&self) -> Result<Vec<OrderState>, Problem> {
        let names =
            [("#order", VIEW.key), ("#consumer", CONSUMER_ID), ("#at", ORDER_CREATION_TIME), ("#status", STATUS)];
        let names = names.map(|(alias, name)| (alias.to_owned(), name.to_owned()));
        let scan = self.client.scan().table_name(&self.table).index_name(INDEX).limit(MAX_READ);
        let scan = scan.projection_expression("#order, #consumer, #at, #status");
        let page = scan.set_expression_attribute_names(Some(names.into())).send().await?;
        let text = |value: Option<&AttributeValue>| value.and_then(|value| value.as_s().ok()).cloned();
        let order = |item: &std::collections::HashMap<String, AttributeValue>| OrderState {
            order_id: text(item.get(VIEW.key)).unwrap_or_default(),
            consumer_id: text(item.get(CONSUMER_ID)),
            status: text(item.get(STATUS)),
            created: item.get(ORDER_CREATION_TIME).and_then(|at| at.as_n().ok()?.parse().ok()).unwrap_or_default(),
        };
        let mut orders: Vec<_> = page.items().iter().map(order).collect();
        orders.sort_by(|one, other| (other.created, &other.order_id).cmp(&(one.created, &one.order_id)));
        orders.truncate(SHOWN);
        Ok(orders)
    }

    /// The events that can happen next to an order.
    pub(super) async fn next(&self, order_id: &str) -> Result<Vec<NextEvent>, Problem> {
        Ok(OrderStatuses::of(&self.find(order_id).await?.view).next())
    }

    /// Publishes an order's next event, and returns the event's id. It waits until the view has the event, so that two clicks do not
    /// publish it twice. It waits for at most `TIMEOUT`.
    pub(super) async fn publish_next(&self, order_id: &str, event_type: &str) -> Result<String, Problem> {
        let _turn = self.turn.lock().await;
        let order = self.find(order_id).await?;
        let offered = OrderStatuses::of(&order.view).next();
        let Some(next) = offered.iter().find(|next| next.event_type.name() == event_type) else {
            let offered: Vec<_> = offered.iter().map(|next| next.event_type.name()).collect();
            let message = match offered.as_slice() {
                [] => format!("no event can happen next to order {order_id}"),
                offered => format!("choose one of the next events of order {order_id}: {}", offered.join(", ")),
            };
            return Err(Problem::bad_request(message));
        };
        let now = Timestamp::from(SystemTime::now());
        let payload = next::payload(&order.view, next.event_type, now)?;
        let aggregate_id = order.aggregate_id(next.event_type).parse()?;
        let event = Event { id: self.publisher.next_id()?, aggregate_id, payload };
        self.publisher.publish(&event).await?;
        // After the timeout the event is still published.
        let _ = timeout(TIMEOUT, self.wait_for(&order.view.order_id, &event)).await;
        Ok(event.id.to_string())
    }

    /// Waits until the view has an event.
    async fn wait_for(&self, order_id: &OrderId, event: &Event) -> Result<(), Problem> {
        loop {
            let found = self.store.find_order(order_id).await?;
            if found.is_some_and(|found| contains_event(&found.state, event.event_type(), event.id)) {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
    }

    /// Creates an order of the demo's consumer, and returns the order's id.
    pub(super) async fn create(&self) -> Result<String, Problem> {
        let mut random = Random(Uuid::new_v4().as_u64_pair().0);
        let order_id = loop {
            // Six digits are easy to read.
            let order_id: OrderId = (100_000 + random.below(900_000)).to_string().parse()?;
            if self.store.find_order(&order_id).await?.is_none() {
                break order_id;
            }
        };
        let payload = Payload::OrderCreated(new_order(&mut random)?);
        let event = Event { id: self.publisher.next_id()?, aggregate_id: order_id.as_str().parse()?, payload };
        self.publisher.publish(&event).await?;
        Ok(order_id.to_string())
    }

    async fn find(&self, order_id: &str) -> Result<FoundOrder, Problem> {
        let unknown = || Problem::not_found("there is no such order");
        let order_id: OrderId = order_id.parse().map_err(|_| unknown())?;
        let found = self.store.find_order(&order_id).await?.ok_or_else(unknown)?;
        let state = found.state.clone();
        let view = OrderView::of(order_id, found).ok_or_else(unknown)?;
        Ok(FoundOrder { view, state })
    }
}

impl FoundOrder {
    /// The aggregate that publishes an event: the order's latest delivery or payment intent, if there is one.
    fn aggregate_id(&self, event_type: EventType) -> String {
        let order_id = &self.view.order_id;
        let aggregate = event_type.aggregate();
        match aggregate {
            AggregateType::Order | AggregateType::Ticket => order_id.to_string(),
            AggregateType::Delivery | AggregateType::PaymentIntent => {
                let mut marks =
                    self.state.marks().filter_map(|(name, by)| Some((by, name.strip_prefix(aggregate.name())?)));
                let latest = marks.by_ref().max().map(|(_, id)| id.to_owned());
                latest.unwrap_or_else(|| format!("{}-{order_id}", aggregate.name().to_lowercase()))
            }
        }
    }
}

/// The name and the price of a dish.
type Dish = (&'static str, &'static str);

const MENUS: [(&str, [Dish; 3]); 3] = [
    ("Ajanta", [("Chicken Vindaloo", "12.34"), ("Gobhi Bhaji", "9.95"), ("Garlic Naan", "3.50")]),
    ("Zur Goldenen Krone", [("Käsespätzle", "11.80"), ("Crème brûlée", "7.02"), ("Apfelschorle", "3.20")]),
    ("Trattoria Fiume", [("Tagliatelle al ragù", "13.60"), ("Insalata mista", "6.40"), ("Tiramisù", "5.90")]),
];

fn new_order(random: &mut Random) -> Result<OrderCreated, Invalid> {
    let restaurant = random.below(MENUS.len());
    let (restaurant_name, dishes) = MENUS[restaurant];
    let (mut line_items, mut order_total) = (Vec::new(), "0".parse()?);
    for (number, (name, price)) in (1..).zip(dishes).take(1 + random.below(dishes.len())) {
        let (quantity, price) = (1 + u32::from(random.below(3) == 0), price.parse()?);
        order_total = (0..quantity).try_fold(order_total, |total, _| sum(&total, &price))?;
        line_items.push(LineItem { menu_item_id: format!("{number}"), name: name.to_owned(), price, quantity });
    }
    let delivery_address = Some(demo::address(demo::STREET));
    let consumer_id = demo::CONSUMER.parse()?;
    let order_details = OrderDetails { consumer_id, restaurant_id: 1 + restaurant as u64, order_total, line_items };
    Ok(OrderCreated { order_details, delivery_address, restaurant_name: restaurant_name.to_owned() })
}
