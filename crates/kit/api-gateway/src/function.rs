//! What every HTTP function does besides its own work: it responds in time, logs what an operator must know, and counts its
//! server errors.

use std::error::Error;
use std::time::{Duration, SystemTime};

use lambda_boot::{Clock, Line, is_logged, with_causes};
use tokio::time::{Instant, timeout_at};
use tracing::Level;

use crate::{Request, Response};

/// An HTTP function: its name, its metrics and its clock. [`HttpFunction::new`] makes it.
#[non_exhaustive]
pub struct HttpFunction {
    /// The name of the function, as a dimension of its metrics.
    pub name: &'static str,
    /// The CloudWatch namespace of its metrics.
    pub metrics_namespace: String,
    /// The version that this process runs, as a dimension of the metric: a rollout can then be rolled back by the errors of the new version.
    pub version: String,
    /// The clock, which a test can set.
    pub clock: Clock,
}

/// Why a request failed.
pub trait Failure: Sized {
    /// The failure of a request that was not answered in time.
    fn out_of_time() -> Self;

    /// The reason for the log, if the failure is not the client's: a code that stays the same over versions, and the error. `None`: the
    /// client made a mistake, and nothing is logged. The error is logged with its causes, so it must not contain what the client sent.
    fn cause(&self) -> Option<(&'static str, &(dyn Error + 'static))>;

    /// The response to the client.
    fn respond(self, request_id: &str) -> Response;
}

/// How long before the invocation's deadline the request is answered as out of time, so that the client does not get Lambda's timeout.
const RESPONSE_TIME: Duration = Duration::from_millis(500);

/// A response that took at least this long is logged at `INFO`.
const SLOW: Duration = Duration::from_secs(1);

impl HttpFunction {
    /// A function with this name, whose metrics are published in this CloudWatch namespace. `version` is the version that this process
    /// runs, such as the value of `AWS_LAMBDA_FUNCTION_VERSION`.
    #[must_use]
    pub fn new(
        name: &'static str,
        metrics_namespace: impl Into<String>,
        version: impl Into<String>,
        clock: Clock,
    ) -> Self {
        Self { name, metrics_namespace: metrics_namespace.into(), version: version.into(), clock }
    }

    /// Waits for `work`, which makes the response to a request to `route`, but not beyond the deadline. It never fails: a failure becomes a
    /// response too.
    pub async fn respond<F: Failure>(
        &self,
        request: &Request,
        route: &'static str,
        deadline: SystemTime,
        work: impl Future<Output = Result<Response, F>>,
    ) -> Response {
        let (request_id, method, begun) = (request.id(), request.method(), Instant::now());
        let outcome = timeout_at(self.before(deadline, RESPONSE_TIME), work).await;
        let outcome = outcome.unwrap_or_else(|_| Err(F::out_of_time()));
        let response = outcome.unwrap_or_else(|failure| {
            if let Some((code, cause)) = failure.cause() {
                tracing::error!(request_id, route, reason = code, error = with_causes(cause), "not answered");
            }
            failure.respond(request_id)
        });
        let response = if method == "HEAD" { response.without_body() } else { response };
        let (status, took) = (response.status_code, begun.elapsed());
        if status >= 500 {
            self.count_server_error(request_id);
        }
        // API Gateway's access log has a line for every request, with its id, route, status and latency.
        if took >= SLOW {
            let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            tracing::info!(request_id, method, route, status, took_ms, "slow response");
        } else if is_logged(Level::DEBUG) {
            let line = Line::new(Level::DEBUG, self.clock.now()).with("request_id", request_id).with("method", method);
            println!("{}", line.with("route", route).with("status", status).with("message", "answered"));
        }
        response
    }

    /// The moment that is `time` before the deadline, or now if it has passed.
    #[must_use]
    pub fn before(&self, deadline: SystemTime, time: Duration) -> Instant {
        let left = deadline.duration_since(self.clock.now()).unwrap_or_default();
        Instant::now() + left.saturating_sub(time)
    }

    /// Counts a response with 5xx by version, so that a rollout can be rolled back if the new version has too many.
    fn count_server_error(&self, request_id: &str) {
        let dimensions = [("Function", self.name), ("Version", self.version.as_str())];
        let line = Line::new(Level::INFO, self.clock.now()).in_namespace(&self.metrics_namespace, &dimensions);
        let line = line.count("ServerErrors", 1).with("message", "server error").with("request_id", request_id);
        println!("{line}");
    }
}
