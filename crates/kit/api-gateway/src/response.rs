//! Responses for API Gateway.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// A response in payload format 2.0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// The HTTP status.
    pub status_code: u16,
    /// The headers. Names are in lower case.
    pub headers: BTreeMap<&'static str, String>,
    /// The body, in Base64 if it is not text; none for 204, 304 and HEAD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    is_base64_encoded: bool,
}

/// The media type of JSON.
pub const JSON: &str = "application/json";

impl Response {
    /// A response without a body.
    #[must_use]
    pub fn empty(status_code: u16) -> Self {
        Self { status_code, headers: BTreeMap::new(), body: None, is_base64_encoded: false }
    }

    /// A response with a JSON text as its body, of a media type such as [`JSON`].
    #[must_use]
    pub fn json(status_code: u16, content_type: &str, body: String) -> Self {
        let response = Self { body: Some(body), ..Self::empty(status_code) };
        response.with("content-type", content_type)
    }

    /// A response with bytes as its body, such as a compressed file. API Gateway decodes them.
    #[must_use]
    pub fn bytes(status_code: u16, content_type: &str, body: &[u8]) -> Self {
        let response = Self { body: Some(STANDARD.encode(body)), is_base64_encoded: true, ..Self::empty(status_code) };
        response.with("content-type", content_type)
    }

    /// The bytes of the body as the client gets them.
    #[must_use]
    pub fn body_bytes(&self) -> Option<Vec<u8>> {
        let body = self.body.as_ref()?;
        if self.is_base64_encoded { STANDARD.decode(body).ok() } else { Some(body.clone().into_bytes()) }
    }

    /// Sets a header, whose name is in lower case. It replaces an earlier value, so a response can have one `set-cookie`.
    #[must_use]
    pub fn with(mut self, header: &'static str, value: impl Into<String>) -> Self {
        self.headers.insert(header, value.into());
        self
    }

    /// The response to `HEAD`: without the body, but with its length. Without the length, API Gateway would report 0 bytes.
    #[must_use]
    pub fn without_body(mut self) -> Self {
        let Some(body) = self.body.take() else { return self };
        let length = if self.is_base64_encoded {
            // Four characters for three bytes, and padding that stands for none.
            let padding = body.bytes().rev().take_while(|byte| *byte == b'=').count();
            body.len() / 4 * 3 - padding
        } else {
            body.len()
        };
        self.is_base64_encoded = false;
        self.with("content-length", length.to_string())
    }

    /// Adds an entity tag, a strong one such as `"7"` or a weak one such as `W/"9b2c"`. A status of 2xx becomes 304 if `if_none_match`, the
    /// header of the request, contains the tag.
    #[must_use]
    pub fn tagged(mut self, etag: &str, if_none_match: Option<&str>) -> Self {
        let is_known = if_none_match.is_some_and(|tags| tags.split(',').any(|known| is_same(known.trim(), etag)));
        // Other responses ignore the header (RFC 9110, 13.2.1).
        if is_known && (200..300).contains(&self.status_code) {
            self.headers.remove("content-encoding");
            self = Self { status_code: 304, body: None, is_base64_encoded: false, ..self };
        }
        self.with("etag", etag)
    }

    /// Lets only the client's own cache store the response, which must revalidate it each time. Adds the tag as [`Self::tagged`] does.
    /// It replaces `cache-control` and `vary`.
    #[must_use]
    pub fn cached_privately(self, etag: &str, if_none_match: Option<&str>) -> Self {
        let response = self.tagged(etag, if_none_match);
        response.with("cache-control", "private, no-cache").with("vary", "Authorization")
    }
}

/// `If-None-Match` compares weakly (RFC 9110, 13.1.2).
fn is_same(known: &str, etag: &str) -> bool {
    known == "*" || opaque(known) == opaque(etag)
}

fn opaque(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag)
}
