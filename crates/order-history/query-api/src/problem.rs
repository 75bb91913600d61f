//! What went wrong, as RFC 9457 problem documents. What a client reads here and what an operator reads in the log are two
//! messages.

use std::error::Error;

use api_gateway::{Document, Failure, Mistake, Mistakes, Response};

/// What went wrong.
#[derive(Debug)]
pub(crate) struct Problem {
    kind: ProblemKind,
    mistakes: Vec<Mistake>,
    /// For the log.
    cause: Option<Cause>,
}

/// Why a request that is not at fault gets no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error(transparent)]
    Store(#[from] order_store::Error),
    #[error("no answer before the end of the invocation's time")]
    OutOfTime,
}

/// The kinds of problem there are.
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

    /// Its name, status, title and advice.
    fn parts(self) -> (&'static str, u16, &'static str, &'static str) {
        match self {
            Self::InvalidParameters => (
                "invalid-parameters",
                400,
                "Invalid parameters",
                "Correct what `errors` lists, and send the request again.",
            ),
            Self::Unauthenticated => {
                ("unauthenticated", 401, "Not authenticated", "Send a valid token: `Authorization: Bearer …`.")
            }
            Self::Forbidden => (
                "forbidden",
                403,
                "Not allowed",
                "Ask for your own orders, or with a token that has the scope orders:read-any.",
            ),
            Self::OrderNotFound => (
                "order-not-found",
                404,
                "No such order",
                "There is no order with this id that you may see. A new order may take a moment to appear: send its \
                 Consistency-Token to wait for it.",
            ),
            Self::RouteNotFound => {
                ("route-not-found", 404, "No such resource", "See /openapi.json for the resources of this API.")
            }
            Self::MethodNotAllowed => {
                ("method-not-allowed", 405, "Method not allowed", "Use a method that the Allow header lists.")
            }
            Self::NotYetSeen => (
                "not-yet-seen",
                412,
                "Not yet seen",
                "The event of the Consistency-Token has not been processed yet. Retry, or send `Prefer: wait=5`.",
            ),
            Self::Internal => (
                "internal-error",
                500,
                "Internal error",
                "Internal error. If it persists, contact us with the request id.",
            ),
            Self::Unavailable => {
                ("unavailable", 503, "Temporarily unavailable", "Retry after the seconds that Retry-After gives.")
            }
        }
    }

    pub(crate) fn document(self, request_id: &str, errors: Vec<Mistake>) -> Document {
        let (_, status, title, detail) = self.parts();
        let mut document = Document::new(self.uri(), title, status, detail, request_id);
        document.errors = errors;
        document
    }

    /// The headers it comes with.
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
    /// A stable name, to search the log by.
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
    /// The client learns whether to try again; the log has the rest.
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
