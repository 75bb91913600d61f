//! The routes.

use std::time::{Duration, SystemTime};

use lambda_boot::{Clock, MetricLine, with_causes};
use order_store::OrderStore;
use order_view::OrderView;
use serde::Serialize;
use serde_json::json;
use tokio::time::Instant;

use crate::caller::Caller;
use crate::config::Config;
use crate::consistency::Consistency;
use crate::history::{self, History};
use crate::order::{Order, OrderEntry};
use crate::page_token::PageToken;
use crate::parameters::{Mistaken, Parameters};
use crate::problem::{ALLOW, Problem, ProblemKind};
use crate::request::Request;
use crate::response::Response;
use crate::{Authorization, openapi};

/// The API over one table.
pub struct Api {
    orders: OrderStore,
    authorization: Authorization,
    read_budget: usize,
    metrics_namespace: String,
    clock: Clock,
}

/// Reserved at the end of the invocation's time, to read once more and answer.
const CLOSING_TIME: Duration = Duration::from_secs(1);

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
        let path = request.path().strip_prefix('/')?;
        match path.split('/').collect::<Vec<_>>().as_slice() {
            ["orders"] => Some(Self::Orders),
            // API Gateway has decoded both, the parameter only where the route has it.
            ["orders", order_id] if !order_id.is_empty() => {
                Some(Self::Order(request.path_parameter("orderId").unwrap_or(order_id).to_owned()))
            }
            ["openapi.json"] => Some(Self::OpenApi),
            ["health"] => Some(Self::Health),
            _ => None,
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
        let Config { authorization, read_budget, metrics_namespace, .. } = config;
        Self { orders, authorization, read_budget, metrics_namespace, clock }
    }

    /// Answers a request. It never fails: a malformed request is answered too.
    pub async fn handle(&self, request: Request, deadline: SystemTime) -> Response {
        let resource = Resource::of(&request);
        let route = resource.as_ref().map_or("none", Resource::route);
        let (request_id, method) = (request.id(), request.method());
        let answer = self.answer(&request, resource, deadline).await;
        let mut response = answer.unwrap_or_else(|problem| {
            if let Some(cause) = &problem.cause {
                tracing::error!(request_id, route, reason = cause.code(), error = with_causes(cause), "not answered");
            }
            problem.respond(request_id)
        });
        if method == "HEAD" {
            response.body = None;
        }
        tracing::info!(request_id, method, route, status = response.status_code, "answered");
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
        let consistency = Consistency::read(request, &mut parameters, order_id.as_ref().ok());
        let (order_id, consistency) = parameters.finish(both(order_id, consistency))?;

        let visible = |order: &OrderView| caller.may_see(&order.consumer_id);
        let order = if let Some(consistency) = consistency {
            consistency.wait_for_order(&self.orders, self.latest_answer(deadline), visible).await?
        } else {
            let order = self.orders.find_order(&order_id).await?.and_then(|found| OrderView::of(order_id, found));
            order.filter(visible).ok_or(ProblemKind::OrderNotFound)?
        };
        self.report_unreadable(request.id(), [&order]);
        let order = json_text(&Order::from(&order))?;
        let response = Response::json(200, JSON, order.clone());
        Ok(response.cached_privately(&order, request.header("if-none-match")))
    }

    async fn find_order_history(&self, request: &Request, deadline: SystemTime) -> Result<Response, Problem> {
        let caller = Caller::identify(request, &self.authorization)?;
        let mut parameters = Parameters::read(request.query_string(), &history::parameter::ALL);
        let read_until = self.latest_answer(deadline).into_std();
        let query = history::read_query(&mut parameters, &caller, self.clock.now(), self.read_budget, read_until);
        let consistency = Consistency::read(request, &mut parameters, None);
        let (query, consistency) = parameters.finish(both(query, consistency))?;
        if !caller.may_see(&query.consumer_id) {
            return Err(ProblemKind::Forbidden.into());
        }

        let theirs = |order: &OrderView| order.consumer_id == query.consumer_id;
        if let Some(consistency) = &consistency {
            consistency.wait_for_order(&self.orders, self.latest_answer(deadline), theirs).await?;
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

        self.report_unreadable(request.id(), &page.orders);
        for unreadable in &page.left_out {
            let (request_id, attribute) = (request.id(), &unreadable.attribute);
            tracing::error!(request_id, attribute, "an item whose key cannot be read is left out of the list");
        }
        let orders: Vec<_> = page.orders.iter().map(OrderEntry::from).collect();
        // Not the token: it holds the default `since`, which moves with every request.
        let shown = format!("{} {:?}", json_text(&orders)?, page.next);
        let start_key = page.next.map(|position| PageToken::new(&query.consumer_id, &query.filter, position).encode());
        let link = start_key.as_ref().map(|start_key| history::next_link(request.query_string(), start_key));
        let response = Response::json(200, JSON, json_text(&History { orders, start_key })?);
        let response = link.into_iter().fold(response, |response, link| response.with("link", link));
        Ok(response.cached_privately(&shown, request.header("if-none-match")))
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

    /// Tells the operator what of the orders shown this version cannot read.
    fn report_unreadable<'a>(&self, request_id: &str, orders: impl IntoIterator<Item = &'a OrderView>) {
        for order in orders.into_iter().filter(|order| !order.unreadable.is_empty()) {
            let attributes: Vec<_> = order.unreadable.iter().map(|unreadable| unreadable.attribute.as_str()).collect();
            let (order_id, attributes) = (order.order_id.as_str(), attributes.join(", "));
            tracing::warn!(request_id, order_id, attributes, "attributes left out: this version cannot read them");
            let line = MetricLine::new(&[("Function", "query-api")])
                .metric("UnreadableAttributes", "Count", order.unreadable.len())
                .with("order_id", order_id)
                .with("attributes", attributes);
            println!("{}", line.into_text(&self.metrics_namespace, self.clock.now()));
        }
    }

    /// When to stop waiting and reading, so that the answer is sent before the deadline.
    fn latest_answer(&self, deadline: SystemTime) -> Instant {
        let left = deadline.duration_since(self.clock.now()).unwrap_or_default();
        Instant::now() + left.saturating_sub(CLOSING_TIME)
    }
}

fn both<T, U>(first: Result<T, Mistaken>, second: Result<U, Mistaken>) -> Result<(T, U), Mistaken> {
    Ok((first?, second?))
}

fn json_text(value: &impl Serialize) -> Result<String, ProblemKind> {
    serde_json::to_string(value).map_err(|_| ProblemKind::Internal)
}
