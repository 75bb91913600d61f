//! An API Gateway HTTP API: each HTTP request is one invocation of a function, with payload format 2.0.
//!
//! The format is AWS's:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html>.
//! For what AWS does not document, this follows AWS's own emulator of API Gateway, which was compared with AWS:
//! <https://github.com/aws/aws-lambda-dotnet/tree/master/Tools/LambdaTestTool-v2>.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, SET_COOKIE, TRANSFER_ENCODING, USER_AGENT,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use uuid::Uuid;

use crate::lambda::{InvokeError, PAYLOAD_LIMIT, Settings};
use crate::pool::Pool;
use crate::processes::Processes;
use crate::route::{Route, RouteMatch};
use crate::{ACCOUNT, body};

const REQUEST_ID: HeaderName = HeaderName::from_static("apigw-requestid");

/// A function behind an HTTP API.
#[derive(Debug, Clone)]
pub struct Integration {
    /// The function that answers the requests.
    pub function: Settings,
    /// The largest number of processes that run at the same time (at least one). A further request waits for an idle process.
    pub concurrency: usize,
    /// The routes that the function serves.
    pub routes: Vec<Route>,
}

/// Serves one function over HTTP until this future is dropped. See [`serve_all`].
pub async fn serve(
    listener: TcpListener,
    function: Settings,
    concurrency: usize,
    routes: Vec<Route>,
    authorizer: impl Fn(&HeaderMap) -> Option<Value> + Send + Sync + 'static,
) -> io::Result<()> {
    serve_all(listener, vec![Integration { function, concurrency, routes }], authorizer).await
}

/// Serves functions over HTTP until this future is dropped. The most specific of all routes decides which function
/// answers a request.
///
/// As in Lambda, a process serves one request at a time, is reused for the next one, and is replaced if it ended, timed
/// out or returned a response that Lambda rejects. Unlike in Lambda, the process also ends if the client disconnects before the response.
///
/// A request that no route matches gets 404, as in API Gateway. `authorizer` makes the event's `requestContext.authorizer` from
/// the request's headers, such as `{"jwt": {"claims": {"sub": "..."}, "scopes": null}}` (see [`unverified_claims`]). If it
/// returns `None`, and on routes without authorization, the event has no `authorizer`. This gateway
/// verifies no token and rejects no request.
pub async fn serve_all(
    listener: TcpListener,
    integrations: Vec<Integration>,
    authorizer: impl Fn(&HeaderMap) -> Option<Value> + Send + Sync + 'static,
) -> io::Result<()> {
    HttpApi::start(integrations, authorizer).await?.serve_behind(listener, Router::new()).await
}

/// An HTTP API whose functions are started. They end with this value.
pub struct HttpApi {
    processes: Vec<Processes>,
    gateway: Gateway,
}

impl HttpApi {
    /// Starts the functions. See [`serve_all`].
    pub async fn start(
        integrations: Vec<Integration>,
        authorizer: impl Fn(&HeaderMap) -> Option<Value> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let (mut routes, mut backends, mut processes) = (Vec::new(), Vec::new(), Vec::new());
        for Integration { function, concurrency, routes: its_routes } in integrations {
            let function = Pool::new(function);
            function.warm_up().await?;
            processes.push(Processes::new(&function));
            let backend = Arc::new(Backend { function, permits: Semaphore::new(concurrency.max(1)) });
            backends.extend(its_routes.iter().map(|_| Arc::clone(&backend)));
            routes.extend(its_routes);
        }
        let gateway = Gateway { routes, backends, authorizer: Box::new(authorizer), port: 0 };
        Ok(Self { processes, gateway })
    }

    /// The processes of the functions, in the order of their integrations.
    #[must_use]
    pub fn processes(&self) -> &[Processes] {
        &self.processes
    }

    /// Serves `routes`, and with the functions every request that they do not match, until this future is dropped.
    pub async fn serve_behind(self, listener: TcpListener, routes: Router) -> io::Result<()> {
        let port = listener.local_addr()?.port();
        let gateway = Gateway { port, ..self.gateway };
        let api = Router::new().fallback(handle).with_state(Arc::new(gateway));
        let service = routes.fallback_service(api).into_make_service_with_connect_info::<SocketAddr>();
        axum::serve(listener, service).await
    }
}

impl std::fmt::Debug for HttpApi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpApi").field("processes", &self.processes).finish_non_exhaustive()
    }
}

/// An authorizer that accepts the claims of any bearer token. It returns what API Gateway's JWT authorizer would return,
/// but does not check signature, issuer or expiry. Without a readable token it returns `None`.
///
/// API Gateway passes every claim as a string, an array as `[a b]`, and leaves out null. AWS does not document
/// this; it was measured: <https://github.com/floci-io/floci/pull/2011>.
#[must_use]
pub fn unverified_claims(headers: &HeaderMap) -> Option<Value> {
    let token = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ")?;
    let payload = BASE64_URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Map<String, Value> = serde_json::from_slice(&payload).ok()?;
    let claims = claims.into_iter().filter(|(_, claim)| !claim.is_null());
    let claims: BTreeMap<_, _> = claims.map(|(name, claim)| (name, claim_text(&claim))).collect();
    Some(json!({"jwt": {"claims": claims, "scopes": null}}))
}

fn claim_text(claim: &Value) -> String {
    match claim {
        Value::String(text) => text.clone(),
        Value::Array(elements) => format!("[{}]", elements.iter().map(claim_text).collect::<Vec<_>>().join(" ")),
        other => other.to_string(),
    }
}

type Authorizer = dyn Fn(&HeaderMap) -> Option<Value> + Send + Sync;

struct Gateway {
    routes: Vec<Route>,
    /// The backend of the route with the same index.
    backends: Vec<Arc<Backend>>,
    authorizer: Box<Authorizer>,
    port: u16,
}

struct Backend {
    function: Arc<Pool>,
    permits: Semaphore,
}

/// Why the gateway responds instead of the function.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("no route matches the request")]
    NoRoute,
    #[error("the request's body could not be read")]
    BrokenBody(#[source] axum::Error),
    #[error("the request's body has more than {PAYLOAD_LIMIT} bytes")]
    LargeBody,
    #[error(transparent)]
    Invoke(#[from] InvokeError),
    #[error("the function's response has a status code but is not in payload format 2.0")]
    Format(#[from] serde_json::Error),
    #[error("the function's response has an invalid status or header")]
    Http(#[from] axum::http::Error),
    #[error("the function's response has an interim status: {0}")]
    Interim(StatusCode),
    #[error("the body of the function's response is not base64")]
    Base64(#[from] base64::DecodeError),
}

async fn handle(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(client): ConnectInfo<SocketAddr>,
    request: Request,
) -> Response {
    let request_id = Uuid::new_v4().to_string();
    let mut response = gateway.respond(&request_id, client, request).await.unwrap_or_else(|failure| {
        // Mistakes of the client are reported to the client only.
        if !matches!(failure, Failure::NoRoute | Failure::BrokenBody(_) | Failure::LargeBody) {
            let error = &failure as &dyn std::error::Error;
            tracing::error!(
                request_id,
                error,
                "the function returned no valid response; the gateway responds with an error"
            );
        }
        failure.into_response()
    });
    if let Ok(request_id) = HeaderValue::try_from(request_id) {
        response.headers_mut().insert(REQUEST_ID, request_id);
    }
    response
}

impl Gateway {
    async fn respond(&self, request_id: &str, client: SocketAddr, request: Request) -> Result<Response, Failure> {
        let (head, body) = request.into_parts();
        let body = body::read(body).await.map_err(Failure::BrokenBody)?.ok_or(Failure::LargeBody)?;
        let route = Route::find(&self.routes, &head.method, head.uri.path()).ok_or(Failure::NoRoute)?;
        let event = self.event(request_id, client, &head, &body, &route);
        let backend = &self.backends[route.index];
        // The semaphore is never closed.
        let _permit = backend.permits.acquire().await;
        http_response(&head.method, backend.function.invoke(event).await?)
    }

    fn event(&self, request_id: &str, client: SocketAddr, head: &Parts, body: &[u8], route: &RouteMatch<'_>) -> Value {
        // API Gateway decodes the path of an HTTP API, in spite of `rawPath`'s name, but not the query string:
        // https://github.com/aws/aws-lambda-dotnet/pull/1901.
        let path = percent_decode_str(head.uri.path()).decode_utf8_lossy();
        let query = head.uri.query().unwrap_or_default();
        let user_agent = head.headers.get(USER_AGENT).map(text).unwrap_or_default();
        let (body, is_base64) = match str::from_utf8(body) {
            Ok(text) if text.is_empty() || has_text(&head.headers) => (Cow::Borrowed(text), false),
            _ => (Cow::Owned(BASE64_STANDARD.encode(body)), true),
        };
        let now = OffsetDateTime::now_utc();
        without_nulls(json!({
            "version": "2.0",
            "routeKey": route.key,
            "rawPath": path,
            "rawQueryString": query,
            "cookies": cookies(&head.headers),
            "headers": self.headers(&head.headers, client),
            "queryStringParameters": parameters(query),
            "pathParameters": (!route.parameters.is_empty()).then_some(&route.parameters),
            "requestContext": without_nulls(json!({
                "accountId": ACCOUNT,
                "apiId": "local",
                "authorizer": route.is_authorized.then(|| (self.authorizer)(&head.headers)).flatten(),
                "domainName": "localhost",
                "domainPrefix": "localhost",
                "http": {
                    "method": head.method.as_str(),
                    "path": path,
                    "protocol": format!("{:?}", head.version),
                    "sourceIp": client.ip(),
                    "userAgent": user_agent,
                },
                "requestId": request_id,
                "routeKey": route.key,
                "stage": "$default",
                "time": common_log_time(now),
                "timeEpoch": now.unix_timestamp_nanos() / 1_000_000,
            })),
            "body": (!body.is_empty()).then_some(body),
            "isBase64Encoded": is_base64,
        }))
    }

    /// The request's headers without cookies and with `x-forwarded-*`. Several values of one header are joined with commas.
    fn headers(&self, received: &HeaderMap, client: SocketAddr) -> BTreeMap<String, String> {
        let mut headers = BTreeMap::<_, Vec<_>>::new();
        for (name, value) in received.iter().filter(|&(name, _)| name != COOKIE) {
            headers.entry(name.as_str()).or_default().push(text(value));
        }
        headers.entry("x-forwarded-for").or_default().push(client.ip().to_string().into());
        headers.insert("x-forwarded-port", vec![self.port.to_string().into()]);
        headers.insert("x-forwarded-proto", vec!["http".into()]);
        headers.into_iter().map(|(name, values)| (name.to_owned(), values.join(","))).collect()
    }
}

/// Whether the body is passed as text. AWS documents that binary types are encoded in Base64, but not which types are binary; these
/// were measured: <https://github.com/ministackorg/ministack/pull/766>. A body without a content type counts as binary.
fn has_text(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(text).unwrap_or_default().to_ascii_lowercase();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    media_type.starts_with("text/")
        || ["application/json", "application/xml", "application/javascript"].contains(&media_type)
}

/// The cookies of all `cookie` headers, or `None` without such a header.
fn cookies(headers: &HeaderMap) -> Option<Vec<String>> {
    let received: Vec<_> = headers.get_all(COOKIE).into_iter().map(text).collect();
    let cookies = received.iter().flat_map(|cookies| cookies.split(';')).map(str::trim);
    (!received.is_empty()).then(|| cookies.map(str::to_owned).collect())
}

fn text(value: &HeaderValue) -> Cow<'_, str> {
    String::from_utf8_lossy(value.as_bytes())
}

/// The decoded parameters of a query string, or `None` without parameters. Several values of one name are joined with commas.
fn parameters(query: &str) -> Option<BTreeMap<String, String>> {
    let mut parameters = BTreeMap::<_, Vec<_>>::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        parameters.entry(name.into_owned()).or_default().push(value);
    }
    let joined: BTreeMap<_, _> = parameters.into_iter().map(|(name, values)| (name, values.join(","))).collect();
    (!joined.is_empty()).then_some(joined)
}

/// As in `12/Mar/2020:19:03:58 +0000`.
fn common_log_time(time: OffsetDateTime) -> String {
    let month = time.month().to_string();
    let (hour, minute, second) = time.to_hms();
    format!("{:02}/{month:.3}/{}:{hour:02}:{minute:02}:{second:02} +0000", time.day(), time.year())
}

/// An event has no null members: a member that the request does not have is left out.
fn without_nulls(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}

/// A function's response. Format 2.0 has no `multiValueHeaders`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FunctionResponse {
    status_code: u16,
    headers: Option<BTreeMap<String, String>>,
    cookies: Option<Vec<String>>,
    body: Option<String>,
    is_base64_encoded: Option<bool>,
}

fn http_response(method: &Method, response: Value) -> Result<Response, Failure> {
    // API Gateway sends a response without a status as the body of a 200.
    if response.get("statusCode").is_none() {
        return Ok(json_response(StatusCode::OK, &response));
    }
    let response: FunctionResponse = serde_json::from_value(response)?;
    let body = response.body.unwrap_or_default();
    let body = if response.is_base64_encoded == Some(true) { BASE64_STANDARD.decode(body)? } else { body.into_bytes() };
    // Only a response to HEAD may have a content-length without a body.
    let keeps_its_length = method == Method::HEAD && body.is_empty();

    let mut builder = Response::builder().status(response.status_code);
    for (name, value) in response.headers.unwrap_or_default() {
        builder = builder.header(name, value);
    }
    for cookie in response.cookies.unwrap_or_default() {
        builder = builder.header(SET_COOKIE, cookie);
    }
    let mut response = builder.body(Body::from(body))?;
    if response.status().is_informational() {
        return Err(Failure::Interim(response.status()));
    }
    let headers = response.headers_mut();
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("text/plain; charset=utf-8"));
    // This server decides how the body is transferred.
    headers.remove(CONNECTION);
    headers.remove(TRANSFER_ENCODING);
    if !keeps_its_length {
        headers.remove(CONTENT_LENGTH);
    }
    Ok(response)
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let (status, message) = match self {
            Self::NoRoute => (StatusCode::NOT_FOUND, "Not Found"),
            Self::BrokenBody(_) => (StatusCode::BAD_REQUEST, "Bad Request"),
            Self::LargeBody => (StatusCode::PAYLOAD_TOO_LARGE, "Request Entity Too Large"),
            Self::Invoke(InvokeError::TimedOut(_)) => (StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
            Self::Invoke(
                InvokeError::NotStarted(_)
                | InvokeError::Function(_)
                | InvokeError::Refused(_)
                | InvokeError::Exited { .. },
            )
            | Self::Format(_)
            | Self::Http(_)
            | Self::Interim(_)
            | Self::Base64(_) => (StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error"),
        };
        json_response(status, &json!({"message": message}))
    }
}

fn json_response(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
