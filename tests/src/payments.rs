//! A client of Payments, and its scenarios.

use std::time::Duration;

use order_events::{EventType, OrderId};
use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::order::{Order, consumer};
use crate::system::{ApiResponse, Environment, System, TIMEOUT, eventually};

/// A response of Payments.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The HTTP status.
    pub status: StatusCode,
    /// The HTTP headers.
    pub headers: HeaderMap,
    /// The body, which is always JSON.
    pub body: Value,
}

/// A command with its idempotency key.
#[derive(Debug, Clone)]
pub struct Command {
    method: Method,
    path: String,
    key: String,
    body: Value,
}

impl Reply {
    /// A header's text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The last part of the problem's type, such as `wrong-state`.
    #[must_use]
    pub fn problem(&self) -> &str {
        let problem = self.body["type"].as_str().and_then(|problem| problem.rsplit(':').next());
        problem.unwrap_or_else(|| panic!("no problem: {self:?}"))
    }

    /// The id of the payment intent in the body.
    #[must_use]
    pub fn intent_id(&self) -> String {
        let id = self.body["paymentIntentId"].as_str();
        id.unwrap_or_else(|| panic!("no payment intent: {self:?}")).to_owned()
    }
}

impl Command {
    /// Creates a payment intent.
    #[must_use]
    pub fn create(order_id: &OrderId, amount: i64) -> Self {
        let body = json!({"orderId": order_id.as_str(), "amount": amount, "currency": "USD"});
        Self::new(Method::POST, "/payment-intents".to_owned(), body)
    }

    /// Changes the amount of a payment intent.
    #[must_use]
    pub fn change_amount(intent: &str, amount: i64) -> Self {
        Self::new(Method::PATCH, format!("/payment-intents/{intent}"), json!({"amount": amount}))
    }

    /// Charges a payment intent.
    #[must_use]
    pub fn charge(intent: &str) -> Self {
        Self::new(Method::POST, format!("/payment-intents/{intent}/charge"), Value::Null)
    }

    fn new(method: Method, path: String, body: Value) -> Self {
        Self { method, path, key: Uuid::new_v4().to_string(), body }
    }
}

impl<E: Environment> System<E> {
    /// Sends a command once. Returns `None` without a response.
    pub async fn try_command(&self, token: &str, command: &Command) -> Option<Reply> {
        let Command { method, path, key, body } = command;
        let request = self.http().request(method.clone(), format!("{}{path}", self.payments));
        let request = request.bearer_auth(token).header("idempotency-key", format!("\"{key}\""));
        let request = match body {
            Value::Null => request,
            body => request.header("content-type", "application/json").body(body.to_string()),
        };
        reply(request).await
    }

    /// Sends a command, and retries it with the same key until there is a final response.
    pub async fn command(&self, token: &str, command: &Command) -> Reply {
        let end = Instant::now() + TIMEOUT;
        loop {
            let reply = self.try_command(token, command).await;
            if let Some(reply) = reply
                && !is_transient(&reply)
            {
                return reply;
            }
            assert!(Instant::now() < end, "waited {TIMEOUT:?} for a response to {command:?}");
            sleep(Duration::from_millis(200)).await;
        }
    }

    /// Reads a payment intent. The response may be a problem.
    pub async fn payment_intent(&self, token: &str, intent: &str) -> Option<Reply> {
        let path = format!("{}/payment-intents/{intent}", self.payments);
        reply(self.http().get(path).bearer_auth(token)).await
    }

    /// Waits until a payment intent is in this state.
    pub async fn await_state(&self, token: &str, intent: &str, state: &str) -> Reply {
        let reached = async || {
            let found = self.payment_intent(token, intent).await?;
            (found.body["state"] == state).then_some(found)
        };
        eventually(&format!("payment intent {intent} to be {state}"), reached).await
    }

    /// All successful charges of the gateway.
    pub async fn charges(&self) -> Vec<Value> {
        let found =
            self.http().get(format!("{}/charges", self.gateway)).send().await.expect("the gateway does not answer");
        let found: Value = serde_json::from_str(&found.text().await.unwrap()).unwrap();
        let charges = found["charges"].as_array().unwrap_or_else(|| panic!("no charges: {found}"));
        charges.iter().filter(|charge| charge["status"] == "succeeded").cloned().collect()
    }

    /// The successful charges for one order.
    pub async fn charges_of(&self, order_id: &OrderId) -> Vec<Value> {
        let mut charges = self.charges().await;
        charges.retain(|charge| charge["orderId"] == order_id.as_str());
        charges
    }
}

async fn reply(request: reqwest::RequestBuilder) -> Option<Reply> {
    let response = request.send().await.ok()?;
    let (status, headers) = (response.status(), response.headers().clone());
    let body = serde_json::from_str(&response.text().await.ok()?).ok()?;
    Some(Reply { status, headers, body })
}

/// Whether the client should retry the command.
fn is_transient(reply: &Reply) -> bool {
    let again = [StatusCode::CONFLICT, StatusCode::TOO_MANY_REQUESTS];
    let wait = again.contains(&reply.status) && reply.header("retry-after").is_some();
    wait || reply.status.is_server_error()
}

/// A new order of a new consumer, with the consumer's token.
pub async fn new_order<E: Environment>(system: &System<E>) -> (Order, String) {
    let order = Order::new(&consumer(), 5);
    system.publish(std::slice::from_ref(order.event(EventType::OrderCreated))).await;
    let token = system.consumer_token(&order.consumer_id);
    let shown = async || (order_shown(system, &order, &token).await.status == 200).then_some(());
    eventually("the order", shown).await;
    (order, token)
}

async fn order_shown<E: Environment>(system: &System<E>, order: &Order, token: &str) -> ApiResponse {
    system.get_as(token, &format!("/orders/{}", order.id)).await
}

/// Creates and charges a payment intent, and reads the order's history.
pub async fn a_consumer_pays_for_an_order_and_its_history_shows_it(system: &System<impl Environment>) {
    let (order, token) = new_order(system).await;
    let created = system.command(&token, &Command::create(&order.id, 2_818)).await;
    assert_eq!((created.status, &created.body["state"]), (StatusCode::CREATED, &json!("CREATED")), "{created:?}");
    let intent = created.intent_id();
    let found = system.payment_intent(&token, &intent).await.unwrap();
    assert_eq!((found.status, &found.body), (StatusCode::OK, &created.body));
    let changed = system.command(&token, &Command::change_amount(&intent, 3_018)).await;
    assert_eq!((changed.status, &changed.body["amount"]), (StatusCode::OK, &json!(3_018)), "{changed:?}");

    let charge = Command::charge(&intent);
    let charged = system.command(&token, &charge).await;
    assert_eq!(charged.status, StatusCode::ACCEPTED, "{charged:?}");
    let consistency_token = charged.header("consistency-token").expect("the response has no Consistency-Token");
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("consistency-token", consistency_token), ("prefer", "wait=10")];
    let path = format!("/orders/{}", order.id);
    let seen = eventually("the view to have the event", async || {
        let seen = system.get(&path, &headers).await;
        (seen.status != 412).then_some(seen)
    })
    .await;
    assert_eq!((seen.status.as_u16(), &seen.body["payment"]["paymentIntentId"]), (200, &json!(intent)), "{seen:?}");

    let paid = system.await_state(&token, &intent, "CHARGED").await;
    let shown = async || {
        let payment = order_shown(system, &order, &token).await.body["payment"].clone();
        (payment["status"] == "CHARGED").then_some(payment)
    };
    let payment = eventually("the history to show the charge", shown).await;
    let charges = system.charges_of(&order.id).await;
    let [charge_made] = charges.as_slice() else { panic!("expected one charge: {charges:?}") };
    for shown in [&payment["amount"], &paid.body["amount"], &charge_made["amount"]] {
        assert_eq!(shown, &json!(3_018));
    }
    for shown in [&payment["chargeId"], &paid.body["chargeId"]] {
        assert_eq!(shown, &charge_made["chargeId"]);
    }

    // The same command again gets the same response, and charges nothing.
    let again = system.command(&token, &charge).await;
    assert_eq!((again.status, &again.body), (charged.status, &charged.body));
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    let twice = system.command(&token, &Command::charge(&intent)).await;
    assert_eq!((twice.status, twice.problem()), (StatusCode::CONFLICT, "wrong-state"), "{twice:?}");
    assert_eq!(system.charges_of(&order.id).await, charges);
}

/// A declined payment, then a second one: the history shows the second.
pub async fn a_declined_payment_can_be_tried_again(system: &System<impl Environment>) {
    let (order, token) = new_order(system).await;
    let first = system.command(&token, &Command::create(&order.id, 1_002)).await.intent_id();
    let second = system.command(&token, &Command::create(&order.id, 1_000)).await;
    assert_eq!((second.status, second.problem()), (StatusCode::CONFLICT, "order-has-open-intent"), "{second:?}");
    system.command(&token, &Command::charge(&first)).await;
    let failed = system.await_state(&token, &first, "CHARGE_FAILED").await;
    assert!(failed.body["errorCode"].is_string(), "{failed:?}");

    let second = system.command(&token, &Command::create(&order.id, 1_000)).await.intent_id();
    system.command(&token, &Command::charge(&second)).await;
    system.await_state(&token, &second, "CHARGED").await;
    let expected = (json!("CHARGED"), json!(second));
    let shown = async || {
        let payment = order_shown(system, &order, &token).await.body["payment"].clone();
        ((payment["status"].clone(), payment["paymentIntentId"].clone()) == expected).then_some(())
    };
    eventually("the history to show the second payment", shown).await;
    assert_eq!(system.charges_of(&order.id).await.len(), 1);
}

/// A lost response, a 500, a response that comes too late: each ends in exactly one charge.
pub async fn every_fault_of_the_gateway_ends_in_one_charge(system: &System<impl Environment>) {
    let paid = async |amount: i64| {
        let (order, token) = new_order(system).await;
        let intent = system.command(&token, &Command::create(&order.id, amount)).await.intent_id();
        system.command(&token, &Command::charge(&intent)).await;
        let paid = system.await_state(&token, &intent, "CHARGED").await;
        let charges = system.charges_of(&order.id).await;
        assert_eq!(charges.len(), 1, "{amount}: {charges:?}");
        assert_eq!((&paid.body["amount"], &charges[0]["amount"]), (&json!(amount), &json!(amount)));
    };
    futures_util::join!(paid(703), paid(705), paid(709));
}

/// Requests with the tokens of the consumer, of another consumer and of support.
pub async fn a_consumer_can_pay_only_for_themselves(system: &System<impl Environment>) {
    let (order, token) = new_order(system).await;
    let created = system.command(&token, &Command::create(&order.id, 500)).await;
    let intent = created.intent_id();
    assert_eq!(created.body["consumerId"], json!(order.consumer_id));

    let stranger = system.consumer_token(&consumer());
    let seen = system.payment_intent(&stranger, &intent).await.unwrap();
    assert_eq!((seen.status, seen.problem()), (StatusCode::NOT_FOUND, "payment-intent-not-found"));
    for command in [Command::change_amount(&intent, 1), Command::charge(&intent)] {
        let refused = system.command(&stranger, &command).await;
        assert_eq!((refused.status, refused.problem()), (StatusCode::NOT_FOUND, "payment-intent-not-found"));
    }
    let mut for_another = Command::create(&order.id, 500);
    for_another.body["consumerId"] = json!(order.consumer_id);
    let refused = system.command(&stranger, &for_another).await;
    assert_eq!((refused.status, refused.problem()), (StatusCode::FORBIDDEN, "forbidden"), "{refused:?}");

    let agent = system.environment.token(&json!({"sub": "support", "scope": "payments:write-any"}));
    let changed = system.command(&agent, &Command::change_amount(&intent, 400)).await;
    assert_eq!((changed.status, &changed.body["amount"]), (StatusCode::OK, &json!(400)), "{changed:?}");
}
