//! A response as API Gateway takes it.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

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

impl Response {
    /// A response without a body.
    pub(crate) fn empty(status_code: u16) -> Self {
        Self { status_code, headers: BTreeMap::new(), body: None, is_base64_encoded: false }
    }

    /// A JSON body.
    pub(crate) fn json(status_code: u16, content_type: &str, body: String) -> Self {
        let response = Self { body: Some(body), ..Self::empty(status_code) };
        response.with("content-type", content_type)
    }

    pub(crate) fn with(mut self, header: &'static str, value: impl Into<String>) -> Self {
        self.headers.insert(header, value.into());
        self
    }

    /// The answer to `HEAD`: without its body, whose length is given, or the gateway would say that there are 0 bytes to `GET`.
    pub(crate) fn without_body(mut self) -> Self {
        match self.body.take() {
            Some(body) => self.with("content-length", body.len().to_string()),
            None => self,
        }
    }

    /// For the one who asked, who may keep it but must ask again whether it still holds; 304 if it does.
    pub(crate) fn cached_privately(self, tag: &str, if_none_match: Option<&str>) -> Self {
        let unchanged = if_none_match.is_some_and(|tags| tags.split(',').any(|known| is_same(known.trim(), tag)));
        let response = if unchanged { Self { body: None, status_code: 304, ..self } } else { self };
        let response = response.with("etag", format!("W/{tag}"));
        response.with("cache-control", "private, no-cache").with("vary", "Authorization")
    }
}

/// The most bytes of a response, as it is serialised: Lambda refuses a larger one
/// (<https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html>). Its error message says 6,291,556, which are a
/// hundred more than the documented 6 MB.
pub(crate) const MAX_BYTES: usize = 6 * 1024 * 1024;

/// How many bytes of a response a JSON text in its body is: the body is a JSON text inside a JSON text. A JSON text has no
/// control characters, so that these two are all that is escaped.
pub(crate) fn bytes_in_response(json: &str) -> usize {
    json.len() + json.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count()
}

/// The tag of what is shown. It is sent as a weak one: two bodies that show the same may differ in how they say it.
pub(crate) fn tag<'a>(shown: impl IntoIterator<Item = &'a str>) -> String {
    let digest = shown.into_iter().fold(Sha256::new(), Sha256::chain_update).finalize();
    let tag = digest.iter().take(16).fold(String::new(), |tag, byte| format!("{tag}{byte:02x}"));
    format!("\"{tag}\"")
}

/// `If-None-Match` compares weakly (RFC 9110, 13.1.2).
fn is_same(known: &str, tag: &str) -> bool {
    known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
}
