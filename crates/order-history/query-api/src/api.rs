//! The routes.

use std::time::{Duration, SystemTime};

use api_gateway::{HttpFunction, JSON, Mistaken, Parameters, Request, Response};
use lambda_boot::{Clock, Line};
use order_events::OrderId;
use order_store::{HistoryQuery, OrderStore, Page};
use order_view::OrderView;
use serde::Serialize;
use serde_json::json;
use tracing::Level;
use web::File;

use crate::caller::Caller;
use crate::config::Config;
use crate::consistency::Consistency;
use crate::history::{self, History};
use crate::order::Order;
use crate::page_token::PageToken;
use crate::problem::{ALLOW, Problem, ProblemKind};
use crate::response::tag;
use crate::web_page::WebPage;
use crate::{Authorization, openapi};

/// Serves the HTTP API of the order history from one table.
pub struct Api {
    orders: OrderStore,
    authorization: Authorization,
    read_budget: usize,
    max_wait: Duration,
    web_page: WebPage,
    function: HttpFunction,
}

/// Waits and reads of a list stop this long before the invocation's deadline, to leave time for one more read and the response.
const TIME_TO_ANSWER: Duration = Duration::from_secs(1);

/// The resource that a path names.
enum Resource {
    Orders,
    Order(String),
    OpenApi,
    Health,
    /// A file of the page.
    File(&'static File),
    /// A file of a page that another version of this function has served.
    FileOfOtherBuild(&'static File),
    /// The page's settings.
    Settings,
}

impl Resource {
    fn of(request: &Request) -> Option<Self> {
        match request.path() {
            "/orders" => Some(Self::Orders),
            "/openapi.json" => Some(Self::OpenApi),
            "/health" => Some(Self::Health),
            "/config.json" => Some(Self::Settings),
            path if path == "/" || path.starts_with("/assets/") => {
                let of_other_build = || web::PAGE.find_of_other_build(path).map(Self::FileOfOtherBuild);
                web::PAGE.find(path).map(Self::File).or_else(of_other_build)
            }
            path => {
                // API Gateway has decoded the path and its parameter, so an order id may contain slashes.
                let order_id = path.strip_prefix("/orders/").filter(|order_id| !order_id.is_empty())?;
                Some(Self::Order(request.path_parameter("orderId").unwrap_or(order_id).to_owned()))
            }
        }
    }

    /// Checks the order id in the path.
    fn check(&self) -> Result<(), Problem> {
        let Self::Order(order_id) = self else { return Ok(()) };
        let mut parameters = Parameters::default();
        let order_id = read_order_id(&mut parameters, order_id);
        Ok(parameters.finish(order_id).map(drop)?)
    }

    /// The path in the `OpenAPI` document, which does not contain the page.
    fn route(&self) -> &'static str {
        match self {
            Self::Orders => "/orders",
            Self::Order(_) => "/orders/{orderId}",
            Self::OpenApi => "/openapi.json",
            Self::Health => "/health",
            Self::File(file) if !file.is_immutable() => "/",
            Self::File(_) | Self::FileOfOtherBuild(_) => "/assets/{file}",
            Self::Settings => "/config.json",
        }
    }
}

impl Api {
    /// Creates an API on top of a store.
    #[must_use]
    pub fn new(orders: OrderStore, config: Config, clock: Clock) -> Self {
        let Config { authorization, read_budget, max_wait, web_page, metrics_namespace, function_version, .. } = config;
        let function = HttpFunction::new("query-api", metrics_namespace, function_version, clock);
        Self { orders, authorization, read_budget, max_wait, web_page, function }
    }

    /// Answers a request. It never fails: a malformed request is answered too.
    pub async fn handle(&self, request: Request, deadline: SystemTime) -> Response {
        let resource = Resource::of(&request);
        let route = resource.as_ref().map_or("none", Resource::route);
        // Boxed: otherwise the future's type is too deep for the compiler's recursion limit.
        let work = Box::pin(self.dispatch(&request, resource, deadline));
        self.function.respond(&request, route, deadline, work).await
    }

    async fn dispatch(
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
            // Any query string is allowed: a sign-in returns to the page with parameters for its script.
            Resource::File(file) => Ok(self.web_page.file(request, file)),
            Resource::FileOfOtherBuild(file) => Ok(self.web_page.file(request, file).with("cache-control", "no-store")),
            Resource::Settings => Ok(self.web_page.settings(request, &self.authorization)?),
        }
    }

    async fn find_order(&self, request: &Request, order_id: &str, deadline: SystemTime) -> Result<Response, Problem> {
        let caller = Caller::identify(request, &self.authorization)?;
        let mut parameters = Parameters::read(request.query_string(), &[]);
        let order_id = read_order_id(&mut parameters, order_id);
        let (now, max_wait) = (self.function.clock.now(), self.max_wait);
        let consistency = Consistency::read(request, &mut parameters, order_id.as_ref().ok(), now, max_wait);
        let (order_id, consistency) = parameters.finish(both(order_id, consistency))?;

        let visible = |order: &OrderView| caller.may_see(&order.consumer_id);
        let order = if let Some(consistency) = consistency {
            consistency.wait_for_order(&self.orders, self.function.before(deadline, TIME_TO_ANSWER), visible).await?
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
        let read_until = self.function.before(deadline, TIME_TO_ANSWER);
        let (now, read_budget) = (self.function.clock.now(), self.read_budget);
        let query = history::read_query(&mut parameters, &caller, now, read_budget, read_until.into_std());
        let consistency = Consistency::read(request, &mut parameters, None, now, self.max_wait);
        let (query, consistency) = parameters.finish(both(query, consistency))?;
        if !caller.may_see(&query.consumer_id) {
            return Err(ProblemKind::Forbidden.into());
        }

        let is_of_consumer = |order: &OrderView| order.consumer_id == query.consumer_id;
        if let Some(consistency) = &consistency {
            consistency.wait_for_order(&self.orders, read_until, is_of_consumer).await?;
        }
        let mut page = self.orders.find_order_history(&query).await?;
        if let Some(consistency) = &consistency {
            // Read after the index, so that it is never older than the page.
            let order_id = &consistency.token.order_id;
            let fresh = self.orders.find_order(order_id).await?;
            if let Some(fresh) = fresh.and_then(|found| OrderView::of(order_id.clone(), found)).filter(is_of_consumer) {
                page.put_fresh(fresh, &query);
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
                "item left out of the list: its key cannot be read"
            );
        }
        let shared = history::shared_parameters(request.query_string());
        let orders = history::entries_that_fit(&page.orders, shared.len()).map_err(|_| ProblemKind::Internal)?;
        let (shown, cut) = (orders.len(), page.orders.len() - orders.len());
        if cut > 0 {
            page.cut(shown);
            tracing::info!(request_id, shown, cut, "page cut: Lambda would refuse a response with more orders");
        }
        self.report_unreadable(request_id, &page.orders);
        // Not of the token, because it contains the default `since`, which changes with every request.
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

    /// Logs the attributes of the shown orders that this version cannot read.
    fn report_unreadable<'a>(&self, request_id: &str, orders: impl IntoIterator<Item = &'a OrderView>) {
        for order in orders.into_iter().filter(|order| !order.unreadable.is_empty()) {
            let attributes: Vec<_> = order.unreadable.iter().map(|unreadable| unreadable.attribute.as_str()).collect();
            let (order_id, attributes) = (order.order_id.as_str(), attributes.join(", "));
            let line = Line::new(Level::WARN, self.function.clock.now())
                .in_namespace(&self.function.metrics_namespace, &[("Function", "query-api")])
                .count("UnreadableAttributes", order.unreadable.len())
                .with("message", "attributes left out: this version cannot read them")
                .with("request_id", request_id)
                .with("order_id", order_id)
                .with("attributes", attributes);
            println!("{line}");
        }
    }
}

/// Reads the order id in the path.
fn read_order_id(parameters: &mut Parameters, text: &str) -> Result<OrderId, Mistaken> {
    OrderId::parse(text).map_err(|error| parameters.mistake_in("path", "orderId", error))
}

fn both<T, U>(first: Result<T, Mistaken>, second: Result<U, Mistaken>) -> Result<(T, U), Mistaken> {
    Ok((first?, second?))
}

fn json_text(value: &impl Serialize) -> Result<String, ProblemKind> {
    serde_json::to_string(value).map_err(|_| ProblemKind::Internal)
}
