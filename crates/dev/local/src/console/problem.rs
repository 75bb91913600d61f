//! The console's errors.

use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use lambda_boot::with_causes;
use serde::Serialize;
use serde_json::json;

/// A status and a message that says what to do.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    pub(super) message: String,
}

impl Problem {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(super) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }
}

/// Errors are shown with all details, because the reader operates this system.
impl<E: std::error::Error + 'static> From<E> for Problem {
    fn from(error: E) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, with_causes(&error))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        (self.status, json_response(&json!({"message": self.message}))).into_response()
    }
}

/// A JSON response that is not cached.
pub(super) fn json_response(body: &impl Serialize) -> Response {
    let headers = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    match serde_json::to_string(body) {
        Ok(json) => (headers, json).into_response(),
        Err(error) => Problem::from(error).into_response(),
    }
}
