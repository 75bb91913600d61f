//! Allows requests only from the console itself and from programs on this machine, not from other sites' pages in the same
//! browser.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use super::problem::Problem;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The largest body of a request, in bytes. Real requests need about a hundred.
const MAX_BODY: usize = 16 * 1024;

/// Rejects requests that another site's page may have sent.
pub(super) async fn check(request: Request, next: Next) -> Response {
    match rejection(request.method(), request.headers()) {
        Some(message) => Problem::new(StatusCode::FORBIDDEN, message).into_response(),
        None => next.run(request).await,
    }
}

/// Returns why a request is rejected, or `None` if it is allowed.
///
/// - `Host` must be a name of this machine. Otherwise a page whose name resolves to this machine would have the same
///   origin: <https://owasp.org/www-community/attacks/DNS_Rebinding>.
/// - A browser sends the origin of a request, and it must be the console itself:
///   <https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site>. Other programs do not send it.
fn rejection(method: &Method, headers: &HeaderMap) -> Option<&'static str> {
    let Some(host) = text(headers, HOST).filter(|host| is_loopback(host)) else {
        return Some("the console can be used only from this machine: open it at http://127.0.0.1 or http://localhost");
    };
    let elsewhere = Some("the console does not accept requests from other sites");
    if headers.contains_key(ORIGIN) && text(headers, ORIGIN) != Some(&format!("http://{host}")) {
        return elsewhere;
    }
    match text(headers, FETCH_SITE) {
        None if headers.contains_key(FETCH_SITE) => elsewhere,
        None | Some("same-origin" | "none") => None,
        Some(_) if is_navigation(method, headers) => None,
        Some(_) => elsewhere,
    }
}

/// Whether the user follows a link from another site. That site cannot read the opened page.
fn is_navigation(method: &Method, headers: &HeaderMap) -> bool {
    let mode_and_destination = (text(headers, FETCH_MODE), text(headers, FETCH_DEST));
    method == Method::GET && mode_and_destination == (Some("navigate"), Some("document"))
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

/// Whether a `Host` is a name of this machine. Any port is allowed, because ports can be forwarded.
fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, ""),
    };
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
    let is_name = name.eq_ignore_ascii_case("localhost")
        || name == "[::1]"
        || name.parse().is_ok_and(|address: std::net::Ipv4Addr| address.is_loopback());
    is_name && is_port
}

/// Parses the JSON body of a request. Only JSON is accepted, because a form of another site cannot send it.
pub(super) async fn body<T: DeserializeOwned>(headers: &HeaderMap, body: Body) -> Result<T, Problem> {
    let media_type = text(headers, CONTENT_TYPE).and_then(|value| value.split(';').next()).unwrap_or_default();
    if !media_type.trim().eq_ignore_ascii_case("application/json") {
        let message = "send JSON, with Content-Type: application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let bytes = axum::body::to_bytes(body, MAX_BODY).await.map_err(|_| {
        let message = format!("send a body of at most {MAX_BODY} bytes");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    })?;
    serde_json::from_slice(&bytes).map_err(|error| Problem::bad_request(format!("the body is invalid: {error}")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failed unwrap fails the test.
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: bool, headers: &[(&'static str, &str)]) {
        let map = headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()));
        let map: HeaderMap = map.collect();
        assert_eq!(rejection(&Method::GET, &map).is_none(), expected, "{headers:?}");
    }

    #[test]
    fn the_host_must_be_a_name_of_this_machine() {
        for host in ["localhost", "localhost:3000", "LOCALHOST:1", "127.0.0.1:3000", "127.1.2.3", "[::1]:3000", "[::1]"]
        {
            check(true, &[("host", host)]);
        }
        for host in [
            "evil.example",
            "evil.example:3000",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "evil.example#127.0.0.1",
            "user@127.0.0.1",
            "10.0.0.1:3000",
            "0.0.0.0:3000",
            "[::2]:3000",
            "127.0.0.1:3000:80",
            "",
        ] {
            check(false, &[("host", host)]);
        }
        check(false, &[]);
    }

    #[test]
    fn a_browsers_request_must_come_from_the_console_itself() {
        let host = ("host", "127.0.0.1:3000");
        check(true, &[host, ("origin", "http://127.0.0.1:3000")]);
        for origin in [
            "null",
            "http://evil.example",
            "https://127.0.0.1:3000",
            "http://127.0.0.1:3001",
            "http://localhost:3000",
            "http://127.0.0.1:3000.evil.example",
        ] {
            check(false, &[host, ("origin", origin)]);
        }
        for (site, expected) in
            [("same-origin", true), ("none", true), ("same-site", false), ("cross-site", false), ("new", false)]
        {
            check(expected, &[host, ("sec-fetch-site", site)]);
        }
    }

    #[test]
    fn a_link_of_another_site_may_open_the_console_but_not_in_a_frame() {
        let elsewhere =
            |dest| [("host", "localhost"), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), dest];
        check(true, &elsewhere(("sec-fetch-dest", "document")));
        check(false, &elsewhere(("sec-fetch-dest", "iframe")));
    }
}
