//! What went wrong, as RFC 9457 problem documents. What a client reads here and what an operator reads in the log are two
//! messages.

use std::error::Error;
use std::time::Duration;

use api_gateway::{Document, Failure, Mistake, Mistakes, Response};
use idempotency::KeyError;
use payment_intents::{PaymentIntentId, StateName};
use serde_json::Map;

/// Why a request gets a problem document, with what is known beyond the kind.
#[derive(Debug)]
pub(crate) struct Problem {
    kind: ProblemKind,
    mistakes: Vec<Mistake>,
    /// After how many seconds to try again, where it is known better than by the kind.
    retry_after: Option<u64>,
    /// The failure on our side, for the log and never for the client.
    cause: Option<Cause>,
}

/// Why a request that is not at fault gets no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error(transparent)]
    Store(#[from] payment_store::Error),
    #[error("a recorded answer cannot be read")]
    Recorded(#[from] serde_json::Error),
    #[error("no answer before the end of the invocation's time")]
    OutOfTime,
}

/// The kinds of problem there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    InvalidRequest,
    KeyMissing,
    KeyInvalid,
    Unauthenticated,
    Forbidden,
    /// A service whose token does not name it.
    NamelessCaller,
    IntentNotFound,
    RouteNotFound,
    /// With the methods that are allowed.
    MethodNotAllowed(&'static str),
    KeyInProgress,
    /// With the state that the intent is in.
    WrongState(StateName),
    /// With that intent; without it only in the document of the API.
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

    /// Its name, status, title and advice.
    fn parts(self) -> (&'static str, u16, &'static str, &'static str) {
        match self {
            Self::InvalidRequest => {
                ("invalid-request", 400, "Invalid request", "Correct what `errors` lists, and send the request again.")
            }
            Self::KeyMissing => (
                "idempotency-key-missing",
                400,
                "Idempotency-Key missing",
                "Send an Idempotency-Key header: a new key for each command, the same key for each repetition.",
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
                "Pay for yourself, or with a token that has the scope payments:write-any.",
            ),
            Self::NamelessCaller => {
                ("forbidden", 403, "Not allowed", "The token must name its client: it needs a claim client_id or sub.")
            }
            Self::IntentNotFound => (
                "payment-intent-not-found",
                404,
                "No such payment intent",
                "There is no payment intent with this id that you may see.",
            ),
            Self::RouteNotFound => (
                "route-not-found",
                404,
                "No such resource",
                "See /payments/openapi.json for the resources of this API.",
            ),
            Self::MethodNotAllowed(_) => {
                ("method-not-allowed", 405, "Method not allowed", "Use a method that the Allow header lists.")
            }
            Self::KeyInProgress => (
                "idempotency-key-in-progress",
                409,
                "Request in progress",
                "The same request is being processed. Retry after the seconds that Retry-After gives.",
            ),
            Self::WrongState(_) => (
                "wrong-state",
                409,
                "Not allowed in this state",
                "The payment intent is in the state that `state` names, which does not allow this.",
            ),
            Self::OrderHasOpenIntent(_) => (
                "order-has-open-intent",
                409,
                "The order has an open payment intent",
                "Charge the payment intent that `paymentIntentId` names; a new one may be made if that charge fails.",
            ),
            Self::OrderAlreadyPaid => {
                ("order-already-paid", 409, "The order is paid", "The order was paid for: nothing is left to pay.")
            }
            Self::Conflict => (
                "conflict",
                409,
                "Conflict",
                "Other requests are changing the same payment intent. Retry with the same Idempotency-Key, after the seconds that \
                 Retry-After gives.",
            ),
            Self::VersionMismatch => (
                "version-mismatch",
                412,
                "Version mismatch",
                "The payment intent is not in the version that If-Match names. Read it again, and decide again.",
            ),
            Self::KeyReused => (
                "idempotency-key-reused",
                422,
                "Idempotency-Key reused",
                "The Idempotency-Key was used before for another command. Use a new key for each command.",
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
                "Retry with the same Idempotency-Key, after the seconds that Retry-After gives.",
            ),
        }
    }

    pub(crate) fn document(self, request_id: &str, errors: Vec<Mistake>) -> Document {
        let (_, status, title, detail) = self.parts();
        let mut extensions = Map::new();
        if let Self::WrongState(state) = self {
            extensions.insert("state".to_owned(), state.as_str().into());
        }
        if let Self::OrderHasOpenIntent(Some(id)) = self {
            extensions.insert("paymentIntentId".to_owned(), id.to_string().into());
        }
        Document { r#type: self.uri(), title, status, detail, request_id: request_id.to_owned(), errors, extensions }
    }

    /// The headers it comes with.
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
    /// A problem that is over after this time.
    pub(crate) fn retry_after(kind: ProblemKind, time: Duration) -> Self {
        // A started second counts: before its end it would be too early.
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
    /// A stable name, to search the log by.
    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Recorded(_) => "recorded_answer_unreadable",
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
    /// The client learns whether to try again; the log has the rest.
    fn from(cause: Cause) -> Self {
        let kind = if cause.is_retryable() { ProblemKind::Unavailable } else { ProblemKind::Internal };
        Self { cause: Some(cause), ..kind.into() }
    }
}

impl From<payment_store::Error> for Problem {
    fn from(error: payment_store::Error) -> Self {
        match error {
            // Nothing is wrong with the tables: too many want the same intent.
            payment_store::Error::Contended => ProblemKind::Conflict.into(),
            error => Cause::from(error).into(),
        }
    }
}
