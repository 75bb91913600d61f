//! The routes.

use std::time::{Duration, SystemTime};

use lambda_boot::{Clock, Line, is_logged, with_causes};
use order_store::{HistoryQuery, OrderStore, Page};
use order_view::OrderView;
use serde::Serialize;
use serde_json::json;
use tokio::time::{Instant, timeout_at};
use tracing::Level;

use crate::caller::Caller;
use crate::config::Config;
use crate::consistency::Consistency;
use crate::history::{self, History};
use crate::order::Order;
use crate::page_token::PageToken;
use crate::parameters::{Mistaken, Parameters};
use crate::problem::{ALLOW, Cause, Problem, ProblemKind};
use crate::request::Request;
use crate::response::{Response, tag};
use crate::{Authorization, openapi};

/// The API over one table.
pub struct Api {
    orders: OrderStore,
    authorization: Authorization,
    read_budget: usize,
    max_wait: Duration,
    metrics_namespace: String,
    function_version: String,
    clock: Clock,
}

/// How long before the invocation's deadline no wait and no further read of a list begins: to read once more and answer.
const CLOSING_TIME: Duration = Duration::from_secs(1);

/// How long before the invocation's deadline the answer is given up, so that 503 is our answer and not Lambda's timeout.
const RESPONSE_TIME: Duration = Duration::from_millis(500);

/// An answer that took so long is logged: the alarm `SlowAnswers` of `template.yaml` begins at three seconds.
const SLOW: Duration = Duration::from_secs(1);

const JSON: &str = "application/json";

/// What a path names.
enum Resource {
    Orders,
    Order(String),
    OpenApi,
    Health,
}

impl Resource {
    fn of(request: &Request) -> Option<Self> {
        match request.path() {
            "/orders" => Some(Self::Orders),
            "/openapi.json" => Some(Self::OpenApi),
            "/health" => Some(Self::Health),
            path => {
                // API Gateway has decoded the path and its parameter, so an order id may have slashes.
                let order_id = path.strip_prefix("/orders/").filter(|order_id| !order_id.is_empty())?;
                Some(Self::Order(request.path_parameter("orderId").unwrap_or(order_id).to_owned()))
            }
        }
    }

    /// Whether the path can name a resource: an order id must be a valid one.
    fn check(&self) -> Result<(), Problem> {
        let Self::Order(order_id) = self else { return Ok(()) };
        let mut parameters = Parameters::default();
        let order_id = parameters.order_id(order_id);
        parameters.finish(order_id).map(drop)
    }

    /// As in the `OpenAPI` document.
    fn route(&self) -> &'static str {
        match self {
            Self::Orders => "/orders",
            Self::Order(_) => "/orders/{orderId}",
            Self::OpenApi => "/openapi.json",
            Self::Health => "/health",
        }
    }
}

impl Api {
    /// The API over a store.
    #[must_use]
    pub fn new(orders: OrderStore, config: Config, clock: Clock) -> Self {
        let Config { authorization, read_budget, max_wait, metrics_namespace, function_version, .. } = config;
        Self { orders, authorization, read_budget, max_wait, metrics_namespace, function_version, clock }
    }

    /// Answers a request. It never fails: a malformed request is answered too.
    pub async fn handle(&self, request: Request, deadline: SystemTime) -> Response {
        let resource = Resource::of(&request);
        let route = resource.as_ref().map_or("none", Resource::route);
        let (request_id, method, begun) = (request.id(), request.method(), Instant::now());
        let answer = timeout_at(self.before(deadline, RESPONSE_TIME), self.answer(&request, resource, deadline)).await;
        let answer = answer.unwrap_or_else(|_| Err(Cause::OutOfTime.into()));
        let response = answer.unwrap_or_else(|problem| {
            if let Some(cause) = &problem.cause {
                tracing::error!(request_id, route, reason = cause.code(), error = with_causes(cause), "not answered");
            }
            problem.respond(request_id)
        });
        let response = if method == "HEAD" { response.without_body() } else { response };
        let (status, took) = (response.status_code, begun.elapsed());
        if status >= 500 {
            self.count_server_error(request_id);
        }
        // API Gateway's access log has a line for every request, with its id, route, status and latency.
        if took >= SLOW {
            let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            tracing::info!(request_id, method, route, status, took_ms, "slow answer");
        } else if is_logged(Level::DEBUG) {
            let line = Line::new(Level::DEBUG, self.clock.now()).with("request_id", request_id).with("method", method);
            println!("{}", line.with("route", route).with("status", status).with("message", "answered"));
        }
        response
    }

    async fn answer(
        &self,
        request: &Request,
        resource: Option<Resource>,
        deadline: SystemTime,
    ) -> Result<Response, Problem> {
        let resource = resource.ok_or(ProblemKind::RouteNotFound)?;
        match request.method() {
            "GET" | "HEAD" => {}
            "OPTIONS" => {
                resource.check()?;
                return Ok(Response::empty(204).with("allow", ALLOW));
            }
            _ => return Err(ProblemKind::MethodNotAllowed.into()),
        }
        match resource {
            Resource::Orders => self.find_order_history(request, deadline).await,
            Resource::Order(order_id) => self.find_order(request, &order_id, deadline).await,
            Resource::OpenApi => {
                let document = Response::json(200, JSON, openapi::SERVED.to_owned());
                Ok(document.with("cache-control", "public, max-age=300"))
            }
            Resource::Health => self.health(request).await,
        }
    }

    async fn find_order(&self, request: &Request, order_id: &str, deadline: SystemTime) -> Result<Response, Problem> {
        let caller = Caller::identify(request, &self.authorization)?;
        let mut parameters = Parameters::read(request.query_string(), &[]);
        let order_id = parameters.order_id(order_id);
        let (now, max_wait) = (self.clock.now(), self.max_wait);
        let consistency = Consistency::read(request, &mut parameters, order_id.as_ref().ok(), now, max_wait);
        let (order_id, consistency) = parameters.finish(both(order_id, consistency))?;

        let visible = |order: &OrderView| caller.may_see(&order.consumer_id);
        let order = if let Some(consistency) = consistency {
            consistency.wait_for_order(&self.orders, self.before(deadline, CLOSING_TIME), visible).await?
        } else {
            let order = self.orders.find_order(&order_id).await?.and_then(|found| OrderView::of(order_id, found));
            order.filter(visible).ok_or(ProblemKind::OrderNotFound)?
        };
        self.report_unreadable(request.id(), [&order]);
        let order = json_text(&Order::from(&order))?;
        let tag = tag([order.as_str()]);
        Ok(Response::json(200, JSON, order).cached_privately(&tag, request.header("if-none-match")))
    }

    async fn find_order_history(&self, request: &Request, deadline: SystemTime) -> Result<Response, Problem> {
        let caller = Caller::identify(request, &self.authorization)?;
        let mut parameters = Parameters::read(request.query_string(), &history::parameter::ALL);
        let read_until = self.before(deadline, CLOSING_TIME);
        let (now, read_budget) = (self.clock.now(), self.read_budget);
        let query = history::read_query(&mut parameters, &caller, now, read_budget, read_until.into_std());
        let consistency = Consistency::read(request, &mut parameters, None, now, self.max_wait);
        let (query, consistency) = parameters.finish(both(query, consistency))?;
        if !caller.may_see(&query.consumer_id) {
            return Err(ProblemKind::Forbidden.into());
        }

        let theirs = |order: &OrderView| order.consumer_id == query.consumer_id;
        if let Some(consistency) = &consistency {
            consistency.wait_for_order(&self.orders, read_until, theirs).await?;
        }
        let mut page = self.orders.find_order_history(&query).await?;
        if let Some(consistency) = &consistency {
            // Read after the index, so that it is never older than the page.
            let order_id = &consistency.token.order_id;
            let fresh = self.orders.find_order(order_id).await?;
            if let Some(fresh) = fresh.and_then(|found| OrderView::of(order_id.clone(), found)).filter(theirs) {
                page.show(fresh, &query);
            }
        }
        self.show(page, request, &query)
    }

    /// A page as a response, cut where Lambda would refuse a larger one.
    fn show(&self, mut page: Page, request: &Request, query: &HistoryQuery) -> Result<Response, Problem> {
        let request_id = request.id();
        for unreadable in &page.left_out {
            tracing::error!(
                request_id,
                attribute = unreadable.attribute,
                "an item whose key cannot be read is left out of the list"
            );
        }
        let shared = history::shared_parameters(request.query_string());
        let orders = history::entries_that_fit(&page.orders, shared.len()).map_err(|_| ProblemKind::Internal)?;
        let (shown, cut) = (orders.len(), page.orders.len() - orders.len());
        if cut > 0 {
            page.cut(shown);
            tracing::info!(request_id, shown, cut, "page cut: Lambda would refuse an answer with more orders");
        }
        self.report_unreadable(request_id, &page.orders);
        // Not the token: it holds the default `since`, which moves with every request.
        let tag = tag(orders.iter().map(|order| order.get()).chain([format!("{:?}", page.next).as_str()]));
        let start_key = page.next.map(|position| PageToken::new(&query.consumer_id, &query.filter, position).encode());
        let link = start_key.as_ref().and_then(|start_key| history::next_link(&shared, start_key));
        let response = Response::json(200, JSON, json_text(&History { orders, start_key })?);
        let response = link.into_iter().fold(response, |response, link| response.with("link", link));
        Ok(response.cached_privately(&tag, request.header("if-none-match")))
    }

    async fn health(&self, request: &Request) -> Result<Response, Problem> {
        let mut parameters = Parameters::read(request.query_string(), &["deep"]);
        let deep = parameters.one("deep", |text| match text {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err("must be 0 or 1"),
        });
        if parameters.finish(deep)? == Some(true) {
            self.orders.ping().await?;
        }
        Ok(Response::json(200, JSON, json!({"status": "ok"}).to_string()).with("cache-control", "no-store"))
    }

    /// Counts an answer with 5xx by version: a rollout is taken back if the new version has too many.
    fn count_server_error(&self, request_id: &str) {
        let dimensions = [("Function", "query-api"), ("Version", self.function_version.as_str())];
        let line = Line::new(Level::INFO, self.clock.now()).in_namespace(&self.metrics_namespace, &dimensions);
        let line = line.count("ServerErrors", 1).with("message", "server error").with("request_id", request_id);
        println!("{line}");
    }

    /// Tells the operator what of the orders shown this version cannot read.
    fn report_unreadable<'a>(&self, request_id: &str, orders: impl IntoIterator<Item = &'a OrderView>) {
        for order in orders.into_iter().filter(|order| !order.unreadable.is_empty()) {
            let attributes: Vec<_> = order.unreadable.iter().map(|unreadable| unreadable.attribute.as_str()).collect();
            let (order_id, attributes) = (order.order_id.as_str(), attributes.join(", "));
            let line = Line::new(Level::WARN, self.clock.now())
                .in_namespace(&self.metrics_namespace, &[("Function", "query-api")])
                .count("UnreadableAttributes", order.unreadable.len())
                .with("message", "attributes left out: this version cannot read them")
                .with("request_id", request_id)
                .with("order_id", order_id)
                .with("attributes", attributes);
            println!("{line}");
        }
    }

    /// The moment that is `time` before the deadline, or now if it has passed.
    fn before(&self, deadline: SystemTime, time: Duration) -> Instant {
        let left = deadline.duration_since(self.clock.now()).unwrap_or_default();
        Instant::now() + left.saturating_sub(time)
    }
}

fn both<T, U>(first: Result<T, Mistaken>, second: Result<U, Mistaken>) -> Result<(T, U), Mistaken> {
    Ok((first?, second?))
}

fn json_text(value: &impl Serialize) -> Result<String, ProblemKind> {
    serde_json::to_string(value).map_err(|_| ProblemKind::Internal)
}
