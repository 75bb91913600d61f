//! A storm: many events in random sequence, some twice, some malformed, some of unknown types, while functions are killed and the view is rebuilt.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::{join, join_all};
use futures_util::{StreamExt, stream};
use order_events::EventType;
use serde_json::{Value, json};
use tokio::time::{Instant, interval};

use crate::archive::LIVE_TABLE;
use crate::local::{DataDir, Local, kill, start_on};
use crate::order::{Order, PublishedEvent, consumer};
use crate::system::{System, eventually, within};

/// The longest wait until the queues are empty.
const LONGEST: Duration = Duration::from_mins(15);

/// The number of concurrent publishers.
const PUBLISHERS: usize = 8;

/// The table for the rebuild from the storm's archive.
const REBUILT_TABLE: &str = "ftgo-order-history-after-the-storm";

/// The size and the seed of a storm.
#[derive(Debug, Clone)]
pub struct Storm {
    /// The number of orders, each with about thirteen events.
    pub orders: usize,
    /// The share of events that are published twice.
    pub duplicated_percent: u64,
    /// The number of malformed messages for every hundred events.
    pub malformed_percent: usize,
    /// The number of messages with an unknown type for every hundred events.
    pub unknown_percent: usize,
    /// The seed of the random numbers: the same seed gives the same storm.
    pub seed: u64,
}

impl Default for Storm {
    fn default() -> Self {
        Self { orders: 1_500, duplicated_percent: 20, malformed_percent: 1, unknown_percent: 1, seed: 1 }
    }
}

/// Malformed messages, by queue.
type Messages = BTreeMap<EventType, Vec<String>>;

/// Runs a storm on a new system, and checks every order, dead letter and archived message.
pub async fn run_storm(storm: &Storm) {
    let mut random = Random(storm.seed);
    let orders: Vec<_> = (0..storm.orders).map(|number| selection(number, &mut random)).collect();
    let events: Vec<&PublishedEvent> = orders.iter().flat_map(|order| &order.story).collect();
    let malformed = malformed(events.len() * storm.malformed_percent / 100);
    let unknown = unknown(events.len() * storm.unknown_percent / 100);
    // Each with the event type by which the topic selects its queue.
    let mut messages: Vec<(String, String)> = Vec::new();
    for event in &events {
        let times = if random.below(100) < storm.duplicated_percent { 2 } else { 1 };
        messages.extend((0..times).map(|_| (event.type_name.clone(), event.body.clone())));
    }
    messages.extend(by_queue(&malformed));
    messages.extend(unknown.iter().cloned());
    random.shuffle(&mut messages);
    let (sent, distinct, bad) = (messages.len(), events.len(), malformed.values().map(Vec::len).sum::<usize>());
    println!(
        "storm {}: {sent} messages, {distinct} events of {} orders, {bad} malformed, {} of unknown types",
        storm.seed,
        orders.len(),
        unknown.len()
    );

    let system = start_on(DataDir::new(), 10).await;
    let began = Instant::now();
    let passed = async {
        let (first, second) = messages.split_at(sent / 2);
        publish(&system, first).await;
        join(publish(&system, second), rebuild_into_the_live_table(&system, began)).await;
        within(LONGEST, "the queues to be empty", async || {
            let (left, unarchived) = (system.waiting_in_all().await, system.unarchived().await);
            if left + unarchived > 0 {
                println!("{:4} s: {left} messages left, {unarchived} to be archived", began.elapsed().as_secs());
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
            (left + unarchived == 0).then_some(())
        })
        .await;
    };
    let mut killed = 0;
    tokio::select! {
        () = passed => {}
        () = kill_functions(&system, &mut random, &mut killed) => {}
    }
    println!("{:4} s: the queues are empty, {killed} functions were killed", began.elapsed().as_secs());
    assert!(killed > 0, "no function was killed");
    assert_is_complete(&system, &orders, &malformed).await;
    println!(
        "{:4} s: every order has the result of its events, every malformed message is a dead letter",
        began.elapsed().as_secs()
    );
    assert_is_archived(&system, &messages).await;
    println!("{:4} s: every message is in the archive", began.elapsed().as_secs());
    system.assert_rebuilt_equals_live(REBUILT_TABLE, bad > 0).await;
    println!(
        "{:4} s: the table that was rebuilt from the archive equals the live table, item by item",
        began.elapsed().as_secs()
    );
}

/// Publishes messages with several concurrent publishers.
async fn publish(system: &System<Local>, messages: &[(String, String)]) {
    let share = messages.len().div_ceil(PUBLISHERS).max(1);
    join_all(messages.chunks(share).map(|messages| system.publish_messages(messages))).await;
}

/// Merges the archive so far into the live table while the functions write to it. This must not change the result.
async fn rebuild_into_the_live_table(system: &System<Local>, began: Instant) {
    let files = system.archive().join("events");
    eventually("the first file of the archive", async || files.exists().then_some(())).await;
    let rebuilt = system.rebuild(LIVE_TABLE).await;
    assert!([0, 3].contains(&rebuilt.exit_code), "{rebuilt:?}");
    println!("{:4} s: the archive so far is merged into the live table", began.elapsed().as_secs());
}

/// An order with some of the events: `OrderCreated`, and twelve or thirteen others.
fn selection(number: usize, random: &mut Random) -> Order {
    let mut order = Order::new(&consumer(), 60);
    let mut others = order.story.split_off(1);
    random.shuffle(&mut others);
    others.truncate(if number.is_multiple_of(3) { 13 } else { 12 });
    order.story.extend(others);
    order
}

/// Messages that can never be projected, for every queue in turn.
fn malformed(number: usize) -> Messages {
    let mut messages = Messages::new();
    for (number, &event_type) in (0..number).zip(EventType::ALL.iter().cycle()) {
        messages.entry(event_type).or_default().push(bad_message(event_type, number));
    }
    messages
}

fn bad_message(event_type: EventType, number: usize) -> String {
    let headers = |id: &str, event_type: &str| {
        json!({
            "ID": id, "event-type": event_type, "event-aggregate-type": "Order", "event-aggregate-id": "1",
        })
    };
    let message = |headers: Value| json!({"payload": "{}", "headers": headers, "number": number}).to_string();
    match number % 4 {
        0 => format!("{{ {number}"),
        1 => message(json!({})),
        2 => message(headers(&number.to_string(), event_type.name())),
        _ => message(headers("0000019ca9450a07-0242ac1200080001", "OrderForgotten")),
    }
}

fn by_queue(messages: &Messages) -> impl Iterator<Item = (String, String)> {
    messages.iter().flat_map(|(event_type, bodies)| bodies.iter().map(|body| (event_type.to_string(), body.clone())))
}

/// Messages that only the archive's queue gets. A later view may use them.
fn unknown(number: usize) -> Vec<(String, String)> {
    let message = |number: usize| {
        let event_type = format!("net.chrisrichardson.ftgo.domain.CourierPaid{}", number % 3);
        let headers = json!({"ID": format!("0000019ca9450a07-{number:016x}"), "event-type": event_type});
        (event_type, json!({"payload": "{}", "headers": headers}).to_string())
    };
    (0..number).map(message).collect()
}

/// Asserts that each message is in the archive at least as often as it was published, and that nothing else is there.
async fn assert_is_archived(system: &System<Local>, messages: &[(String, String)]) {
    let archived = system.archived().await;
    let mut published: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, body) in messages {
        *published.entry(body).or_default() += 1;
    }
    for (body, times) in &published {
        let archived = archived.get(*body).copied().unwrap_or_default();
        assert!(archived >= *times, "published {times} times, archived {archived} times: {body}");
    }
    assert_eq!(archived.len(), published.len(), "the archive has messages that were not published");
}

/// Kills a function every second, until this future is dropped.
pub(crate) async fn kill_functions(system: &System<Local>, random: &mut Random, killed: &mut usize) {
    let mut seconds = interval(Duration::from_secs(1));
    loop {
        seconds.tick().await;
        let functions = system.functions().await;
        if !functions.is_empty() {
            let chosen = random.below(functions.len() as u64);
            kill("-KILL", &functions[usize::try_from(chosen).unwrap()]).await;
            *killed += 1;
        }
    }
}

async fn assert_is_complete(system: &System<Local>, orders: &[Order], malformed: &Messages) {
    let token = system.reader_token();
    let find = |order: &Order| {
        let (path, expected) = (format!("/orders/{}", order.id), order.expected_json(&order.story));
        let token = &token;
        async move { (system.get_as(token, &path).await.body, expected) }
    };
    let found: Vec<_> = stream::iter(orders).map(find).buffer_unordered(4).collect().await;
    assert_eq!(found.len(), orders.len());
    for (shown, expected) in found {
        assert_eq!(shown, expected);
    }
    for &event_type in EventType::ALL {
        let expected: BTreeSet<_> = malformed.get(&event_type).into_iter().flatten().cloned().collect();
        let dead = system.dead_letters(event_type, expected.len()).await;
        let dead: BTreeSet<_> = dead.iter().map(|letter| published(letter)).collect();
        assert_eq!(dead, expected, "the dead letters of {event_type}");
    }
}

/// The published message in a queue's notification.
fn published(notification: &str) -> String {
    let notification: Value = serde_json::from_str(notification).unwrap();
    notification["Message"].as_str().unwrap().to_owned()
}

/// Pseudo-random numbers from a seed (`SplitMix64`).
#[derive(Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            let other = self.below(index as u64 + 1);
            items.swap(index, usize::try_from(other).unwrap());
        }
    }
}
