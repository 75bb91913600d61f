//! An HTTP client of a payment gateway.

use std::time::Duration;

use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::{Provider, TlsContext, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorSettings, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use payment_intents::{ChargeId, Outcome};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use tokio::time::{Instant, sleep_until, timeout_at};
use uuid::Uuid;

use crate::response::HttpResponse;
use crate::secret::Token;
use crate::{ChargeRequest, Gateway, GatewayFuture, Secret, Unknown};

/// A response has a few hundred bytes. A larger one than this is not read to its end.
const BODY_LIMIT: usize = 64 * 1024;

/// Timeouts and retries of requests to the gateway. A retry of a charge is safe, because its `Idempotency-Key` stays the same.
#[derive(Debug, Clone)]
pub struct RequestPolicy {
    /// The longest time to connect.
    pub connect_timeout: Duration,
    /// The longest time for one request, from its start to the end of its response.
    pub attempt_timeout: Duration,
    /// The largest number of requests for one charge or look-up, at least 1.
    pub attempts: u32,
    /// The longest pause before the second request. It doubles with each further request. The real pause is a random part of it.
    pub pause: Duration,
}

impl Default for RequestPolicy {
    /// Three requests of at most five seconds each.
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(2),
            attempt_timeout: Duration::from_secs(5),
            attempts: 3,
            pause: Duration::from_millis(400),
        }
    }
}

/// An HTTP client of a payment gateway. The README describes the contract.
#[derive(Debug)]
pub struct HttpGateway {
    /// Ends with `/charges`.
    url: String,
    connector: SharedHttpConnector,
    secret: Secret,
    policy: RequestPolicy,
}

/// The gateway's URL is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it must be an http or https URL without a query, such as https://gateway.example.com/v1")]
pub struct InvalidUrl;

impl HttpGateway {
    /// Creates a client of the gateway at `url`. With `https`, `tls` sets the trusted certificates.
    pub fn new(url: &str, tls: TlsContext, secret: Secret, policy: RequestPolicy) -> Result<Self, InvalidUrl> {
        let settings = HttpConnectorSettings::builder().connect_timeout(policy.connect_timeout).build();
        let connector = Connector::builder().connector_settings(settings);
        let connector = if url.starts_with("https://") {
            connector.tls_provider(Provider::Rustls(CryptoMode::Ring)).tls_context(tls).build()
        } else {
            connector.build_http()
        };
        Self::over(SharedHttpConnector::new(connector), url, secret, policy)
    }

    /// Creates a client with this connector.
    pub fn over(
        connector: SharedHttpConnector,
        url: &str,
        secret: Secret,
        policy: RequestPolicy,
    ) -> Result<Self, InvalidUrl> {
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        if !is_web || url.contains(['?', '#']) || HttpRequest::get(url).is_err() {
            return Err(InvalidUrl);
        }
        Ok(Self { url: format!("{}/charges", url.trim_end_matches('/')), connector, secret, policy })
    }

    /// Sends the request, and retries it until the response is definite, a retry is useless, or attempts or time are used up.
    async fn request<T>(
        &self,
        call: Call<'_>,
        read: impl Fn(&HttpResponse) -> Result<T, Unknown>,
        until: Instant,
    ) -> Result<T, Unknown> {
        let mut token = self.token(self.secret.token(), until).await?;
        let mut is_token_fresh = false;
        let mut attempt = 1;
        loop {
            let response = self.attempt(&call, &token, until).await.and_then(|response| read(&response));
            let unknown = match response {
                Ok(decided) => return Ok(decided),
                Err(unknown) => unknown,
            };
            if matches!(unknown, Unknown::Refused { .. }) && !is_token_fresh {
                // The secret may have been rotated. If it has not, a retry is useless.
                let Some(other) = self.token(self.secret.token_after(&token), until).await? else {
                    return Err(unknown);
                };
                (token, is_token_fresh) = (other, true);
                continue;
            }
            let next = Instant::now() + self.pause_after(attempt);
            if !is_worth_retrying(&unknown) || attempt >= self.policy.attempts || next >= until {
                return Err(unknown);
            }
            sleep_until(next).await;
            attempt += 1;
        }
    }

    async fn token<T>(
        &self,
        reading: impl Future<Output = Result<T, Box<dyn std::error::Error + Send + Sync>>>,
        until: Instant,
    ) -> Result<T, Unknown> {
        timeout_at(until, reading).await.map_err(|_| Unknown::Timeout)?.map_err(Unknown::Secret)
    }

    async fn attempt(&self, call: &Call<'_>, token: &Token, until: Instant) -> Result<HttpResponse, Unknown> {
        let until = until.min(Instant::now() + self.policy.attempt_timeout);
        timeout_at(until, self.send(call, token)).await.map_err(|_| Unknown::Timeout)?
    }

    async fn send(&self, call: &Call<'_>, token: &Token) -> Result<HttpResponse, Unknown> {
        let request = call.to_request(&self.url, token).map_err(Unknown::Unreachable)?;
        let mut response = self.connector.call(request).await.map_err(unreachable)?;
        let status = response.status().as_u16();
        let mut stream = ByteStream::new(response.take_body());
        let mut body = Vec::new();
        while let Some(bytes) = stream.try_next().await.map_err(|error| Unknown::Unreachable(error.into()))? {
            body.extend_from_slice(&bytes);
            if body.len() > BODY_LIMIT {
                return Err(Unknown::Unexpected { status, problem: "the body is too large" });
            }
        }
        Ok(HttpResponse { status, body })
    }

    fn pause_after(&self, attempt: u32) -> Duration {
        let longest = self.policy.pause.saturating_mul(1 << (attempt - 1).min(10));
        let random = Uuid::new_v4().as_bytes()[0];
        longest * u32::from(random) / u32::from(u8::MAX)
    }
}

impl Gateway for HttpGateway {
    fn charge<'a>(&'a self, request: &'a ChargeRequest, until: Instant) -> GatewayFuture<'a, Outcome> {
        Box::pin(self.request(Call::Charge(request), |response| response.to_charge(request), until))
    }

    fn look_up<'a>(&'a self, request: &'a ChargeRequest, until: Instant) -> GatewayFuture<'a, Option<ChargeId>> {
        Box::pin(self.request(Call::LookUp(request), |response| response.to_look_up(request), until))
    }
}

enum Call<'a> {
    Charge(&'a ChargeRequest),
    LookUp(&'a ChargeRequest),
}

impl Call<'_> {
    fn to_request(&self, url: &str, token: &Token) -> Result<HttpRequest, Box<dyn std::error::Error + Send + Sync>> {
        let mut request = match self {
            Self::Charge(ChargeRequest { charge_key, payment_intent_id, order_id, amount, currency }) => {
                let body = json!({
                    "amount": amount.minor_units(),
                    "currency": currency.as_str(),
                    "paymentIntentId": payment_intent_id.to_string(),
                    "orderId": order_id.as_str(),
                });
                let mut request = HttpRequest::new(SdkBody::from(body.to_string()));
                request.set_method("POST")?;
                request.set_uri(url)?;
                request.headers_mut().try_insert("content-type", "application/json")?;
                request.headers_mut().try_insert("idempotency-key", charge_key.as_str().to_owned())?;
                request
            }
            Self::LookUp(ChargeRequest { charge_key, .. }) => {
                let charge_key = utf8_percent_encode(charge_key.as_str(), NON_ALPHANUMERIC);
                HttpRequest::get(format!("{url}?idempotencyKey={charge_key}"))?
            }
        };
        request.headers_mut().try_insert("accept", "application/json")?;
        request.headers_mut().try_insert("authorization", token.to_authorization())?;
        Ok(request)
    }
}

/// Whether the same request may succeed in a moment.
fn is_worth_retrying(unknown: &Unknown) -> bool {
    match unknown {
        Unknown::Timeout
        | Unknown::Unreachable(_)
        | Unknown::Failed { .. }
        | Unknown::Throttled
        | Unknown::InProgress => true,
        Unknown::KeyReused | Unknown::Refused { .. } | Unknown::Secret(_) | Unknown::Unexpected { .. } => false,
    }
}

fn unreachable(error: ConnectorError) -> Unknown {
    if error.is_timeout() { Unknown::Timeout } else { Unknown::Unreachable(error.into()) }
}
