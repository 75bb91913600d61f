//! Problem documents (RFC 9457). Each API defines its own kinds of problem.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::Response;

/// The media type of a problem document.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// A problem document (RFC 9457).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "schema", schemars(rename = "Problem"))]
pub struct Document {
    /// Names the kind of problem; it does not change.
    pub r#type: String,
    /// The kind of problem in words.
    pub title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// What to do about it.
    pub detail: &'static str,
    /// Names this request in our logs.
    pub request_id: String,
    /// Every mistake in the request's parameters; left out if that is not the problem.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Mistake>,
    /// Members that only some kinds of problem have.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub extensions: Map<String, Value>,
}

/// One mistake in a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mistake {
    /// The parameter's name.
    pub parameter: String,
    /// Where the parameter stands, such as `query`.
    #[serde(rename = "in")]
    pub location: &'static str,
    /// What to change.
    pub detail: String,
}

impl Mistake {
    /// A mistake in a parameter. `location` is where it is: `query`, `path`, `header` or `body`.
    #[must_use]
    pub fn new(location: &'static str, parameter: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { parameter: parameter.into(), location, detail: detail.into() }
    }
}

impl Document {
    /// A document without mistakes and extensions; set the fields for those.
    #[must_use]
    pub fn new(
        r#type: impl Into<String>,
        title: &'static str,
        status: u16,
        detail: &'static str,
        request_id: impl Into<String>,
    ) -> Self {
        let (r#type, request_id) = (r#type.into(), request_id.into());
        Self { r#type, title, status, detail, request_id, errors: Vec::new(), extensions: Map::new() }
    }

    /// The document as a response that no cache stores, with these headers.
    #[must_use]
    pub fn respond(&self, headers: &[(&'static str, &'static str)]) -> Response {
        // It has only texts, numbers and JSON, so it can always be serialised.
        let body = serde_json::to_string(self).unwrap_or_default();
        let response = Response::json(self.status, PROBLEM_JSON, body).with("cache-control", "no-store");
        headers.iter().fold(response, |response, (name, value)| response.with(name, *value))
    }
}
