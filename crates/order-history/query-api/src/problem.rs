//! Errors as RFC 9457 problem documents. The client gets these messages; the operator gets others, in the log.

use std::error::Error;

use api_gateway::{Document, Failure, Mistake, Mistakes, Response};

/// A problem and its details.
#[derive(Debug)]
pub(crate) struct Problem {
    kind: ProblemKind,
    mistakes: Vec<Mistake>,
    /// The failure on our side. It is logged and never sent to the client.
    cause: Option<Cause>,
}

/// Why a correct request fails.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error(transparent)]
    Store(#[from] order_store::Error),
    #[error("the request did not finish before the invocation's deadline")]
    OutOfTime,
}

/// The kinds of problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    InvalidParameters,
    Unauthenticated,
    Forbidden,
    OrderNotFound,
    RouteNotFound,
    MethodNotAllowed,
    NotYetSeen,
    Internal,
    Unavailable,
}

/// The methods of every resource.
pub(crate) const ALLOW: &str = "GET, HEAD, OPTIONS";

impl ProblemKind {
    pub(crate) fn uri(self) -> String {
        format!("urn:ftgo:order-history:problem:{}", self.parts().0)
    }

    /// Name, status, title and detail.
    fn parts(self) -> (&'static str, u16, &'static str, &'static str) {
        match self {
            Self::InvalidParameters => (
                "invalid-parameters",
                400,
                "Invalid parameters",
                "Correct the mistakes listed in `errors`, then send the request again.",
            ),
            Self::Unauthenticated => {
                ("unauthenticated", 401, "Not authenticated", "Send a valid token: `Authorization: Bearer …`.")
            }
            Self::Forbidden => (
                "forbidden",
                403,
                "Not allowed",
                "You can see only your own orders. To see other orders, the token needs the scope orders:read-any.",
            ),
            Self::OrderNotFound => (
                "order-not-found",
                404,
                "Order not found",
                "No order with this id exists, or it belongs to another consumer. A new order may take a moment to appear: \
                 send its Consistency-Token to wait for it.",
            ),
            Self::RouteNotFound => {
                ("route-not-found", 404, "Resource not found", "See /openapi.json for the resources of this API.")
            }
            Self::MethodNotAllowed => {
                ("method-not-allowed", 405, "Method not allowed", "Use a method listed in the Allow header.")
            }
            Self::NotYetSeen => (
                "not-yet-seen",
                412,
                "Event not processed yet",
                "The event of the Consistency-Token is not processed yet. Retry, or send `Prefer: wait=5`.",
            ),
            Self::Internal => (
                "internal-error",
                500,
                "Internal error",
                "Internal error. If it persists, contact us with the request id.",
            ),
            Self::Unavailable => {
                ("unavailable", 503, "Temporarily unavailable", "Wait as many seconds as Retry-After says, then retry.")
            }
        }
    }

    pub(crate) fn document(self, request_id: &str, errors: Vec<Mistake>) -> Document {
        let (_, status, title, detail) = self.parts();
        let mut document = Document::new(self.uri(), title, status, detail, request_id);
        document.errors = errors;
        document
    }

    /// The headers of the response.
    pub(crate) fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Unauthenticated => &[("www-authenticate", "Bearer")],
            Self::MethodNotAllowed => &[("allow", ALLOW)],
            Self::NotYetSeen | Self::Unavailable => &[("retry-after", "1")],
            Self::InvalidParameters | Self::Forbidden | Self::OrderNotFound | Self::RouteNotFound | Self::Internal => {
                &[]
            }
        }
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
        self.kind.document(request_id, self.mistakes).respond(self.kind.headers())
    }
}

impl From<Mistakes> for Problem {
    fn from(Mistakes(mistakes): Mistakes) -> Self {
        Self { kind: ProblemKind::InvalidParameters, mistakes, cause: None }
    }
}

impl From<ProblemKind> for Problem {
    fn from(kind: ProblemKind) -> Self {
        Self { kind, mistakes: Vec::new(), cause: None }
    }
}

impl Cause {
    /// A stable name to search for in the log.
    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::OutOfTime => "out_of_time",
        }
    }

    fn is_retryable(&self) -> bool {
        match self {
            Self::Store(error) => error.is_retryable(),
            Self::OutOfTime => true,
        }
    }
}

impl From<Cause> for Problem {
    /// The client learns only whether to retry.
    fn from(cause: Cause) -> Self {
        let kind = if cause.is_retryable() { ProblemKind::Unavailable } else { ProblemKind::Internal };
        Self { kind, mistakes: Vec::new(), cause: Some(cause) }
    }
}

impl From<order_store::Error> for Problem {
    fn from(error: order_store::Error) -> Self {
        Cause::from(error).into()
    }
}
