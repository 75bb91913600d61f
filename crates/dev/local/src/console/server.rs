//! The console's HTTP server: its page, and the API of the page.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn;
use axum::response::{Redirect, Response};
use axum::routing::{any, get, post};
use serde::Deserialize;
use serde_json::json;

use super::problem::{Problem, json_response};
use super::{Console, guard, site};

/// The default and the largest number of log lines in a response.
const LINES: usize = 50;
const MAX_LINES: usize = 1_000;

type Shared = State<Arc<Console>>;
type ConsoleResult = Result<Response, Problem>;

/// The routes below `/console`. They go in front of all others.
pub(crate) fn routes(console: Console) -> Router {
    let api = Router::new()
        .route("/state", get(state))
        .route("/functions/{name}/log", get(log))
        .route("/functions/{name}/kill", post(kill))
        .route("/dead-letters/{queue}", get(dead_letters))
        .route("/dead-letters/{queue}/redrive", post(redrive))
        .route("/orders", post(create_order))
        .route("/orders/{order_id}/next", get(next_events))
        .route("/orders/{order_id}/events", post(publish_event))
        .route("/shuffles", post(start_shuffle))
        .route("/shuffles/{id}", get(shuffle))
        .with_state(Arc::new(console));
    Router::new()
        .route("/console", get(async || Redirect::temporary("/console/")))
        .route("/console/", get(async |headers: HeaderMap| site::file("/", &headers)))
        .route("/console/assets/{file}", get(asset))
        .nest("/console/api", api)
        .route("/console/{*path}", any(not_found))
        .method_not_allowed_fallback(wrong_method)
        .route_layer(from_fn(guard::check))
        .route_layer(from_fn(site::secure))
}

async fn asset(Path(file): Path<String>, headers: HeaderMap) -> ConsoleResult {
    site::file(&format!("/assets/{file}"), &headers)
}

async fn not_found() -> Problem {
    Problem::not_found("the console has no such path")
}

async fn wrong_method() -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "use GET to read and POST to act")
}

async fn state(State(console): Shared) -> ConsoleResult {
    Ok(json_response(&console.state().await?))
}

async fn log(State(console): Shared, Path(name): Path<String>, RawQuery(query): RawQuery) -> ConsoleResult {
    let function = console.functions.named(&name)?;
    let query = query.unwrap_or_default();
    let lines = match query.split('&').find_map(|parameter| parameter.strip_prefix("lines=")) {
        None => LINES,
        Some(lines) => lines
            .parse()
            .ok()
            .filter(|lines| (1..=MAX_LINES).contains(lines))
            .ok_or_else(|| Problem::bad_request(format!("lines must be a number from 1 to {MAX_LINES}")))?,
    };
    Ok(json_response(&json!({"lines": function.last_lines(lines).await?})))
}

/// The body `{}` of requests without parameters.
#[derive(Deserialize)]
struct EmptyBody {}

async fn kill(State(console): Shared, Path(name): Path<String>, headers: HeaderMap, body: Body) -> ConsoleResult {
    let EmptyBody {} = guard::body(&headers, body).await?;
    Ok(json_response(&json!({"killed": console.functions.named(&name)?.kill()})))
}

async fn dead_letters(State(console): Shared, Path(queue): Path<String>) -> ConsoleResult {
    let queue = console.dead_letter_queue(&queue)?;
    let function = console.functions.named(&queue.function)?;
    Ok(json_response(&json!({"messages": console.dead_letters.of(queue, function).await?})))
}

async fn redrive(State(console): Shared, Path(queue): Path<String>, headers: HeaderMap, body: Body) -> ConsoleResult {
    let EmptyBody {} = guard::body(&headers, body).await?;
    let queue = console.dead_letter_queue(&queue)?;
    Ok(json_response(&json!({"moved": console.dead_letters.redrive(queue).await?})))
}

async fn create_order(State(console): Shared, headers: HeaderMap, body: Body) -> ConsoleResult {
    let EmptyBody {} = guard::body(&headers, body).await?;
    Ok(json_response(&json!({"orderId": console.orders.create().await?})))
}

async fn next_events(State(console): Shared, Path(order_id): Path<String>) -> ConsoleResult {
    Ok(json_response(&json!({"events": console.orders.next(&order_id).await?})))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Publish {
    event_type: String,
}

async fn publish_event(
    State(console): Shared,
    Path(order_id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> ConsoleResult {
    let Publish { event_type } = guard::body(&headers, body).await?;
    Ok(json_response(&json!({"eventId": console.orders.publish_next(&order_id, &event_type).await?})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartShuffle {
    seed: Option<u64>,
}

async fn start_shuffle(State(console): Shared, headers: HeaderMap, body: Body) -> ConsoleResult {
    let StartShuffle { seed } = guard::body(&headers, body).await?;
    Ok(json_response(&json!({"id": console.shuffles.start(seed)?})))
}

async fn shuffle(State(console): Shared, Path(id): Path<String>) -> ConsoleResult {
    let shuffle = console.shuffles.find(&id).ok_or_else(|| Problem::not_found("there is no shuffle with this id"))?;
    Ok(json_response(&shuffle))
}

impl Console {
    /// Finds a queue by its own name or by the name of its dead-letter queue.
    fn dead_letter_queue(&self, name: &str) -> Result<&super::WatchedQueue, Problem> {
        let found = self.queues.iter().find(|queue| [queue.queue.name(), queue.dead_letters.name()].contains(&name));
        found.ok_or_else(|| Problem::not_found("there is no queue with this name"))
    }
}
