//! A connection to a gateway with scripted responses.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use payment_gateway::{ChargeRequest, HttpGateway, RequestPolicy, Secret};
use payment_intents::{Amount, ChargeKey, Currency, PaymentIntentId};
use tokio::time::Instant;

#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Response(u16, String),
    /// The connection breaks before the response.
    Broken,
    /// There is never a response.
    Silence,
}

#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) method: String,
    pub(crate) uri: String,
    pub(crate) body: String,
    pub(crate) key: Option<String>,
    pub(crate) authorization: Option<String>,
    pub(crate) at: Instant,
}

type Script = dyn Fn(usize, &Sent) -> Reply + Send + Sync;

#[derive(Clone)]
pub(crate) struct Wire {
    sent: Arc<Mutex<Vec<Sent>>>,
    script: Arc<Script>,
}

impl Wire {
    /// `script` gets the number of the request, from 1.
    pub(crate) fn new(script: impl Fn(usize, &Sent) -> Reply + Send + Sync + 'static) -> Self {
        Self { sent: Arc::default(), script: Arc::new(script) }
    }

    /// Replies in this order. The last reply is repeated.
    pub(crate) fn replying(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<_> = replies.into_iter().collect();
        Self::new(move |number, _| replies[number.min(replies.len()) - 1].clone())
    }

    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    pub(crate) fn gateway(&self) -> HttpGateway {
        self.gateway_with(Secret::fixed("s3cret").unwrap())
    }

    pub(crate) fn gateway_with(&self, secret: Secret) -> HttpGateway {
        let url = "https://gateway.example.com/v1/";
        HttpGateway::over(SharedHttpConnector::new(self.clone()), url, secret, RequestPolicy::default()).unwrap()
    }
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Wire")
    }
}

impl HttpConnector for Wire {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let header = |name: &str| request.headers().get(name).map(str::to_owned);
        let sent = Sent {
            method: request.method().to_owned(),
            uri: request.uri().to_owned(),
            body: String::from_utf8(request.body().bytes().unwrap().to_vec()).unwrap(),
            key: header("idempotency-key"),
            authorization: header("authorization"),
            at: Instant::now(),
        };
        let number = {
            let mut all = self.sent.lock().unwrap();
            all.push(sent.clone());
            all.len()
        };
        match (self.script)(number, &sent) {
            Reply::Response(status, body) => {
                HttpConnectorFuture::ready(Ok(HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body))))
            }
            Reply::Broken => HttpConnectorFuture::ready(Err(ConnectorError::io("broken".into()))),
            Reply::Silence => HttpConnectorFuture::new(std::future::pending()),
        }
    }
}

pub(crate) fn response(status: u16, body: &str) -> Reply {
    Reply::Response(status, body.to_owned())
}

pub(crate) fn charged() -> Reply {
    response(200, r#"{"chargeId":"ch_1","status":"succeeded"}"#)
}

pub(crate) fn request(amount: i64) -> ChargeRequest {
    let id = PaymentIntentId::random();
    ChargeRequest {
        charge_key: ChargeKey::of(id),
        payment_intent_id: id,
        order_id: "99".parse().unwrap(),
        amount: Amount::parse(amount).unwrap(),
        currency: Currency::parse("USD").unwrap(),
    }
}

pub(crate) fn in_time() -> Instant {
    Instant::now() + Duration::from_mins(1)
}
