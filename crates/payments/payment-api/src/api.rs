//! The routes.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use api_gateway::{HttpFunction, JSON, Mistaken, Parameters, Request, Response};
use idempotency::{Fingerprint, IdempotencyKey, Scope};
use lambda_boot::{Clock, Line, with_causes};
use order_events::Timestamp;
use payment_gateway::{ChargeRequest, Gateway, Outcome, Unknown};
use payment_intents::{Change, NewIntent, PaymentIntent, PaymentIntentId, WrongState};
use payment_store::{CommandResult, Decision, DecisionInput, PaymentStore, RequestKey, StoredIntent};
use serde_json::{Value, json};
use tokio::time::Instant;
use tracing::Level;

use crate::body::{self, Create};
use crate::caller::Caller;
use crate::config::{Authorization, Settings};
use crate::intent::ShownIntent;
use crate::openapi;
use crate::problem::{Cause, Problem, ProblemKind};
use crate::response::{self, RecordedResponse};

/// Serves the HTTP API of Payments from the tables of one stack.
pub struct Api {
    store: PaymentStore,
    mode: Mode,
    authorization: Authorization,
    function: HttpFunction,
}

/// Who sends a charge to the gateway. Both modes have the same effect; they differ in when the client gets the result.
#[derive(Debug, Clone)]
pub enum Mode {
    /// The charge handler, after the response. Nothing is locked: the version decides which of two requests was first.
    Saga,
    /// The request itself, through this gateway and under the intent's lock.
    Locked(Arc<dyn Gateway>),
}

/// How long a request waits for an intent's lock that another request holds.
const LOCK_WAIT: Duration = Duration::from_secs(3);

/// The request stops waiting for the gateway this long before the invocation's deadline, to store the result and to answer.
const TIME_TO_ANSWER: Duration = Duration::from_secs(2);

/// Older charges are left to the reconciler: gateways forget keys after 24 hours, and would then charge again.
const MAX_CHARGE_AGE: Duration = Duration::from_hours(1);

/// The resource that a path names.
enum Resource {
    Intents,
    Intent(String),
    Charge(String),
    OpenApi,
    Health,
}

impl Resource {
    fn of(request: &Request) -> Option<Self> {
        match request.path() {
            "/payment-intents" => Some(Self::Intents),
            "/payments/openapi.json" => Some(Self::OpenApi),
            "/payments/health" => Some(Self::Health),
            path => {
                let rest = path.strip_prefix("/payment-intents/").filter(|rest| !rest.is_empty())?;
                match rest.split_once('/') {
                    None => Some(Self::Intent(rest.to_owned())),
                    Some((id, "charge")) if !id.is_empty() => Some(Self::Charge(id.to_owned())),
                    Some(_) => None,
                }
            }
        }
    }

    /// Checks the intent's id in the path.
    fn check(&self) -> Result<(), Problem> {
        let (Self::Intent(id) | Self::Charge(id)) = self else { return Ok(()) };
        let mut parameters = Parameters::default();
        let id = read_id(&mut parameters, id);
        Ok(parameters.finish(id).map(drop)?)
    }

    /// The path in the `OpenAPI` document.
    fn route(&self) -> &'static str {
        match self {
            Self::Intents => "/payment-intents",
            Self::Intent(_) => "/payment-intents/{paymentIntentId}",
            Self::Charge(_) => "/payment-intents/{paymentIntentId}/charge",
            Self::OpenApi => "/payments/openapi.json",
            Self::Health => "/payments/health",
        }
    }

    fn allow(&self) -> &'static str {
        match self {
            Self::Intents | Self::Charge(_) => "POST, OPTIONS",
            Self::Intent(_) => "GET, HEAD, PATCH, OPTIONS",
            Self::OpenApi | Self::Health => "GET, HEAD, OPTIONS",
        }
    }
}

impl Api {
    /// Creates an API on top of a store.
    #[must_use]
    pub fn new(store: PaymentStore, mode: Mode, settings: Settings, clock: Clock) -> Self {
        let Settings { authorization, metrics_namespace, function_version } = settings;
        let function = HttpFunction::new("payment-api", metrics_namespace, function_version, clock);
        Self { store, mode, authorization, function }
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
        match (request.method(), &resource) {
            ("OPTIONS", _) => {
                resource.check()?;
                Ok(Response::empty(204).with("allow", resource.allow()))
            }
            ("POST", Resource::Intents) => self.create(request).await,
            ("GET" | "HEAD", Resource::Intent(id)) => self.find(request, id).await,
            ("PATCH", Resource::Intent(id)) => self.change_amount(request, id, deadline).await,
            ("POST", Resource::Charge(id)) => self.charge(request, id, deadline).await,
            ("GET" | "HEAD", Resource::OpenApi) => {
                let document = Response::json(200, JSON, openapi::SERVED.to_owned());
                Ok(document.with("cache-control", "public, max-age=300"))
            }
            ("GET" | "HEAD", Resource::Health) => self.health(request).await,
            _ => Err(ProblemKind::MethodNotAllowed(resource.allow()).into()),
        }
    }

    async fn create(&self, request: &Request) -> Result<Response, Problem> {
        let caller = Caller::identify(request, &self.authorization)?;
        let key = IdempotencyKey::from_headers(request.header("idempotency-key"))?;
        let mut parameters = Parameters::read(request.query_string(), &[]);
        let body = Create::read(request, &mut parameters).and_then(|body| {
            let consumer_id = body.consumer_id.clone().or_else(|| caller.consumer_id.clone());
            let missing = "is required, unless the token names a consumer";
            let consumer_id = consumer_id.ok_or_else(|| parameters.mistake_in("body", "consumerId", missing))?;
            Ok((body, consumer_id))
        });
        let (Create { order_id, amount, currency, .. }, consumer_id) = parameters.finish(body)?;
        if !caller.may_act_for(&consumer_id) {
            return Err(ProblemKind::Forbidden.into());
        }
        let command = json!({
            "orderId": order_id.as_str(), "consumerId": consumer_id.as_str(),
            "amount": amount.minor_units(), "currency": currency.as_str(),
        });
        let key = request_key(&caller, "POST /payment-intents", &key, &command)?;
        let new = NewIntent { id: PaymentIntentId::random(), order_id, consumer_id, amount, currency };
        let decide = |input: DecisionInput<'_, payment_store::Guard>| {
            if input.found.paid_by.is_some() {
                return refuse(ProblemKind::OrderAlreadyPaid, request);
            }
            if input.found.open_intent.is_some() {
                return refuse(ProblemKind::OrderHasOpenIntent(input.found.open_intent), request);
            }
            Decision::Change(Box::new(PaymentIntent::create(new.clone(), input.now)))
        };
        let to_record = |found: &StoredIntent| RecordedResponse::created(found).to_record();
        self.respond(self.store.create(&new.order_id, &key, decide, to_record).await?)
    }

    async fn find(&self, request: &Request, id: &str) -> Result<Response, Problem> {
        let caller = Caller::identify(request, &self.authorization)?;
        let mut parameters = Parameters::read(request.query_string(), &[]);
        let id = read_id(&mut parameters, id);
        let id = parameters.finish(id)?;
        let found = admit(&caller, self.store.find(id).await?)?;
        let response = Response::json(200, JSON, response::json(&ShownIntent::from(&found.intent)));
        Ok(response.cached_privately(&response::etag(&found), request.header("if-none-match")))
    }

    async fn change_amount(&self, request: &Request, id: &str, deadline: SystemTime) -> Result<Response, Problem> {
        let caller = Caller::identify(request, &self.authorization)?;
        let key = IdempotencyKey::from_headers(request.header("idempotency-key"))?;
        let mut parameters = Parameters::read(request.query_string(), &[]);
        let id = read_id(&mut parameters, id);
        let amount = body::read_amount(request, &mut parameters);
        let (id, amount) = parameters.finish(both(id, amount))?;
        let command = json!({"amount": amount.minor_units()});
        let key = request_key(&caller, &format!("PATCH /payment-intents/{id}"), &key, &command)?;
        let admit = |found| admit(&caller, found);
        let decide = |input: DecisionInput<'_, StoredIntent>| {
            decide(request, input.found, || input.found.intent.change_amount(amount, input.now))
        };
        let to_record = |found: &StoredIntent| RecordedResponse::changed(found).to_record();
        let result = match &self.mode {
            Mode::Saga => self.store.change(id, &key, admit, decide, to_record).await?,
            Mode::Locked(_) => {
                self.store.until(deadline).locking(LOCK_WAIT).change(id, &key, admit, decide, to_record).await?
            }
        };
        self.respond(result)
    }

    async fn charge(&self, request: &Request, id: &str, deadline: SystemTime) -> Result<Response, Problem> {
        let caller = Caller::identify(request, &self.authorization)?;
        let key = IdempotencyKey::from_headers(request.header("idempotency-key"))?;
        let mut parameters = Parameters::read(request.query_string(), &[]);
        let id = read_id(&mut parameters, id);
        let nothing = body::read_empty(request, &mut parameters);
        let (id, ()) = parameters.finish(both(id, nothing))?;
        let key = request_key(&caller, &format!("POST /payment-intents/{id}/charge"), &key, &json!({}))?;
        let admit = |found| admit(&caller, found);
        let to_record = |found: &StoredIntent| RecordedResponse::charged(found).to_record();
        let decide = |input: DecisionInput<'_, StoredIntent>| {
            decide(request, input.found, || input.found.intent.request_charge(input.now))
        };
        let result = match &self.mode {
            Mode::Saga => self.store.change(id, &key, admit, decide, to_record).await?,
            Mode::Locked(gateway) => {
                let until = self.function.before(deadline, TIME_TO_ANSWER);
                let charge = async |intent: &PaymentIntent| {
                    self.charge_at_gateway(&**gateway, intent, until, request.id()).await
                };
                let locking = self.store.until(deadline).locking(LOCK_WAIT);
                Box::pin(locking.charge(id, &key, admit, decide, charge, to_record)).await?
            }
        };
        self.respond(result)
    }

    /// Sends the charge to the gateway. Returns none if the charge is too old to be sent, or if the gateway's response is not definite.
    async fn charge_at_gateway(
        &self,
        gateway: &dyn Gateway,
        intent: &PaymentIntent,
        until: Instant,
        request_id: &str,
    ) -> Option<Outcome> {
        let requested_at = intent.state().requested()?.at;
        let age = Timestamp::from(self.function.clock.now()).as_millis() - requested_at.as_millis();
        if u128::try_from(age).is_ok_and(|age| age > MAX_CHARGE_AGE.as_millis()) {
            return None;
        }
        match gateway.charge(&ChargeRequest::of(intent)?, until).await {
            Ok(outcome) => Some(outcome),
            Err(unknown) => {
                self.count_unknown(&unknown, intent.id(), request_id);
                None
            }
        }
    }

    /// Logs and counts a response of the gateway that is not definite, with the same metrics as the functions `charge` and
    /// `reconcile`, which will retry the charge.
    fn count_unknown(&self, unknown: &Unknown, id: PaymentIntentId, request_id: &str) {
        let HttpFunction { name, metrics_namespace, clock, .. } = &self.function;
        let line = Line::new(Level::WARN, clock.now())
            .in_namespace(metrics_namespace, &[("Function", *name)])
            .count("GatewayUnknown", 1)
            .count("GatewayRefusedUs", usize::from(unknown.needs_correction()))
            .with("message", "the charge is not decided yet")
            .with("request_id", request_id)
            .with("payment_intent_id", id.to_string())
            .with("reason", unknown.code())
            .with("error", with_causes(unknown));
        println!("{line}");
    }

    async fn health(&self, request: &Request) -> Result<Response, Problem> {
        let mut parameters = Parameters::read(request.query_string(), &["deep"]);
        let deep = parameters.one("deep", |text| match text {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err("must be 0 or 1"),
        });
        if parameters.finish(deep)? == Some(true) {
            self.store.ping().await?;
        }
        Ok(Response::json(200, JSON, json!({"status": "ok"}).to_string()).with("cache-control", "no-store"))
    }

    fn respond(&self, result: CommandResult<ProblemKind>) -> Result<Response, Problem> {
        let read =
            |recorded: &str| RecordedResponse::read(recorded).map(RecordedResponse::respond).map_err(Cause::from);
        match result {
            CommandResult::Now(recorded) => Ok(read(&recorded)?),
            CommandResult::Replayed(recorded) => Ok(read(&recorded)?.with("idempotent-replayed", "true")),
            CommandResult::Unrecorded(kind) => Err(kind.into()),
            CommandResult::InProgress { until } => {
                Err(Problem::retry_after(ProblemKind::KeyInProgress, self.time_until(until)))
            }
            CommandResult::KeyReused => Err(ProblemKind::KeyReused.into()),
            CommandResult::Held { until } => Err(Problem::retry_after(ProblemKind::Conflict, self.time_until(until))),
        }
    }

    fn time_until(&self, until: Option<SystemTime>) -> Duration {
        until.and_then(|until| until.duration_since(self.function.clock.now()).ok()).unwrap_or_default()
    }
}

/// Intents of other consumers are reported as not found.
fn admit(caller: &Caller, found: Option<StoredIntent>) -> Result<StoredIntent, ProblemKind> {
    found.filter(|found| caller.may_act_for(found.intent.consumer_id())).ok_or(ProblemKind::IntentNotFound)
}

/// Compares `If-Match`, then lets the domain decide. A version mismatch is not recorded.
fn decide(
    request: &Request,
    found: &StoredIntent,
    change: impl FnOnce() -> Result<Change, WrongState>,
) -> Decision<ProblemKind> {
    if request.header("if-match").is_some_and(|tags| !matches(tags, &response::etag(found))) {
        return Decision::Reply(ProblemKind::VersionMismatch);
    }
    match change() {
        Ok(change) => Decision::Change(Box::new(change)),
        Err(wrong) => refuse(ProblemKind::WrongState(wrong.state), request),
    }
}

/// A refusal by the domain is recorded, so that a repetition gets the same response.
fn refuse(kind: ProblemKind, request: &Request) -> Decision<ProblemKind> {
    Decision::Record(RecordedResponse::refused(kind, request.id()).to_record())
}

fn request_key(caller: &Caller, route: &str, key: &IdempotencyKey, command: &Value) -> Result<RequestKey, Problem> {
    let fingerprint = Fingerprint::of_value(command).map_err(payment_store::Error::from)?;
    Ok(RequestKey { key: Scope { caller: &caller.name, route }.key(key), fingerprint })
}

/// Reads the intent's id in the path.
fn read_id(parameters: &mut Parameters, text: &str) -> Result<PaymentIntentId, Mistaken> {
    PaymentIntentId::parse(text).map_err(|error| parameters.mistake_in("path", "paymentIntentId", error))
}

/// `If-Match` compares strongly: a weak tag matches nothing (RFC 9110, 13.1.1).
fn matches(if_match: &str, etag: &str) -> bool {
    if_match.split(',').map(str::trim).any(|tag| tag == "*" || tag == etag)
}

fn both<T, U>(first: Result<T, Mistaken>, second: Result<U, Mistaken>) -> Result<(T, U), Mistaken> {
    Ok((first?, second?))
}
