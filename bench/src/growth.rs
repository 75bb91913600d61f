//! Growth: the cost of an event and of a page as an item ages, as a history grows, as a batch grows.

use std::path::Path;

use order_events::EventType;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::contender::{Connection, Contender};
use crate::dynamodb::{DynamoDb, MeterCounts, Units};
use crate::fleet::{ContenderFunctions, Effort};
use crate::messages::{FIRST_FIVE, Messages};
use crate::projection::{BATCH, PerEvent};
use crate::query::{RunningFunction, fill, item_of, page, query_api};
use crate::statistics::Rounds;
use crate::units::{Item, item_bytes, write_units};

/// The measured growth.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Growth {
    /// An order that is revised many times: every event adds to its timeline, every second one to its revisions.
    pub revised: Vec<Point>,
    /// An order whose courier moves.
    pub moving: Vec<Point>,
    /// A page of 20 of a consumer's orders, by the size of the history.
    pub history: Vec<Point>,
    /// A page of five, which even the smallest history fills.
    pub small_pages: Vec<Point>,
    /// An event, by the size of its batch.
    pub batch: Vec<Point>,
}

/// The cost of an event or a page at one size.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Point {
    /// The events so far, the orders of the consumer, or the messages of a batch.
    pub size: u32,
    /// Microseconds of CPU, round by round.
    pub cpu_micros: Rounds,
    /// What went to DynamoDB.
    pub each: PerEvent,
    /// The bytes of the item, for an item that grows.
    pub item_bytes: Option<usize>,
}

const AGES: usize = 40;
/// The number of batches of ten orders that age together.
const AGING_BATCHES: usize = 4;

/// Ages orders: their first five events, then these in turn.
pub async fn age(
    contender: &Contender,
    dynamodb: &mut DynamoDb,
    messages: &mut Messages,
    then: &[EventType],
) -> Result<Vec<Point>> {
    let life: Vec<EventType> = FIRST_FIVE.iter().chain(then.iter().cycle()).take(AGES).copied().collect();
    let types: Vec<EventType> = FIRST_FIVE.iter().chain(then).copied().collect();
    let fleet = ContenderFunctions::start(contender, &types, &Connection::plain(&dynamodb.endpoints.meter)).await?;
    fleet.handle(messages.batches(&types, BATCH, 3)?).await?;
    let groups: Vec<Vec<String>> = (0..AGING_BATCHES).map(|_| messages.fresh_orders(BATCH)).collect();
    let client = dynamodb.client();
    let mut points = Vec::new();
    let mut before = 0;
    for (age, event_type) in life.into_iter().enumerate() {
        dynamodb.metered().await?;
        let mut cpu_micros = Rounds::default();
        let mut count = 0;
        for orders in &groups {
            let effort = fleet.handle(vec![(event_type, messages.batch(event_type, orders)?)]).await?;
            cpu_micros.0.push(effort.cpu_micros_each());
            count += effort.count;
        }
        let each = PerEvent::of(&dynamodb.metered().await?, count);
        let bytes = item_bytes(&item_of(&client, &groups[0][0]).await?);
        check_units(&each.written, write_units(before, bytes), event_type)?;
        before = bytes;
        points.push(Point { size: u32::try_from(age + 1)?, cpu_micros, each, item_bytes: Some(bytes) });
    }
    Ok(points)
}

/// The engine's response must agree with DynamoDB's documented rule; otherwise the result is not usable.
fn check_units(written: &Units, by_size: usize, event_type: EventType) -> Result<()> {
    if format!("{}", written.orders) == by_size.to_string() {
        return Ok(());
    }
    let engine = written.orders;
    Err(format!("the engine says {engine} write units for {event_type}, the item's size says {by_size}").into())
}

const HISTORIES: [usize; 5] = [10, 100, 1_000, 10_000, 100_000];
/// The number of pages of each history in a round, and how many are read in a row: a short slowdown of the machine then affects
/// all sizes.
const PAGES: u32 = 200;
const PAGES_IN_A_ROW: u32 = 20;

/// The consumer with this many orders.
#[must_use]
pub fn consumer_of(orders: usize) -> String {
    format!("77{orders}")
}

/// Creates five consumers with histories of all sizes.
pub async fn fill_histories(dynamodb: &DynamoDb, like: &Item) -> Result<()> {
    eprintln!("filling histories of {HISTORIES:?} orders");
    for orders in HISTORIES {
        fill(&dynamodb.client(), like, &consumer_of(orders), orders).await?;
    }
    Ok(())
}

/// Reads the first page of each history, in turn; `page_size` is a part of the query, or empty for 20.
pub async fn measure_pages(
    binaries: &Path,
    dynamodb: &mut DynamoDb,
    rounds: usize,
    page_size: &str,
) -> Result<Vec<Point>> {
    let lambda = RunningFunction::start(&query_api(binaries), &dynamodb.endpoints.meter).await?;
    lambda.send_repeatedly(&page(&consumer_of(HISTORIES[2]), page_size), PAGES).await?;
    let questions = HISTORIES.map(|orders| page(&consumer_of(orders), page_size));
    let mut points = Point::of_sizes(&HISTORIES)?;
    for (question, point) in questions.iter().zip(&mut points) {
        dynamodb.metered().await?;
        let effort = lambda.send_repeatedly(question, 1).await?;
        point.each = PerEvent::of(&dynamodb.metered().await?, effort.count);
    }
    for round in 1..=rounds {
        eprintln!("pages of growing histories, round {round} of {rounds}");
        let mut efforts = [Effort::default(); HISTORIES.len()];
        for _ in 0..PAGES / PAGES_IN_A_ROW {
            for (question, effort) in questions.iter().zip(&mut efforts) {
                *effort += lambda.send_repeatedly(question, PAGES_IN_A_ROW).await?;
            }
        }
        for (point, effort) in points.iter_mut().zip(efforts) {
            point.cpu_micros.0.push(effort.cpu_micros_each());
        }
    }
    Ok(points)
}

const BATCHES: [usize; 10] = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];
/// The least number of events for each batch size in a round.
const EVENTS: usize = 200;

/// Sends batches of all sizes, in turn.
pub async fn batches(
    contender: &Contender,
    dynamodb: &mut DynamoDb,
    messages: &mut Messages,
    rounds: usize,
) -> Result<Vec<Point>> {
    let event_type = [EventType::OrderCreated];
    let fleet =
        ContenderFunctions::start(contender, &event_type, &Connection::plain(&dynamodb.endpoints.meter)).await?;
    fleet.handle(messages.batches(&event_type, BATCH, 20)?).await?;
    let mut points = Point::of_sizes(&BATCHES)?;
    for round in 1..=rounds {
        eprintln!("growing batches, round {round} of {rounds}");
        for (size, point) in BATCHES.iter().zip(&mut points) {
            dynamodb.metered().await?;
            let effort = fleet.handle(messages.batches(&event_type, *size, (EVENTS / size).max(1))?).await?;
            point.add(&effort, &dynamodb.metered().await?);
        }
    }
    Ok(points)
}

impl Point {
    /// Nothing measured yet, at these sizes.
    fn of_sizes(sizes: &[usize]) -> Result<Vec<Self>> {
        let of_size = |size: &usize| Ok(Self { size: u32::try_from(*size)?, ..Self::default() });
        sizes.iter().map(of_size).collect()
    }

    /// Adds a round. The meter has no noise, so its last value is enough.
    fn add(&mut self, effort: &Effort, tally: &MeterCounts) {
        self.cpu_micros.0.push(effort.cpu_micros_each());
        self.each = PerEvent::of(tally, effort.count);
    }
}
