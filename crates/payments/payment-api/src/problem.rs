//! Errors as RFC 9457 problem documents. The client gets these messages; the operator gets others, in the log.

use std::error::Error;
use std::time::Duration;

use api_gateway::{Document, Failure, Mistake, Mistakes, Response};
use idempotency::KeyError;
use payment_intents::{PaymentIntentId, StateName};

/// A problem and its details.
#[derive(Debug)]
pub(crate) struct Problem {
    kind: ProblemKind,
    mistakes: Vec<Mistake>,
    /// In seconds. None: the default of the kind.
    retry_after: Option<u64>,
    /// The failure on our side. It is logged and never sent to the client.
    cause: Option<Cause>,
}

/// Why a correct request fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error(transparent)]
    Store(#[from] payment_store::Error),
    #[error("a recorded response cannot be read")]
    Recorded(#[from] serde_json::Error),
    #[error("the request did not finish before the invocation's deadline")]
    OutOfTime,
}

/// The kinds of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    InvalidRequest,
    KeyMissing,
    KeyInvalid,
    Unauthenticated,
    Forbidden,
    /// A service whose token has neither `client_id` nor `sub`.
    NamelessCaller,
    IntentNotFound,
    RouteNotFound,
    /// With the allowed methods.
    MethodNotAllowed(&'static str),
    KeyInProgress,
    /// With the intent's state.
    WrongState(StateName),
    /// With the open intent. It is none only in the `OpenAPI` document.
    OrderHasOpenIntent(Option<PaymentIntentId>),
    OrderAlreadyPaid,
    Conflict,
    VersionMismatch,
    KeyReused,
    Internal,
    Unavailable,
}

impl ProblemKind {
    pub(crate) fn uri(self) -> String {
        format!("urn:ftgo:payments:problem:{}", self.parts().0)
    }

    /// Name, status, title and detail.
    #[expect(clippy::too_many_lines, reason = "it is a table")]
    fn parts(self) -> (&'static str, u16, &'static str, &'static str) {
        match self {
            Self::InvalidRequest => (
                "invalid-request",
                400,
                "Invalid request",
                "Correct the mistakes listed in `errors`, then send the request again.",
            ),
            Self::KeyMissing => (
                "idempotency-key-missing",
                400,
                "Idempotency-Key missing",
                "Send an Idempotency-Key header: a new key for each command, and the same key for each repetition.",
            ),
            Self::KeyInvalid => (
                "idempotency-key-invalid",
                400,
                "Idempotency-Key invalid",
                "Send one Idempotency-Key of 1 to 255 printable ASCII characters, such as a UUID in double quotes.",
            ),
            Self::Unauthenticated => {
                ("unauthenticated", 401, "Not authenticated", "Send a valid token: `Authorization: Bearer …`.")
            }
            Self::Forbidden => (
                "forbidden",
                403,
                "Not allowed",
                "You can pay only in your own name. To pay for another consumer, the token needs the scope payments:write-any.",
            ),
            Self::NamelessCaller => {
                ("forbidden", 403, "Not allowed", "The token must have the claim client_id or sub.")
            }
            Self::IntentNotFound => (
                "payment-intent-not-found",
                404,
                "Payment intent not found",
                "No payment intent with this id exists, or it belongs to another consumer.",
            ),
            Self::RouteNotFound => (
                "route-not-found",
                404,
                "Resource not found",
                "See /payments/openapi.json for the resources of this API.",
            ),
            Self::MethodNotAllowed(_) => {
                ("method-not-allowed", 405, "Method not allowed", "Use a method listed in the Allow header.")
            }
            Self::KeyInProgress => (
                "idempotency-key-in-progress",
                409,
                "Request in progress",
                "A request with the same Idempotency-Key is being processed. Wait as many seconds as Retry-After says, then retry.",
            ),
            Self::WrongState(_) => (
                "wrong-state",
                409,
                "Not allowed in this state",
                "The state of the payment intent (see `state`) does not allow this command.",
            ),
            Self::OrderHasOpenIntent(_) => (
                "order-has-open-intent",
                409,
                "The order has an open payment intent",
                "Charge the open payment intent (see `paymentIntentId`). You can create a new one only if that charge fails.",
            ),
            Self::OrderAlreadyPaid => (
                "order-already-paid",
                409,
                "The order is already paid",
                "The order is already paid. It cannot be paid again.",
            ),
            Self::Conflict => (
                "conflict",
                409,
                "Conflict",
                "Another request is changing the same payment intent. Wait as many seconds as Retry-After says, then retry with \
                 the same Idempotency-Key.",
            ),
            Self::VersionMismatch => (
                "version-mismatch",
                412,
                "Version mismatch",
                "The payment intent has changed: its version is not the one in If-Match. Read it again before you retry.",
            ),
            Self::KeyReused => (
                "idempotency-key-reused",
                422,
                "Idempotency-Key reused",
                "This Idempotency-Key was already used for another command. Use a new key for each command.",
            ),
            Self::Internal => (
                "internal-error",
                500,
                "Internal error",
                "Internal error. If it persists, contact us with the request id.",
            ),
            Self::Unavailable => (
                "unavailable",
                503,
                "Temporarily unavailable",
                "Wait as many seconds as Retry-After says, then retry with the same Idempotency-Key.",
            ),
        }
    }

    pub(crate) fn document(self, request_id: &str, errors: Vec<Mistake>) -> Document {
        let (_, status, title, detail) = self.parts();
        let mut document = Document::new(self.uri(), title, status, detail, request_id);
        document.errors = errors;
        if let Self::WrongState(state) = self {
            document.extensions.insert("state".to_owned(), state.as_str().into());
        }
        if let Self::OrderHasOpenIntent(Some(id)) = self {
            document.extensions.insert("paymentIntentId".to_owned(), id.to_string().into());
        }
        document
    }

    /// The headers of the response.
    pub(crate) fn headers(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::Unauthenticated => vec![("www-authenticate", "Bearer")],
            Self::MethodNotAllowed(allow) => vec![("allow", allow)],
            Self::KeyInProgress | Self::Conflict | Self::Unavailable => vec![("retry-after", "1")],
            Self::InvalidRequest
            | Self::KeyMissing
            | Self::KeyInvalid
            | Self::Forbidden
            | Self::NamelessCaller
            | Self::IntentNotFound
            | Self::RouteNotFound
            | Self::WrongState(_)
            | Self::OrderHasOpenIntent(_)
            | Self::OrderAlreadyPaid
            | Self::VersionMismatch
            | Self::KeyReused
            | Self::Internal => Vec::new(),
        }
    }
}

impl Problem {
    /// A problem that will be over after this time.
    pub(crate) fn retry_after(kind: ProblemKind, time: Duration) -> Self {
        // Rounded up, so that the client does not retry too early.
        let seconds = time.as_millis().div_ceil(1_000).max(1);
        Self { retry_after: u64::try_from(seconds).ok(), ..kind.into() }
    }
}

impl Failure for Problem {
    fn out_of_time() -> Self {
        Cause::OutOfTime.into()
    }

    fn cause(&self) -> Option<(&'static str, &(dyn Error + 'static))> {
        self.cause.as_ref().map(|cause| (cause.code(), cause as _))
    }

    fn respond(self, request_id: &str) -> Response {
        let response = self.kind.document(request_id, self.mistakes).respond(&self.kind.headers());
        match self.retry_after {
            Some(seconds) => response.with("retry-after", seconds.to_string()),
            None => response,
        }
    }
}

impl From<ProblemKind> for Problem {
    fn from(kind: ProblemKind) -> Self {
        Self { kind, mistakes: Vec::new(), retry_after: None, cause: None }
    }
}

impl From<Mistakes> for Problem {
    fn from(Mistakes(mistakes): Mistakes) -> Self {
        Self { mistakes, ..ProblemKind::InvalidRequest.into() }
    }
}

impl From<KeyError> for Problem {
    fn from(error: KeyError) -> Self {
        let kind = if error == KeyError::Missing { ProblemKind::KeyMissing } else { ProblemKind::KeyInvalid };
        kind.into()
    }
}

impl Cause {
    /// A stable name to search for in the log.
    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Recorded(_) => "recorded_response_unreadable",
            Self::OutOfTime => "out_of_time",
        }
    }

    fn is_retryable(&self) -> bool {
        match self {
            Self::Store(error) => error.is_retryable(),
            Self::Recorded(_) => false,
            Self::OutOfTime => true,
        }
    }
}

impl From<Cause> for Problem {
    /// The client learns only whether to retry.
    fn from(cause: Cause) -> Self {
        let kind = if cause.is_retryable() { ProblemKind::Unavailable } else { ProblemKind::Internal };
        Self { cause: Some(cause), ..kind.into() }
    }
}

impl From<payment_store::Error> for Problem {
    fn from(error: payment_store::Error) -> Self {
        match error {
            // The tables work: too many requests change the same intent.
            payment_store::Error::Contended => ProblemKind::Conflict.into(),
            error => Cause::from(error).into(),
        }
    }
}
