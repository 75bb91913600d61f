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

    /// For the one who asked, who may keep it but must ask again whether it still holds; 304 if it does.
    ///
    /// `shown` is what the tag stands for. The tag is weak: two bodies that show the same may differ in how they say it.
    pub(crate) fn cached_privately(self, shown: &str, if_none_match: Option<&str>) -> Self {
        let digest = Sha256::digest(shown);
        let tag = digest.iter().take(16).fold(String::new(), |tag, byte| format!("{tag}{byte:02x}"));
        let tag = format!("\"{tag}\"");
        let unchanged = if_none_match.is_some_and(|tags| tags.split(',').any(|known| is_same(known.trim(), &tag)));
        let response = if unchanged { Self { body: None, status_code: 304, ..self } } else { self };
        let response = response.with("etag", format!("W/{tag}"));
        response.with("cache-control", "private, no-cache").with("vary", "Authorization")
    }
}

/// `If-None-Match` compares weakly (RFC 9110, 13.1.2).
fn is_same(known: &str, tag: &str) -> bool {
    known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
}
