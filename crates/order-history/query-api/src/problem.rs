//! What went wrong, as RFC 9457 problem documents. What a client reads here and what an operator reads in the log are two
//! messages.

use serde::Serialize;

use crate::response::Response;

/// What went wrong.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) kind: ProblemKind,
    mistakes: Vec<Mistake>,
    /// For the log.
    pub(crate) cause: Option<Cause>,
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

/// One mistake in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub(crate) struct Mistake {
    /// The parameter's name.
    pub(crate) parameter: String,
    /// Where the parameter stands: `query`, `path` or `header`.
    #[serde(rename = "in")]
    #[cfg_attr(feature = "openapi", schemars(extend("enum" = ["query", "path", "header"])))]
    pub(crate) location: &'static str,
    /// What to change.
    pub(crate) detail: String,
}

/// A problem document (RFC 9457).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schemars(rename = "Problem"))]
pub(crate) struct Document {
    /// Names the kind of problem; it does not change.
    #[cfg_attr(feature = "openapi", schemars(extend("enum" = crate::openapi::document::problem_types())))]
    r#type: String,
    /// The kind of problem in words.
    pub(crate) title: &'static str,
    /// The HTTP status.
    pub(crate) status: u16,
    /// What to do about it.
    detail: &'static str,
    /// Names this request in our logs.
    request_id: String,
    /// Every mistake in the request's parameters; left out if that is not the problem.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Mistake>,
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
        Document { r#type: self.uri(), title, status, detail, request_id: request_id.to_owned(), errors }
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

impl Problem {
    pub(crate) fn invalid(mistakes: Vec<Mistake>) -> Self {
        Self { kind: ProblemKind::InvalidParameters, mistakes, cause: None }
    }

    pub(crate) fn respond(self, request_id: &str) -> Response {
        let document = self.kind.document(request_id, self.mistakes);
        // Only texts and numbers: there is nothing in it that could not be written.
        let body = serde_json::to_string(&document).unwrap_or_default();
        let response = Response::json(document.status, PROBLEM_JSON, body).with("cache-control", "no-store");
        self.kind.headers().iter().fold(response, |response, (name, value)| response.with(name, *value))
    }
}

/// The media type of a problem document.
pub(crate) const PROBLEM_JSON: &str = "application/problem+json";

impl From<ProblemKind> for Problem {
    fn from(kind: ProblemKind) -> Self {
        Self { kind, mistakes: Vec::new(), cause: None }
    }
}

impl Cause {
    /// A stable name, to search the log by.
    pub(crate) fn code(&self) -> &'static str {
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
