//! A response as API Gateway takes it.

use std::collections::BTreeMap;

use serde::Serialize;

/// A response in payload format 2.0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// The HTTP status.
    pub status_code: u16,
    /// Names in lower case.
    pub headers: BTreeMap<&'static str, String>,
    /// The body; none for 204, 304 and HEAD.
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

    /// With a header, whose name is in lower case.
    #[must_use]
    pub fn with(mut self, header: &'static str, value: impl Into<String>) -> Self {
        self.headers.insert(header, value.into());
        self
    }

    /// The answer to `HEAD`: without its body, whose length is given, or the gateway would say that there are 0 bytes to `GET`.
    #[must_use]
    pub fn without_body(mut self) -> Self {
        match self.body.take() {
            Some(body) => self.with("content-length", body.len().to_string()),
            None => self,
        }
    }

    /// For the one who asked, who may keep it but must ask again whether it still holds; 304 if it does. `etag` is a strong tag
    /// such as `"7"` or a weak one such as `W/"9b2c"`.
    #[must_use]
    pub fn cached_privately(self, etag: &str, if_none_match: Option<&str>) -> Self {
        let unchanged = if_none_match.is_some_and(|tags| tags.split(',').any(|known| is_same(known.trim(), etag)));
        let response = if unchanged { Self { body: None, status_code: 304, ..self } } else { self };
        response.with("etag", etag).with("cache-control", "private, no-cache").with("vary", "Authorization")
    }
}

/// `If-None-Match` compares weakly (RFC 9110, 13.1.2).
fn is_same(known: &str, etag: &str) -> bool {
    known == "*" || opaque(known) == opaque(etag)
}

fn opaque(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag)
}
