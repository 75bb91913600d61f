//! The scenarios on the system of `make run`, and tests of what only it has: its data, a restart, a storm.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A failed unwrap fails the test.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use end_to_end::local::{DataDir, Local, command, kill, start, start_on, start_with, start_with_demo_on};
use end_to_end::order::{Order, consumer};
use end_to_end::payment_storm::{PaymentStorm, run_payment_storm};
use end_to_end::payments::{Command, new_order};
use end_to_end::scenarios;
use end_to_end::storm::{self, Storm};
use end_to_end::system::{ApiResponse, System, TIMEOUT, eventually, list};
use order_events::EventType;
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::timeout;

scenarios!(start);

#[tokio::test]
async fn orders_survive_a_restart() {
    let system = start().await;
    let order = Order::new(&consumer(), 5);
    let path = format!("/orders/{}", order.id);
    system.publish(&order.story).await;
    let expected = order.expected_json(&order.story);
    let shown = async || (system.get_as(&system.reader_token(), &path).await.body == expected).then_some(());
    eventually("the order", shown).await;

    let data = system.stop().await;
    let system = start_on(data, 4).await;
    assert_eq!(system.get_as(&system.reader_token(), &path).await.body, expected);
}

/// Also messages that this view ignores: a later view may use them.
#[tokio::test]
async fn every_message_of_the_topic_is_in_the_archive() {
    let system = start().await;
    let order = Order::new(&consumer(), 5);
    let published = order.story.iter().map(|published| (published.type_name.clone(), published.body.clone()));
    let others = [
        ("OrderCreated", "{\n  \"pretty\": true\n}"),
        ("OrderCreated", "not JSON\nin two lines"),
        ("CourierPaid", r#"{"payload":"{}","headers":{"event-type":"CourierPaid"}}"#),
    ];
    let others = others.map(|(event_type, body)| (event_type.to_owned(), body.to_owned()));
    let messages: Vec<_> = published.chain(others).collect();
    system.publish_messages(&messages).await;
    let archived = system.archived().await;
    let published: BTreeMap<_, _> = messages.into_iter().map(|(_, body)| (body, 1)).collect();
    assert_eq!(archived, published);
}

/// The archive also has the events of Payments.
#[tokio::test]
async fn a_view_is_rebuilt_from_the_archive_of_a_demo() {
    let system = start_with_demo_on(DataDir::new()).await;
    // The events of the payments must be projected before the comparison.
    eventually("the queues to be empty", async || (system.waiting_in_all().await == 0).then_some(())).await;
    let archived = system.archived().await;
    assert!(archived.keys().any(|message| message.contains("PaymentIntentCharged")), "{archived:?}");
    system.assert_rebuilt_equals_live("ftgo-order-history-v2", false).await;
}

#[tokio::test]
async fn the_archive_survives_a_restart() {
    let system = start().await;
    let order = Order::new(&consumer(), 5);
    system.publish(&order.story).await;
    let archived = system.archived().await;
    assert_eq!(archived.len(), order.story.len());
    let system = start_on(system.stop().await, 4).await;
    assert_eq!(system.archived().await, archived);
}

#[tokio::test]
async fn a_payment_and_its_charge_survive_a_restart() {
    let system = start().await;
    let (order, token) = new_order(&system).await;
    let intent = system.command(&token, &Command::create(&order.id, 2_818)).await.intent_id();
    let charge = Command::charge(&intent);
    let requested = system.command(&token, &charge).await;
    let paid = system.await_state(&token, &intent, "CHARGED").await;
    let charges = system.charges_of(&order.id).await;

    let system = start_on(system.stop().await, 4).await;
    assert_eq!(system.payment_intent(&token, &intent).await.unwrap().body, paid.body);
    assert_eq!(system.charges_of(&order.id).await, charges);
    let again = system.command(&token, &charge).await;
    assert_eq!((again.body, again.headers.contains_key("idempotent-replayed")), (requested.body, true));
}

/// The queues are in memory: after a crash only the payment intent shows that a charge is open.
#[tokio::test]
async fn the_reconciler_finishes_a_charge_whose_message_was_lost_in_a_crash() {
    let system = start().await;
    let (order, token) = new_order(&system).await;
    // The gateway answers this one too late.
    let intent = system.command(&token, &Command::create(&order.id, 2_809)).await.intent_id();
    system.command(&token, &Command::charge(&intent)).await;
    eventually("the message to be published", async || (system.outbox_rows().await == 0).then_some(())).await;
    assert_eq!(system.charges_of(&order.id).await.len(), 0);

    let system = start_on(system.crash().await, 4).await;
    assert_eq!(system.charges_waiting().await, 0, "the message is lost");
    let paid = system.await_state(&token, &intent, "CHARGED").await;
    let charges = system.charges_of(&order.id).await;
    assert_eq!((charges.len(), &charges[0]["chargeId"]), (1, &paid.body["chargeId"]));
    let shown = async || {
        let order = system.get_as(&token, &format!("/orders/{}", order.id)).await.body;
        (order["payment"]["status"] == "CHARGED").then_some(())
    };
    eventually("the history to show the charge", shown).await;
}

#[tokio::test]
async fn a_charge_in_locked_mode_is_answered_with_its_result() {
    let data = DataDir::new();
    let mut locked = command(data.path());
    locked.env("DEMO", "0").env("CHARGE_MODE", "locked");
    let system = start_with(locked, data).await;
    let (order, token) = new_order(&system).await;
    let intent = system.command(&token, &Command::create(&order.id, 2_818)).await.intent_id();
    let charged = system.command(&token, &Command::charge(&intent)).await;
    assert_eq!((charged.status.as_u16(), &charged.body["state"]), (200, &Value::from("CHARGED")), "{charged:?}");
    assert_eq!(system.charges_of(&order.id).await.len(), 1);
}

#[tokio::test]
async fn a_functions_log_has_the_reason_why_a_message_failed() {
    let system = start().await;
    let event_type = EventType::OrderRejected;
    system.send(event_type, &["{".to_owned()]).await;
    let logged = async || system.log(event_type).contains(r#""reason":"malformed_body""#).then_some(());
    eventually("the reason", logged).await;
}

#[tokio::test]
async fn only_the_logs_of_the_functions_are_cleared() {
    let data = DataDir::new();
    let logs = data.path().join("logs");
    let [mine, deep] = ["mine.log", "folder/ftgo-order-history-OrderRejected.log"].map(|name| logs.join(name));
    let functions = ["OrderRejected", "query-api"].map(|name| logs.join(format!("ftgo-order-history-{name}.log")));
    fs::create_dir_all(logs.join("folder")).unwrap();
    for file in [&mine, &deep].into_iter().chain(&functions) {
        fs::write(file, "old").unwrap();
    }
    let system = start_on(data, 4).await;
    system.get_as(&system.reader_token(), "/orders/99").await;
    for file in [mine, deep] {
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), Some("old"), "{}", file.display());
    }
    for file in functions {
        assert!(!fs::read_to_string(&file).unwrap_or_default().contains("old"), "{}", file.display());
    }
}

#[tokio::test]
async fn functions_work_and_log_after_their_logs_were_deleted() {
    let system = start().await;
    system.get_as(&system.reader_token(), "/orders/99").await;
    fs::remove_dir_all(system.data().join("logs")).unwrap();
    let event_type = EventType::OrderRejected;
    system.send(event_type, &["{".to_owned()]).await;
    let logged = async || system.log(event_type).contains(r#""reason":"malformed_body""#).then_some(());
    eventually("the reason", logged).await;
}

#[tokio::test]
async fn a_folder_belongs_to_one_system_until_its_process_ends() {
    let system = start().await;
    let folder = system.data().display().to_string();
    let second = command(system.data()).kill_on_drop(true).output();
    let second = timeout(TIMEOUT, second).await.expect("the second system did not exit").unwrap();
    let expected = format!(
        "error: {folder} is in use by process {}: stop it, or set DATA_DIR to another folder\n",
        system.process()
    );
    assert_eq!(String::from_utf8(second.stderr).unwrap(), expected);
    assert!(!second.status.success());

    let data = system.crash().await;
    let system = start_on(data, 4).await;
    assert_eq!(system.get_as(&system.reader_token(), "/orders/99").await.status, 404);
}

#[tokio::test]
async fn ctrl_c_stops_the_system_without_error_messages() {
    let data = DataDir::new();
    let mut system = command(data.path());
    let system =
        system.process_group(0).kill_on_drop(true).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until(|| projected(data.path()) > 0).await;
    // A terminal sends the signal to all processes of the group.
    kill("-INT", &format!("-{}", system.id().unwrap())).await;
    let ended = timeout(TIMEOUT, system.wait_with_output()).await.expect("the system still runs").unwrap();
    assert_eq!((str::from_utf8(&ended.stderr), ended.status.code()), (Ok(""), Some(0)));
}

#[tokio::test]
async fn every_event_is_logged_at_level_debug() {
    let data = DataDir::new();
    let mut system = command(data.path());
    system.env("LOG_LEVEL", "DEBUG").stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let _system = system.spawn().unwrap();
    wait_until(|| lines(data.path()).iter().any(|line| line["level"] == "DEBUG" && line["outcome"] == "applied")).await;
}

/// The process is killed at its start, or when some of the demo's events have been projected.
#[tokio::test]
async fn an_interrupted_demo_is_complete_after_the_next_start() {
    let is_begun = |data: &Path| data.join("dynamodb.sqlite").exists();
    interrupted(is_begun).await;
    for events in [1, 4, 8] {
        interrupted(|data| projected(data) >= events).await;
    }
}

async fn interrupted(is_time: impl Fn(&Path) -> bool) {
    // The file has the time of the first start. A second system gets a copy, so that the two can be compared.
    let moment = "ftgo-order-history.demo";
    let mut data = killed(&is_time).await;
    while !data.path().join(moment).exists() {
        // The demo was complete before the kill.
        data = killed(&is_time).await;
    }
    let undisturbed = DataDir::new();
    fs::create_dir(undisturbed.path()).unwrap();
    fs::copy(data.path().join(moment), undisturbed.path().join(moment)).unwrap();

    let (system, undisturbed) = tokio::join!(start_with_demo_on(data), start_with_demo_on(undisturbed));
    let expected = demo(&undisturbed).await;
    assert_eq!(demo(&system).await, expected);
    assert_eq!(expected[0].body["orders"].as_array().unwrap().len(), 2);

    // A finished demo is not published again.
    let system = start_with_demo_on(system.stop().await).await;
    assert_eq!(projected(system.data()), 0);
    assert_eq!(demo(&system).await, expected);
}

/// The data of a first start that was killed at this moment.
async fn killed(is_time: impl Fn(&Path) -> bool) -> DataDir {
    let data = DataDir::new();
    let mut process =
        command(data.path()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn().unwrap();
    wait_until(|| is_time(data.path())).await;
    process.kill().await.unwrap();
    data
}

/// Waits for a condition that may hold only for a moment.
async fn wait_until(is_time: impl Fn() -> bool) {
    let time = async {
        while !is_time() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(TIMEOUT, time).await.expect("the condition was never true");
}

/// The API's responses about the demo, without the ids and times of payments.
async fn demo(system: &System<Local>) -> Vec<ApiResponse> {
    let lists = ["1511300065921", "42"].map(|consumer| list(&[("consumerId", consumer)]));
    let orders = ["99", "100", "101"].map(|order| format!("/orders/{order}"));
    let mut shown = Vec::new();
    for path in lists.iter().chain(&orders) {
        let mut response = system.get_as(&system.reader_token(), path).await;
        assert_eq!(response.status, 200, "{path}: {response:?}");
        without_ids_of_payments(&mut response.body);
        shown.push(response);
    }
    shown
}

fn without_ids_of_payments(shown: &mut Value) {
    if let Some(orders) = shown["orders"].as_array_mut() {
        orders.iter_mut().for_each(without_ids_of_payments);
        return;
    }
    if let Some(payment) = shown.get_mut("payment").and_then(Value::as_object_mut) {
        payment.retain(|name, _| !["paymentIntentId", "chargeId"].contains(&name.as_str()));
    }
    if let Some(timeline) = shown.get_mut("timeline").and_then(Value::as_array_mut) {
        timeline.retain(|entry| !entry["type"].as_str().unwrap().starts_with("PaymentIntent"));
    }
}

/// The number of projected events in the functions' logs.
fn projected(data: &Path) -> u64 {
    let counts = ["Applied", "Late", "Duplicate"];
    lines(data).iter().flat_map(|line| counts.map(|count| line[count].as_u64())).flatten().sum()
}

/// The complete lines of the functions' logs.
fn lines(data: &Path) -> Vec<Value> {
    let logs = fs::read_dir(data.join("logs")).into_iter().flatten();
    let logs = logs.map(|log| fs::read_to_string(log.unwrap().path()).unwrap());
    logs.flat_map(|log| log.lines().flat_map(serde_json::from_str).collect::<Vec<_>>()).collect()
}

/// Storms run one after the other, because each uses the whole machine.
static STORMS: Mutex<()> = Mutex::const_new(());

/// The size of a storm: from the variable (`make storm`), or small enough for `make test`.
fn size(variable: &str, small: usize) -> usize {
    std::env::var(variable).map_or(small, |size| size.parse().unwrap_or_else(|_| panic!("{variable} is not a number")))
}

#[tokio::test]
async fn after_a_storm_every_order_has_the_result_of_its_events() {
    let _storm = STORMS.lock().await;
    storm::run_storm(&Storm { orders: size("STORM_ORDERS", 100), ..Storm::default() }).await;
}

#[tokio::test]
async fn a_storm_of_payments_charges_each_payment_once_and_correctly() {
    let _storm = STORMS.lock().await;
    let intents = size("STORM_INTENTS", 60);
    run_payment_storm(&PaymentStorm { intents, charge_mode: "saga", seed: 1 }).await;
}

/// The request, its repetition, the charge handler and the reconciler compete for the same lock.
#[tokio::test]
async fn a_storm_of_payments_in_locked_mode_charges_each_payment_once_and_correctly() {
    let _storm = STORMS.lock().await;
    let intents = size("STORM_LOCKED_INTENTS", 16);
    run_payment_storm(&PaymentStorm { intents, charge_mode: "locked", seed: 3 }).await;
}
