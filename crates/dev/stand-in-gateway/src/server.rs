//! The gateway's HTTP API.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::ledger::{Charge, Ledger, Order, Status, Step};

/// The largest number of bytes of a request's body.
const BODY_LIMIT: usize = 64 * 1024;

/// How the gateway behaves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The bearer token that a charge needs. `None`: no token is needed.
    pub secret: Option<String>,
    /// The time of a slow charge. It should be longer than the client's timeout.
    pub slow: Duration,
    /// The file with the decisions. `None`: in memory only.
    pub file: Option<PathBuf>,
}

impl Default for Settings {
    /// No secret, no file, and eight seconds for slow charges.
    fn default() -> Self {
        Self { secret: None, slow: Duration::from_secs(8), file: None }
    }
}

/// A running gateway. It stops when this value is dropped.
#[derive(Debug)]
pub struct StandIn {
    address: SocketAddr,
    api: Arc<Api>,
    _server: JoinSet<()>,
}

impl StandIn {
    /// Starts serving on `listener`, in tasks of the current runtime.
    pub fn start(listener: TcpListener, settings: Settings) -> io::Result<Self> {
        let ledger = settings.file.as_deref().map_or_else(|| Ok(Ledger::default()), Ledger::open)?;
        let address = listener.local_addr()?;
        let api = Arc::new(Api {
            ledger: Mutex::new(ledger),
            settings,
            posts: AtomicUsize::default(),
            look_ups: AtomicUsize::default(),
        });
        let mut server = JoinSet::new();
        server.spawn(serve(listener, Arc::clone(&api)));
        Ok(Self { address, api, _server: server })
    }

    /// The gateway's URL, such as `http://127.0.0.1:3002`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The successful charges, oldest first, as in `GET /charges`.
    #[must_use]
    pub fn charges(&self) -> Vec<Charge> {
        self.api.ledger().charges().cloned().collect()
    }

    /// The number of charge requests, including failed ones.
    #[must_use]
    pub fn posts(&self) -> usize {
        self.api.posts.load(Ordering::SeqCst)
    }

    /// The number of look-ups of a key.
    #[must_use]
    pub fn look_ups(&self) -> usize {
        self.api.look_ups.load(Ordering::SeqCst)
    }
}

async fn serve(listener: TcpListener, api: Arc<Api>) {
    // The connections end with this task.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files: wait until some are closed.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let api = Arc::clone(&api);
        connections.spawn(async move {
            let service = service_fn(|request| api.answer(request));
            // The client has disconnected, or `answer` closes the connection on purpose.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

#[derive(Debug)]
struct Api {
    ledger: Mutex<Ledger>,
    settings: Settings,
    posts: AtomicUsize,
    look_ups: AtomicUsize,
}

impl Api {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error closes the connection without a response.
    async fn answer(self: &Arc<Self>, request: Request<Incoming>) -> io::Result<Response<Body>> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        match (method, path.as_str()) {
            (Method::POST, "/charges") => self.charge(request).await,
            (Method::GET, "/charges") => self.list(request.uri().query().unwrap_or_default()),
            (_, "/charges") => problem(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "use GET or POST"),
            _ => problem(StatusCode::NOT_FOUND, "not_found", "the only path is /charges"),
        }
    }

    async fn charge(self: &Arc<Self>, request: Request<Incoming>) -> io::Result<Response<Body>> {
        self.posts.fetch_add(1, Ordering::SeqCst);
        let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let bearer = header(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("Bearer ").map(str::to_owned));
        if self.settings.secret.is_some() && bearer != self.settings.secret {
            return problem(StatusCode::UNAUTHORIZED, "unauthorized", "the secret is missing or wrong");
        }
        let Some(key) = header("idempotency-key").filter(|key| !key.is_empty()) else {
            return problem(StatusCode::BAD_REQUEST, "idempotency_key_missing", "send an Idempotency-Key");
        };
        let body = axum::body::to_bytes(Body::new(request.into_body()), BODY_LIMIT).await.map_err(io::Error::other)?;
        let order = match serde_json::from_slice::<Order>(&body) {
            Ok(order) if order.amount > 0 => order,
            Ok(_) => return problem(StatusCode::BAD_REQUEST, "amount_invalid", "the amount must be positive"),
            Err(error) => return problem(StatusCode::BAD_REQUEST, "body_invalid", &error.to_string()),
        };
        let step = self.ledger().begin(&key, &order)?;
        match step {
            Step::Decided(charge) => decided(&charge),
            Step::ResponseLost => Err(io::Error::other("the response is lost on purpose")),
            Step::Failed => problem(StatusCode::INTERNAL_SERVER_ERROR, "internal", "failed on purpose, once"),
            Step::InProgress => problem(StatusCode::CONFLICT, "in_progress", "the key's first request is in progress"),
            Step::OtherBody => problem(StatusCode::UNPROCESSABLE_ENTITY, "key_reused", "the key has another body"),
            Step::Slow => {
                let api = Arc::clone(self);
                // In its own task, because this future ends when the client disconnects.
                let charged = tokio::spawn(async move {
                    tokio::time::sleep(api.settings.slow).await;
                    api.ledger().decide(&key, &order)
                });
                decided(&charged.await??)
            }
        }
    }

    fn list(&self, query: &str) -> io::Result<Response<Body>> {
        let key = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "idempotencyKey");
        if key.is_some() {
            self.look_ups.fetch_add(1, Ordering::SeqCst);
        }
        let ledger = self.ledger();
        let is_requested = |charge: &&Charge| key.as_ref().is_none_or(|(_, key)| *key == charge.idempotency_key);
        let charges: Vec<_> = ledger.charges().filter(is_requested).collect();
        json(StatusCode::OK, &json!({ "charges": charges }))
    }
}

fn decided(charge: &Charge) -> io::Result<Response<Body>> {
    match charge.status {
        Status::Succeeded => json(StatusCode::OK, &json!({"chargeId": charge.charge_id, "status": charge.status})),
        Status::Declined => {
            let declined = json!({
                "chargeId": charge.charge_id, "code": "card_declined", "message": "The card was declined.",
            });
            json(StatusCode::PAYMENT_REQUIRED, &declined)
        }
    }
}

fn problem(status: StatusCode, code: &str, message: &str) -> io::Result<Response<Body>> {
    json(status, &json!({"code": code, "message": message}))
}

fn json(status: StatusCode, body: &Value) -> io::Result<Response<Body>> {
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(body.to_string()))
        .map_err(io::Error::other)
}
