//! The console's files, built by `web`.

use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use web::{CONSOLE, File};

use super::problem::Problem;

/// The file at a path below the console's, such as `/` or `/assets/app-ABCD.js`.
pub(super) fn file(path: &str, headers: &HeaderMap) -> Result<Response, Problem> {
    let file = CONSOLE.find(path).ok_or_else(|| Problem::not_found("there is no such file"))?;
    let File { content_type, digest, plain, .. } = file;
    let etag = format!("\"{digest}\"");
    let cache_control = if file.is_immutable() { "public, max-age=31536000, immutable" } else { "no-cache" };
    let known = headers.get(IF_NONE_MATCH).and_then(|known| known.to_str().ok()).unwrap_or_default();
    let about = [(ETAG, etag.as_str()), (CACHE_CONTROL, cache_control)];
    if known.split(',').any(|known| known.trim().trim_start_matches("W/") == etag) {
        return Ok((StatusCode::NOT_MODIFIED, about).into_response());
    }
    Ok((about, [(CONTENT_TYPE, *content_type)], *plain).into_response())
}

/// Adds the security headers to every response: no content from other sites, and no other site may embed or read it.
pub(super) async fn secure(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::try_from(CONSOLE.content_security_policy(&[])) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    let fixed = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
