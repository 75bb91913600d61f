//! The connection between a client and the engine: it counts requests and can disturb them.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_http_client::Connector;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;

/// One request over a [`Wire`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The number of the request. The first request over this wire is number 1.
    pub number: usize,
    /// The DynamoDB operation, such as `UpdateItem`. Clients of S3 can use a wire too: then it is the HTTP method, such as `PUT`.
    pub operation: String,
}

/// What happens to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Disturbance {
    /// Nothing: the request and its response pass.
    None,
    /// The request does not reach the engine. The client sees a broken connection.
    FailBefore,
    /// The request does not reach the engine, and is never answered.
    Stall,
    /// The request takes effect, but the client sees a broken connection instead of the response.
    LoseResponse,
    /// The request does not reach the engine. The client gets DynamoDB's response for a throttled table.
    Throttle,
    /// The request does not reach the engine. The response has this HTTP status and body.
    Respond(u16, &'static str),
    /// The request passes, but the old item is removed from the response to a failed condition, as with a server that does not support
    /// `ReturnValuesOnConditionCheckFailure`.
    HideOldItem,
}

type Script = dyn Fn(&Request) -> Disturbance + Send + Sync;

/// An HTTP client for the SDK. It records every request, and disturbs the requests that its script selects. Clones
/// share the recorded requests.
#[derive(Clone)]
pub struct Wire {
    requests: Arc<Mutex<Vec<Request>>>,
    in_flight: Arc<InFlight>,
    script: Arc<Script>,
    connector: Arc<Connector>,
}

impl Wire {
    /// A wire that only records requests.
    #[must_use]
    pub fn watched() -> Self {
        Self::disturbed(|_| Disturbance::None)
    }

    /// A wire that calls `script` for each request. What `script` returns happens to the request.
    pub fn disturbed(script: impl Fn(&Request) -> Disturbance + Send + Sync + 'static) -> Self {
        Self {
            requests: Arc::default(),
            in_flight: Arc::default(),
            script: Arc::new(script),
            connector: Arc::new(Connector::builder().build_http()),
        }
    }

    /// Every request so far, in the order they were sent.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many requests so far were for `operation`.
    #[must_use]
    pub fn count(&self, operation: &str) -> usize {
        self.requests().iter().filter(|request| request.operation == operation).count()
    }

    /// The highest number of requests that were in flight to the engine at the same time.
    #[must_use]
    pub fn most_in_flight(&self) -> usize {
        self.in_flight.most.load(Ordering::SeqCst)
    }

    fn record(&self, request: &HttpRequest) -> Request {
        let target = request.headers().get("x-amz-target").unwrap_or_else(|| request.method());
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let request = Request { number: requests.len() + 1, operation };
        requests.push(request.clone());
        request
    }
}

#[derive(Default)]
struct InFlight {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// One request in flight. A caller may drop a request before its response.
struct Flight(Arc<InFlight>);

impl Flight {
    fn start(requests: Arc<InFlight>) -> Self {
        let now = requests.now.fetch_add(1, Ordering::SeqCst) + 1;
        requests.most.fetch_max(now, Ordering::SeqCst);
        Self(requests)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

impl HttpConnector for Wire {
    fn call(&self, http: HttpRequest) -> HttpConnectorFuture {
        let request = self.record(&http);
        let disturbance = (self.script)(&request);
        match disturbance {
            Disturbance::FailBefore => return HttpConnectorFuture::ready(Err(connection_error(&request))),
            Disturbance::Stall => return HttpConnectorFuture::new(std::future::pending()),
            Disturbance::Throttle => return HttpConnectorFuture::ready(scripted_response(400, THROTTLED)),
            Disturbance::Respond(status, body) => return HttpConnectorFuture::ready(scripted_response(status, body)),
            Disturbance::None | Disturbance::LoseResponse | Disturbance::HideOldItem => {}
        }
        let call = self.connector.call(http);
        let in_flight = Arc::clone(&self.in_flight);
        HttpConnectorFuture::new(async move {
            let flight = Flight::start(in_flight);
            let response = call.await;
            drop(flight);
            let mut response = response?;
            match disturbance {
                Disturbance::None
                | Disturbance::FailBefore
                | Disturbance::Stall
                | Disturbance::Throttle
                | Disturbance::Respond(..) => {}
                Disturbance::LoseResponse => {
                    // The whole response is read first, so that the effect has certainly happened.
                    read_to_end(response.take_body()).await?;
                    return Err(connection_error(&request));
                }
                Disturbance::HideOldItem => {
                    let body = read_to_end(response.take_body()).await?;
                    *response.body_mut() = SdkBody::from(without_item(&body));
                    response.headers_mut().remove("content-length");
                    // The checksum is that of the original body.
                    response.headers_mut().remove("x-amz-crc32");
                }
            }
            Ok(response)
        })
    }
}

impl HttpClient for Wire {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

fn connection_error(request: &Request) -> ConnectorError {
    let Request { number, operation } = request;
    ConnectorError::io(format!("request {number} ({operation}) was disturbed").into())
}

const THROTTLED: &str = r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}"#;

fn scripted_response(status: u16, body: &'static str) -> Result<HttpResponse, ConnectorError> {
    let status = StatusCode::try_from(status).map_err(|error| ConnectorError::other(error.into(), None))?;
    Ok(HttpResponse::new(status, SdkBody::from(body)))
}

async fn read_to_end(body: SdkBody) -> Result<Vec<u8>, ConnectorError> {
    use aws_smithy_types::byte_stream::ByteStream;
    let bytes = ByteStream::new(body).collect().await.map_err(|error| ConnectorError::io(error.into()))?;
    Ok(bytes.to_vec())
}

/// Removes the old item from an error response, which is a JSON object. The old item is in the member `Item`, or, for a
/// transaction, in the member `Item` of each of the `CancellationReasons`.
fn without_item(body: &[u8]) -> Vec<u8> {
    let Ok(serde_json::Value::Object(mut response)) = serde_json::from_slice(body) else {
        return body.to_vec();
    };
    let is_error = response.contains_key("__type");
    if is_error {
        response.remove("Item");
        let reasons = response.get_mut("CancellationReasons").and_then(|reasons| reasons.as_array_mut());
        for reason in reasons.into_iter().flatten().filter_map(|reason| reason.as_object_mut()) {
            reason.remove("Item");
        }
    }
    serde_json::Value::Object(response).to_string().into_bytes()
}
